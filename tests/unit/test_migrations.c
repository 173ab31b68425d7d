/* Migrations: from any version to the newest, whole or not at all, and never from the future. */
#include "store/store_int.h"

#include "fault_vfs.h"
#include "postgres_server.h"
#include "unit/store_sample.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;

static const char *const second_steps[] = {
	"ALTER TABLE nodes ADD COLUMN rack @text",
	"CREATE TABLE racks (name @text PRIMARY KEY, height @int NOT NULL, load @real, map "
	"@bytes)@end",
	NULL,
};
static const char *const bad_steps[] = {
	"CREATE TABLE halls (name @text PRIMARY KEY)@end",
	"INSERT INTO nowhere VALUES (1)",
	NULL,
};

/* The migrations of this program and one of its future, or one that fails. */
static size_t with_next(const char *const *steps, struct store_migration ret_migrations[16])
{
	for (size_t i = 0; i < store_migration_count; i++)
		ret_migrations[i] = store_migrations[i];
	ret_migrations[store_migration_count].steps = steps;
	return store_migration_count + 1;
}

static int64_t ask(struct store *store, const char *sql)
{
	int64_t number;

	CHECK_OK(store_ask_number(store, sql, &number, &err));
	return number;
}

static void check_migrations(const char *address)
{
	struct store_migration more[16];
	size_t count = with_next(second_steps, more);
	struct store *store, *again;
	uint64_t epoch;

	memory = (struct strata_memory){ 0 };
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_check_version(store, store_migration_count, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	CHECK_OK(sample_put_job(store, 5, epoch, &err));
	CHECK_OK(store_migrate(store, store_migrations, store_migration_count,
			       &err)); /* nothing to do */
	/* One that fails leaves nothing behind. */
	struct store_migration bad[16];
	size_t bad_count = with_next(bad_steps, bad);

	CHECK(store_migrate(store, bad, bad_count, &err) < 0);
	CHECK_OK(store_check_version(store, store_migration_count, &err));
	CHECK(store_run(store, "INSERT INTO halls VALUES ('x')", NULL, 0, &err) < 0 ||
	      store_ask_number(store, "SELECT count(*) FROM halls", &(int64_t){ 0 }, &err) < 0);
	CHECK_ERROR(store_check_version(store, count, &err), -ENOTSUP,
		    "the server brings them up to date");
	/* The next one works, keeps what is there, and is then too new for this program. */
	CHECK_OK(store_migrate(store, more, count, &err));
	CHECK_INT(ask(store, "SELECT count(*) FROM racks"), 0);
	CHECK_INT(ask(store, "SELECT max(id) FROM jobs"), 5);
	CHECK_INT(ask(store, "SELECT number FROM meta WHERE name = 'epoch'"), (int64_t)epoch);
	store_close(store);
	CHECK_ERROR(store_open(address, false, &memory, &again, &err), -ENOTSUP,
		    "a newer one wrote them");
	CHECK_ERROR(store_open(address, true, &memory, &again, &err), -ENOTSUP,
		    "a newer one wrote them");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(migrations_go_up_only_sqlite)
{
	char address[512];

	snprintf(address, sizeof(address), "%s/strata.db", test_temp_dir());
	check_migrations(address);
}

TEST(migrations_go_up_only_postgres)
{
	check_migrations(postgres_server_url());
}

TEST(a_reader_does_not_make_tables)
{
	struct store *store;

	CHECK_ERROR(store_open(postgres_server_url(), true, &memory, &store, &err), -ENOTSUP,
		    "meta");
}

/* Power fails at every change of opening a new database and of the migration that follows; the next start makes it
 * good. */
TEST(power_may_fail_in_the_middle)
{
	struct store_migration more[16];
	size_t count = with_next(second_steps, more);
	char address[512];
	bool done = false;
	uint64_t crashes = 0;

	snprintf(address, sizeof(address), "%s/strata.db", test_temp_dir());
	for (uint64_t n = 1; !done; n++) {
		struct store *store = NULL;
		uint64_t epoch;

		fault_vfs_start(n);
		fault_vfs.crash_at = n;
		done = store_open(address, false, &memory, &store, NULL) == 0 &&
		       store_lead(store, NULL, &epoch, NULL) == 0 &&
		       sample_put_job(store, 5, epoch, NULL) == 0;
		bool acknowledged = done;

		done = done && store_migrate(store, more, count, NULL) == 0;
		store_close(store);
		done = done && fault_vfs.changes < n;
		fault_vfs_crash();
		crashes += !done;
		int rc = store_open(address, false, &memory, &store, &err);

		if (rc == -ENOTSUP) { /* at the new version */
			CHECK(acknowledged);
		} else {
			CHECK_OK(rc);
			CHECK_OK(store_check_version(store, store_migration_count, &err));
			CHECK(ask(store, "SELECT count(*) FROM jobs") >= acknowledged);
			CHECK_OK(store_migrate(store, more, count, &err));
			CHECK_INT(ask(store, "SELECT count(*) FROM racks"), 0);
			store_close(store);
		}
		fault_vfs_stop();
	}
	CHECK(crashes > 50);
}

/* The same with a process that is killed, on the real file system and on PostgreSQL. */
static void check_killed(const char *address)
{
	struct store_migration more[16];
	size_t count = with_next(second_steps, more);

	for (unsigned delay_us = 0; delay_us <= 40000; delay_us += 4000) {
		struct store *store;
		pid_t pid = fork();

		if (pid == 0) {
			struct strata_memory own = { 0 };

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (store_open(address, false, &own, &store, NULL) == 0)
				store_migrate(store, more, count, NULL);
			_exit(0);
		}
		usleep(delay_us);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		int rc = store_open(address, false, &memory, &store, &err);

		if (rc == -ENOTSUP)
			return; /* it was fast enough */
		CHECK_OK(rc);
		CHECK_INT(ask(store, "SELECT count(*) FROM jobs"), 0);
		store_close(store);
	}
}

TEST(a_killed_migration_is_done_again_sqlite)
{
	char address[512];

	snprintf(address, sizeof(address), "%s/strata.db", test_temp_dir());
	check_killed(address);
}

TEST(a_killed_migration_is_done_again_postgres)
{
	check_killed(postgres_server_url());
}
