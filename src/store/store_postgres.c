/*
 * PostgreSQL: the store of several servers, of which one leads. Statements are prepared by name and
 * go through a pipeline, so a batch costs two round trips, however many rows it has. Numbers and
 * bytes travel in binary.
 *
 * A connection that breaks is made again by the next call. Inside a transaction that is
 * -ECONNRESET, and store.c begins anew. Who leads holds an advisory lock, which ends with the
 * connection, so it is taken again with the next one; that nobody else led in between is for the
 * epoch to say.
 */
#include "store/store_int.h"

#include "store/postgres_wire.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum {
	QUEUE_MAX = 256,   /* statements sent before their results are read */
	ANSWER_MS = 10000, /* a server that takes longer to say anything counts as gone */
};

struct postgres {
	struct store base;
	PGconn *conn;
	bool locked; /* the leader's lock is this connection's */
	bool broken; /* it is to be made again, whatever libpq thinks of it */
	/* statements named so far on this connection; a name is never used twice */
	uintptr_t names;
	/* those up to here are prepared; of later ones the server has not said */
	uintptr_t certain;
	size_t queued;  /* sent since the last drain */
	PGresult *rows; /* of the query that was drained; owned */
	char tag[16];   /* of the last command: "COMMIT" */
};

static struct postgres *self_of(struct store *store)
{
	return (struct postgres *)store;
}

/* ---- connections ---- */

/* Names above `last` are not the server's. */
static void forget_names(struct postgres *self, uintptr_t last)
{
	for (size_t i = 0; i < STORE_STATEMENTS_MAX + STORE_FIXED; i++)
		if ((uintptr_t)self->base.statements[i].prepared > last)
			self->base.statements[i].prepared = NULL;
}

static int lost(struct postgres *self, struct strata_error *err)
{
	self->queued = 0;
	self->broken = true;
	return postgres_fail_lost(self->conn, -ECONNRESET, err);
}

static int connected(struct postgres *self, struct strata_error *err)
{
	forget_names(self, 0);
	self->names = self->certain = self->queued = 0;
	self->locked = self->broken = false;
	int rc = postgres_set_up(self->conn, self->base.read_only, err);

	if (rc == 0 && !PQenterPipelineMode(self->conn))
		rc = strata_fail(err, -EIO, "PostgreSQL: no pipeline");
	return rc;
}

/* Connects again if need be. */
static int reach(struct postgres *self, struct strata_error *err)
{
	if (PQstatus(self->conn) == CONNECTION_OK && !self->broken)
		return 0;
	PQreset(self->conn);
	return PQstatus(self->conn) == CONNECTION_OK ? connected(self, err)
						     : postgres_fail_lost(self->conn, -EAGAIN, err);
}

/* ---- the pipeline ---- */

/* Takes one result; the first error stays. */
static int take_result(struct postgres *self, PGresult *result, int rc, struct strata_error *err)
{
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK) {
		PQclear(self->rows);
		self->rows = result;
		return rc;
	}
	if (status == PGRES_COMMAND_OK)
		snprintf(self->tag, sizeof(self->tag), "%s", PQcmdStatus(result));
	else if (status != PGRES_PIPELINE_ABORTED && rc == 0)
		rc = postgres_fail(result, err);
	PQclear(result);
	return rc;
}

/* A server that is there and says nothing is as good as one that is not: false. */
static bool answers(struct postgres *self)
{
	struct pollfd fd = { .fd = PQsocket(self->conn), .events = POLLIN };

	while (PQisBusy(self->conn)) {
		int rc = poll(&fd, 1, ANSWER_MS);

		if (rc == 0 || (rc < 0 && errno != EINTR) || !PQconsumeInput(self->conn))
			return false;
	}
	return true;
}

/* Waits until all that was sent is done. */
static int drain(struct postgres *self, struct strata_error *err)
{
	int rc = 0, nothing = 0;

	PQclear(self->rows);
	self->rows = NULL;
	self->tag[0] = '\0';
	if (!PQpipelineSync(self->conn))
		return lost(self, err);
	for (;;) {
		if (!answers(self))
			return lost(self, err);
		PGresult *result = PQgetResult(self->conn);

		/* between two statements there is nothing once; again and again when a server
		 * that went down has ended the pipeline, which libpq may take for a connection
		 * that is well */
		nothing = result ? 0 : nothing + 1;
		if (!result && (PQstatus(self->conn) != CONNECTION_OK || nothing > 2))
			return lost(self, err);
		if (!result)
			continue;
		if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
			PQclear(result);
			break;
		}
		rc = take_result(self, result, rc, err);
	}
	self->queued = 0;
	if (PQstatus(self->conn) != CONNECTION_OK)
		return lost(self, err);
	if (rc == 0)
		self->certain = self->names;
	else
		forget_names(self, self->certain);
	return rc;
}

static int queue(struct postgres *self, struct store_statement *statement,
		 const struct store_value *values, size_t count, struct strata_error *err)
{
	struct postgres_values wire;
	char name[24];

	if (!statement->prepared) {
		statement->prepared = (void *)++self->names; /* NOLINT: a number, not an address */
		snprintf(name, sizeof(name), "s%zu", (size_t)self->names);
		if (!postgres_prepare(self->conn, name, statement->sql, values, count))
			return lost(self, err);
	}
	snprintf(name, sizeof(name), "s%zu", (size_t)(uintptr_t)statement->prepared);
	postgres_values(values, count, &wire);
	if (!PQsendQueryPrepared(self->conn, name, (int)count, wire.bytes, wire.lengths,
				 wire.formats, 1))
		return lost(self, err);
	self->queued++;
	return 0;
}

/* ---- statements ---- */

static int postgres_run(struct store *store, struct store_statement *statement,
			const struct store_value *values, size_t count, struct strata_error *err)
{
	struct postgres *self = self_of(store);
	int rc = queue(self, statement, values, count, err);

	return rc < 0 || self->queued < QUEUE_MAX ? rc : drain(self, err);
}

static int query_once(struct postgres *self, struct store_statement *statement,
		      const struct store_value *values, size_t count, struct strata_error *err)
{
	int rc = queue(self, statement, values, count, err);

	return rc < 0 ? rc : drain(self, err);
}

static int give_rows(PGresult *rows, const enum store_type *types, size_t cell_count,
		     store_cells *each, void *context, struct strata_error *err)
{
	struct store_value cells[STORE_VALUES_MAX];
	int rc = 0;

	for (int row = 0; row < PQntuples(rows) && rc == 0; row++) {
		rc = postgres_cells(rows, row, types, cell_count, cells, err);
		if (rc == 0)
			rc = each(context, cells, cell_count, err);
	}
	return rc;
}

static int postgres_query(struct store *store, struct store_statement *statement,
			  const struct store_value *values, size_t count,
			  const enum store_type *types, size_t cell_count, store_cells *each,
			  void *context, struct strata_error *err)
{
	struct postgres *self = self_of(store);
	int rc = store->inside ? 0 : reach(self, err);

	if (rc == 0)
		rc = query_once(self, statement, values, count, err);
	if (rc == -ECONNRESET && !store->inside) {
		rc = reach(self, err);
		if (rc == 0)
			rc = query_once(self, statement, values, count, err);
	}
	if (rc == 0)
		rc = give_rows(self->rows, types, cell_count, each, context, err);
	PQclear(self->rows);
	self->rows = NULL;
	return rc;
}

static void postgres_forget(struct store *store, struct store_statement *statement)
{
	struct postgres *self = self_of(store);
	char sql[40];

	snprintf(sql, sizeof(sql), "DEALLOCATE s%zu", (size_t)(uintptr_t)statement->prepared);
	statement->prepared = NULL;
	if (PQstatus(self->conn) == CONNECTION_OK &&
	    PQsendQueryParams(self->conn, sql, 0, NULL, NULL, NULL, NULL, 1))
		self->queued++;
}

/* ---- transactions ---- */

static int postgres_begin(struct store *store, struct strata_error *err)
{
	int rc = reach(self_of(store), err);

	return rc < 0 ? rc : store_run(store, "BEGIN", NULL, 0, err);
}

/* Not a prepared statement: to make room for one another may have to be deallocated, which a
 * transaction that has failed refuses, and with it all that follows in the pipeline. */
static void postgres_rollback(struct store *store)
{
	struct postgres *self = self_of(store);

	if (PQstatus(self->conn) == CONNECTION_OK && !self->broken &&
	    PQsendQueryParams(self->conn, "ROLLBACK", 0, NULL, NULL, NULL, NULL, 1)) {
		self->queued++;
		drain(self, NULL);
	}
}

static int postgres_commit(struct store *store, struct strata_error *err)
{
	struct postgres *self = self_of(store);
	int rc = store_run(store, "COMMIT", NULL, 0, err);

	if (rc == 0)
		rc = drain(self, err);
	if (rc == 0 && strcmp(self->tag, "COMMIT") != 0)
		return strata_fail(err, -EIO, "PostgreSQL answered COMMIT with %s", self->tag);
	if (rc < 0)
		postgres_rollback(store);
	return rc;
}

/* ---- the lead ---- */

static int take_answer(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	(void)count, (void)err;
	*(bool *)context = cells[0].number == 1;
	return 0;
}

/* Each schema of a database is a store of its own. The first number is ours, at random. */
#define LOCK_KEYS(what) "(1398034241, hashtext('" what "' || current_schema()))"

static int postgres_lock(struct store *store, struct strata_error *err)
{
	static const enum store_type type[] = { STORE_INT };
	struct postgres *self = self_of(store);
	bool got = self->locked;
	int rc = got ? 0
		     : store_ask(store,
				 "SELECT CASE WHEN pg_try_advisory_lock" LOCK_KEYS(
					 "lead ") " THEN 1 ELSE 0 END::bigint",
				 NULL, 0, type, 1, take_answer, &got, err);

	if (rc < 0)
		return rc;
	self->locked = got;
	return got ? 0 : strata_fail(err, -EBUSY, "another server leads this database");
}

static int ignore_answer(void *context, const struct store_value *cells, size_t count,
			 struct strata_error *err)
{
	(void)context, (void)cells, (void)count, (void)err;
	return 0;
}

/* In pg_locks the second key is shown without its sign, and 2 says that there are two. */
static int postgres_depose(struct store *store, struct strata_error *err)
{
	static const enum store_type type[] = { STORE_INT };

	return store_ask(store,
			 "SELECT CASE WHEN pg_terminate_backend(pid) THEN 1 ELSE 0 END::bigint "
			 "FROM pg_locks WHERE locktype = 'advisory' AND granted "
			 "AND database = (SELECT oid FROM pg_database "
			 "WHERE datname = current_database()) "
			 "AND classid = 1398034241 AND objsubid = 2 AND pid <> pg_backend_pid() "
			 "AND objid::bigint = "
			 "hashtext('lead ' || current_schema())::bigint & 4294967295",
			 NULL, 0, type, 1, ignore_answer, NULL, err);
}

/* ---- opening ---- */

static void postgres_close(struct store *store)
{
	struct postgres *self = self_of(store);

	/* The server would give the lock back some time after the connection has gone; here it is
	 * free on return. */
	if (self->locked && !self->broken && PQstatus(self->conn) == CONNECTION_OK &&
	    PQsendQueryParams(self->conn, "SELECT pg_advisory_unlock_all()", 0, NULL, NULL, NULL,
			      NULL, 1))
		drain(self, NULL);
	PQclear(self->rows);
	PQfinish(self->conn);
}

static int postgres_open(struct store *store, const char *address, struct strata_error *err)
{
	struct postgres *self = self_of(store);
	int rc;

	(void)address; /* libpq reads the scheme, too */
	self->conn = postgres_connect(store->address);
	if (!self->conn)
		return strata_fail_memory(err);
	rc = PQstatus(self->conn) == CONNECTION_OK
		     ? connected(self, err)
		     : postgres_fail_lost(self->conn, -ECONNREFUSED, err);
	if (rc < 0)
		PQfinish(self->conn);
	return rc == -ECONNRESET ? -ECONNREFUSED : rc;
}

const struct store_class store_postgres = {
	.base = { .name = "postgres",
		  .aliases = "postgresql",
		  .summary = "a PostgreSQL database; several servers, of which one leads" },
	.schemes = "postgres:postgresql:",
	.size = sizeof(struct postgres),
	/* Keys in the order of their bytes, as in SQLite. */
	.types = { [STORE_INT] = "BIGINT",
		   [STORE_REAL] = "DOUBLE PRECISION",
		   [STORE_TEXT] = "TEXT COLLATE \"C\"",
		   [STORE_BYTES] = "BYTEA" },
	.table_end = "",
	.share_row = " FOR SHARE",
	.migration_lock = "SELECT pg_advisory_xact_lock" LOCK_KEYS("migrate "),
	.open = postgres_open,
	.close = postgres_close,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.run = postgres_run,
	.query = postgres_query,
	.rollback = postgres_rollback,
	.forget = postgres_forget,
	.lock = postgres_lock,
	.depose = postgres_depose,
	.light = "SET LOCAL synchronous_commit = off",
	.backup_tool = "pg_dump --format=custom --file=FILE DATABASE",
};
