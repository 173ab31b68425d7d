/*
 * The protocol of PostgreSQL, as far as the store speaks it: 64-bit numbers and doubles as eight
 * bytes in network order, texts and bytes as they are.
 */
#include "store/postgres_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* ---- values ---- */

void postgres_values(const struct store_value *values, size_t count,
		     struct postgres_values *ret_wire)
{
	for (size_t i = 0; i < count; i++) {
		const struct store_value *value = &values[i];
		uint64_t bits = (uint64_t)value->number;

		ret_wire->formats[i] = 1;
		ret_wire->bytes[i] = value->null ? NULL : value->bytes;
		ret_wire->lengths[i] = (int)value->size_bytes;
		if (value->type == STORE_TEXT || value->type == STORE_BYTES)
			continue;
		if (value->type == STORE_REAL)
			memcpy(&bits, &value->real, sizeof(bits));
		ret_wire->numbers[i] = htobe64(bits);
		ret_wire->bytes[i] = (const char *)&ret_wire->numbers[i];
		ret_wire->lengths[i] = sizeof(bits);
	}
}

bool postgres_prepare(PGconn *conn, const char *name, const char *sql,
		      const struct store_value *values, size_t count)
{
	/* The numbers of types that PostgreSQL was born with. */
	static const Oid numbers[] = {
		[STORE_INT] = 20, [STORE_REAL] = 701, [STORE_TEXT] = 25, [STORE_BYTES] = 17
	};
	Oid types[STORE_VALUES_MAX];

	for (size_t i = 0; i < count; i++)
		types[i] = numbers[values[i].type];
	return PQsendPrepare(conn, name, sql, (int)count, types);
}

int postgres_cells(const PGresult *rows, int row, const enum store_type *types, size_t count,
		   struct store_value *ret_cells, struct strata_error *err)
{
	if ((size_t)PQnfields(rows) < count)
		return strata_fail(err, -EBADMSG, "PostgreSQL sent %d columns; expected %zu",
				   PQnfields(rows), count);
	for (size_t i = 0; i < count; i++) {
		struct store_value cell = { .type = types[i],
					    .null = PQgetisnull(rows, row, (int)i) };
		size_t length = (size_t)PQgetlength(rows, row, (int)i);
		const char *bytes = PQgetvalue(rows, row, (int)i);

		if (types[i] == STORE_TEXT || types[i] == STORE_BYTES) {
			cell.bytes = bytes;
			cell.size_bytes = length;
		} else if (!cell.null) {
			uint64_t bits;

			if (length != sizeof(bits))
				return strata_fail(err, -EBADMSG,
						   "PostgreSQL sent a number of %zu bytes as %s; "
						   "expected 8",
						   length, PQfname(rows, (int)i));
			memcpy(&bits, bytes, sizeof(bits));
			bits = be64toh(bits);
			cell.number = (int64_t)bits;
			memcpy(&cell.real, &bits, sizeof(bits));
		}
		ret_cells[i] = cell;
	}
	return 0;
}

/* ---- errors ---- */

static const struct {
	const char *state; /* SQLSTATE, or its beginning */
	int code;
} codes[] = {
	{ "08", -ECONNRESET },    /* connection exception */
	{ "22", -EINVAL },        /* data exception */
	{ "23503", -ENOENT },     /* foreign key */
	{ "23505", -EEXIST },     /* unique */
	{ "23", -EINVAL },        /* other constraints */
	{ "25006", -EROFS },      /* read-only transaction */
	{ "25P03", -ECONNRESET }, /* idle in a transaction for too long */
	{ "28", -EACCES },        /* not who it says */
	{ "3D000", -ENOENT },     /* no such database */
	{ "40", -EAGAIN },        /* deadlock, serialization */
	{ "42501", -EACCES },     /* privileges */
	{ "42P01", -ENOTSUP },    /* no such table: nobody migrated */
	{ "53100", -ENOSPC },     /* disk full */
	{ "53200", -ENOMEM },     /* out of memory */
	{ "53", -EAGAIN },        /* too many connections … */
	{ "54", -E2BIG },         /* program limits */
	{ "55P03", -EAGAIN },     /* a lock was not free in time */
	{ "57P", -ECONNRESET },   /* the server shuts down */
	{ "58030", -EIO },        /* the server's own I/O */
	{ "XX001", -EBADMSG },    /* damaged */
	{ "XX002", -EBADMSG },
};

static int code_of(const char *state)
{
	for (size_t i = 0; state && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strncmp(state, codes[i].state, strlen(codes[i].state)) == 0)
			return codes[i].code;
	return -EIO;
}

int postgres_fail(const PGresult *result, struct strata_error *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *constraint = PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
	int code = state ? code_of(state) : -ECONNRESET; /* libpq's own errors have none */

	if ((code == -EEXIST || code == -ENOENT) && constraint)
		return store_fail_constraint(err, code, constraint);
	return strata_fail(err, code, "PostgreSQL: %s", words ? words : "the connection was lost");
}

int postgres_fail_lost(PGconn *conn, int code, struct strata_error *err)
{
	const char *words = PQerrorMessage(conn);
	size_t length = strcspn(words, "\n");

	return strata_fail(err, code, "PostgreSQL cannot be reached: %.*s",
			   length ? (int)length : 27, length ? words : "the connection was lost");
}

/* ---- connections ---- */

static void ignore_notice(void *context, const PGresult *notice)
{
	(void)context, (void)notice;
}

PGconn *postgres_connect(const char *address)
{
	/* What comes before dbname gives way to what the address says. */
	static const char *const names[] = {
		"connect_timeout",  "keepalives_idle",  "keepalives_interval",
		"keepalives_count", "tcp_user_timeout", "application_name",
		"dbname",           "client_encoding",  NULL
	};
	const char *values[] = { "5", "10", "5", "3", "30000", "strata", address, "UTF8", NULL };
	PGconn *conn = PQconnectdbParams(names, values, 1);

	if (conn)
		PQsetNoticeReceiver(conn, ignore_notice, NULL);
	return conn;
}

static int execute(PGconn *conn, const char *sql, struct strata_error *err)
{
	PGresult *result = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(result);
	int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
			 ? 0
			 : postgres_fail(result, err);

	PQclear(result);
	return rc;
}

int postgres_set_up(PGconn *conn, bool read_only, struct strata_error *err)
{
	const char *encoding = PQparameterStatus(conn, "server_encoding");

	if (encoding && strcmp(encoding, "UTF8") != 0)
		return strata_fail(
			err, -ENOTSUP,
			"the database has the encoding %s; create it with ENCODING 'UTF8'",
			encoding);
	/* The server notices a lost client soon, so that its lock becomes free; nothing waits for
	 * ever. */
	int rc = execute(
		conn,
		"SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; "
		"SET tcp_keepalives_count = 3; SET tcp_user_timeout = 30000; "
		"SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; "
		"SELECT set_config('synchronous_commit', 'on', false) "
		"WHERE current_setting('synchronous_commit') = 'off'",
		err);

	if (rc == 0 && read_only)
		rc = execute(conn, "SET default_transaction_read_only = on", err);
	return rc;
}
