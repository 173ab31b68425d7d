/* The store on PostgreSQL when things go wrong: restarts, lost connections, other leaders. */
#include "postgres_server.h"
#include "unit/store_sample.h"

#include <errno.h>
#include <libpq-fe.h>
#include <signal.h>

static struct strata_memory memory;
static struct strata_error err;
static char address[512];

static struct store *open_leading(uint64_t *ret_epoch)
{
	struct store *store;

	memory = (struct strata_memory){ 0 };
	snprintf(address, sizeof(address), "%s", postgres_server_url());
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, ret_epoch, &err));
	return store;
}

static void check_jobs(struct store *store, size_t count)
{
	struct sample_ids found = { 0 };

	CHECK_OK(store_load(store, STORE_JOB, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, count);
}

#define BREAK_CONNECTIONS                                               \
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE " \
	"application_name = 'strata' AND pid <> pg_backend_pid()"

/* The same number that store_postgres.c has. */
#define LEAD_LOCK "(1398034241, hashtext('lead ' || current_schema()))"

TEST(a_restart_goes_unnoticed)
{
	uint64_t epoch;
	struct store *store = open_leading(&epoch), *other;

	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	postgres_server_stop(SIGINT);
	postgres_server_start();
	CHECK_OK(sample_put_job(store, 2, epoch, &err));
	postgres_server_stop(SIGINT);
	postgres_server_start();
	check_jobs(store, 2);
	/* It leads as before. */
	CHECK_OK(sample_put_job(store, 3, epoch, &err));
	CHECK_OK(store_open(address, false, &memory, &other, &err));
	CHECK_ERROR(store_lead(other, NULL, &epoch, &err), -EBUSY, "another server leads");
	store_close(other);
	store_close(store);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(while_it_is_down_nothing_is_lost)
{
	uint64_t epoch;
	struct store *store = open_leading(&epoch), *other;
	struct sample_ids found = { 0 };

	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	postgres_server_stop(SIGKILL); /* as if it had crashed */
	CHECK_ERROR(sample_put_job(store, 2, epoch, &err), -EAGAIN, "PostgreSQL cannot be reached");
	CHECK_ERROR(store_load(store, STORE_JOB, NULL, sample_take_id, &found, &err), -EAGAIN,
		    "PostgreSQL cannot be reached");
	CHECK_ERROR(store_open(address, false, &memory, &other, &err), -ECONNREFUSED,
		    "PostgreSQL cannot be reached");
	postgres_server_start();
	CHECK_OK(sample_put_job(store, 2, epoch, &err)); /* the same again */
	check_jobs(store, 2);
	store_close(store);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_connection_that_breaks_in_the_middle_of_a_batch)
{
	struct sample_job samples[600];
	struct store_change changes[600];
	uint64_t epoch;
	struct store *store = open_leading(&epoch);

	for (int i = 0; i < 600; i++)
		changes[i] = STORE_PUT(sample_job(&samples[i], i + 1));
	/* The session that puts job 400 ends then and there; the first time only, or always. */
	postgres_server_run(
		"CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF "
		"NEW.id = 400 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; "
		"RETURN NEW; END'");
	postgres_server_run(
		"CREATE TRIGGER die BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION die()");
	CHECK_ERROR(store_apply(store, changes, 600, epoch, &err), -EAGAIN, "PostgreSQL");
	check_jobs(store, 0);
	postgres_server_run("DROP TRIGGER die ON jobs");
	CHECK_OK(store_apply(store, changes, 600, epoch, &err));
	check_jobs(store, 600);
	store_close(store);
}

TEST(an_error_late_in_a_batch_takes_all_of_it_back)
{
	struct sample_job samples[600];
	struct store_change changes[600];
	uint64_t epoch;
	struct store *store = open_leading(&epoch);

	for (int i = 0; i < 600; i++)
		changes[i] = STORE_PUT(sample_job(&samples[i], i + 1));
	samples[300].row.uuid = samples[0].uuid;
	CHECK_ERROR(store_apply(store, changes, 600, epoch, &err), -EEXIST,
		    "another job has this uuid");
	check_jobs(store, 0);
	samples[300].row.uuid = samples[300].uuid;
	CHECK_OK(store_apply(store, changes, 600, epoch, &err));
	check_jobs(store, 600);
	store_close(store);
}

TEST(who_lost_the_connection_and_the_lead_is_refused)
{
	uint64_t early, late;
	struct store *first = open_leading(&early), *second;

	postgres_server_run(BREAK_CONNECTIONS);
	CHECK_OK(store_open(address, false, &memory, &second, &err));
	CHECK_OK(store_lead(second, NULL, &late, &err));
	CHECK_INT(late, early + 1);
	CHECK_ERROR(sample_put_job(first, 1, early, &err), -ESTALE, "another server leads since");
	CHECK_OK(sample_put_job(second, 1, late, &err));
	CHECK_ERROR(sample_put_job(first, 2, early, &err), -ESTALE, "another server leads since");
	check_jobs(first, 1);
	store_close(first);
	CHECK_OK(sample_put_job(second, 2, late, &err));
	store_close(second);
}

TEST(a_lost_session_of_its_own_is_waited_for)
{
	uint64_t epoch;
	struct store *store = open_leading(&epoch);
	PGconn *ghost;

	postgres_server_run(BREAK_CONNECTIONS);
	ghost = PQconnectdb(address); /* holds the lock, and nobody led since */
	PQclear(PQexec(ghost, "SELECT pg_advisory_lock" LEAD_LOCK));
	CHECK_ERROR(sample_put_job(store, 1, epoch, &err), -EAGAIN, "a session that was lost");
	PQclear(PQexec(ghost, "SELECT pg_advisory_unlock" LEAD_LOCK));
	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	PQfinish(ghost);
	store_close(store);
}

static void check_raised(const char *state, int code, const char *words)
{
	char sql[256];
	uint64_t epoch;
	struct store *store = open_leading(&epoch);

	snprintf(sql, sizeof(sql),
		 "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION "
		 "''as told'' USING ERRCODE = ''%s''; END'",
		 state);
	postgres_server_run(sql);
	postgres_server_run(
		"CREATE TRIGGER f BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION f()");
	CHECK_ERROR(sample_put_job(store, 1, epoch, &err), code, words);
	postgres_server_run("DROP TRIGGER f ON jobs");
	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	store_close(store);
}

TEST(errors_of_the_server_have_codes)
{
	check_raised("53100", -ENOSPC, "PostgreSQL: as told"); /* disk full */
	check_raised("58030", -EIO, "PostgreSQL: as told");
	check_raised("40P01", -EAGAIN, "PostgreSQL: as told");
	check_raised("42501", -EACCES, "PostgreSQL: as told");
}

TEST(a_database_that_may_not_be_written_to)
{
	struct store *store;
	char read_only[600];

	snprintf(read_only, sizeof(read_only), "%s%%20-cdefault_transaction_read_only%%3Don",
		 postgres_server_url());
	CHECK_ERROR(store_open(read_only, false, &memory, &store, &err), -EROFS,
		    "read-only transaction");
}

TEST(what_is_wrong_is_said)
{
	uint64_t epoch;
	struct store *store = open_leading(&epoch), *other;
	char wrong[512];

	CHECK_ERROR(store_backup(store, "/tmp/x", &err), -ENOTSUP, "pg_dump --format=custom");
	store_close(store);
	postgres_server_run("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0");
	const char *host = strstr(address, "?host=");
	int length = (int)strcspn(host, "&");

	snprintf(wrong, sizeof(wrong), "postgres://strata@/plain%.*s", length, host);
	CHECK_ERROR(store_open(wrong, false, &memory, &other, &err), -ENOTSUP, "ENCODING 'UTF8'");
	snprintf(wrong, sizeof(wrong), "postgresql://nobody@/postgres%.*s", length, host);
	CHECK_ERROR(store_open(wrong, false, &memory, &other, &err), -ECONNREFUSED,
		    "role \"nobody\"");
	snprintf(wrong, sizeof(wrong), "postgresql://strata@/nope%.*s", length, host);
	CHECK_ERROR(store_open(wrong, false, &memory, &other, &err), -ECONNREFUSED, "\"nope\"");
	CHECK_INT(memory.used_bytes, 0);
}

/* More different questions than statements are kept, and a connection in between that forgot them all. */
TEST(statements_make_room_for_each_other)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	uint64_t epoch;
	struct store *store = open_leading(&epoch);
	struct sample_ids found = { 0 };

	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	for (size_t i = 0; i < 300; i++) {
		struct store_query query = { .states = names,
					     .state_count = i % 8,
					     .user = i & 8 ? "ada" : NULL,
					     .account = i & 16 ? "vision" : NULL,
					     .array_id = i & 64 ? 1 : 0,
					     .descending = i & 32,
					     .limit = 10 };

		if (i == 150)
			postgres_server_run(BREAK_CONNECTIONS);
		found.count = 0;
		CHECK_OK(store_jobs_page(store, &query, sample_take_id, &found, &err));
		CHECK_INT(found.count, i % 8 == 0 && !query.array_id);
	}
	CHECK_OK(sample_put_job(store, 2, epoch, &err));
	store_close(store);
}

static int take_name(void *context, const void *row, struct strata_error *error)
{
	(void)error;
	strcat(context, ((const struct store_node *)row)->name);
	return 0;
}

/* Whatever the language of the database: "a" before "B" would be another order than SQLite's. */
TEST(keys_are_in_the_order_of_their_bytes)
{
	struct store_node nodes[] = { { .name = "a", .state = "up" },
				      { .name = "B", .state = "up" } };
	struct store_change changes[] = { STORE_PUT(&nodes[0]), STORE_PUT(&nodes[1]) };
	char english[512], names[8] = "";
	struct store *store;
	uint64_t epoch;

	snprintf(address, sizeof(address), "%s", postgres_server_url());
	if (!postgres_server_try("CREATE DATABASE english TEMPLATE template0 ENCODING 'UTF8' "
				 "LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"))
		test_skip("this PostgreSQL has no ICU");
	const char *host = strstr(address, "?host=");

	snprintf(english, sizeof(english), "postgres://strata@/english%.*s",
		 (int)strcspn(host, "&"), host);
	memory = (struct strata_memory){ 0 };
	CHECK_OK(store_open(english, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	CHECK_OK(store_apply(store, changes, 2, epoch, &err));
	CHECK_OK(store_load(store, STORE_NODE, NULL, take_name, names, &err));
	CHECK_TEXT(names, "Ba");
	store_close(store);
}
