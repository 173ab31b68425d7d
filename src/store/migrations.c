/*
 * The tables, as the steps that lead to them. A database's version is the number of migrations it
 * has seen; opening it to write applies the rest in one transaction, so it is at the old version or
 * at the new one, whenever the power goes. A migration that was released is never changed: what
 * comes later is appended.
 *
 * One text serves both databases; the names of types are the back end's (@int …).
 */
#include "store/store_int.h"

#include <errno.h>
#include <string.h>

static const char *const first[] = {
	"CREATE TABLE blobs (hash @text PRIMARY KEY, bytes @bytes NOT NULL)@end",
	"CREATE TABLE jobs ("
	"id @int PRIMARY KEY, uuid @text NOT NULL UNIQUE, user_id @text NOT NULL, uid @int NOT "
	"NULL, "
	"gid @int NOT NULL, account @text, partition_name @text, qos @text, job_name @text, "
	"state @text NOT NULL, reason @text, band @int NOT NULL, priority @int NOT NULL, "
	"gpu_count @int NOT NULL, gpu_type @text, cpu_cores @int NOT NULL, memory_bytes @int NOT "
	"NULL, "
	"command @text NOT NULL, working_dir @text, created_at @int NOT NULL, eligible_at @int NOT "
	"NULL, "
	"scheduled_at @int NOT NULL, started_at @int NOT NULL, completed_at @int NOT NULL, "
	"time_limit @int NOT NULL, attempt @int NOT NULL, exit_code @int NOT NULL, "
	"exit_signal @int NOT NULL, array_id @int NOT NULL, array_index @int NOT NULL, "
	"gang_id @int NOT NULL, spec @text, script @text REFERENCES blobs (hash), "
	"environment @text REFERENCES blobs (hash), place @text, request_key @text, comment "
	"@text)@end",
	"CREATE INDEX jobs_state ON jobs (state, id)",
	"CREATE INDEX jobs_user ON jobs (user_id, id)",
	"CREATE INDEX jobs_account ON jobs (account, id) WHERE account IS NOT NULL",
	"CREATE INDEX jobs_created ON jobs (created_at)",
	"CREATE INDEX jobs_live ON jobs (id) WHERE completed_at = 0",
	"CREATE INDEX jobs_ended ON jobs (completed_at, id) WHERE completed_at > 0",
	"CREATE INDEX jobs_array ON jobs (array_id, id) WHERE array_id > 0",
	"CREATE INDEX jobs_script ON jobs (script) WHERE script IS NOT NULL",
	"CREATE INDEX jobs_environment ON jobs (environment) WHERE environment IS NOT NULL",
	"CREATE UNIQUE INDEX jobs_request_key ON jobs (user_id, request_key) WHERE request_key IS "
	"NOT NULL",
	"CREATE TABLE steps ("
	"job @int NOT NULL, number @int NOT NULL, name @text, state @text NOT NULL, command @text, "
	"place @text, started_at @int NOT NULL, completed_at @int NOT NULL, exit_code @int NOT "
	"NULL, "
	"exit_signal @int NOT NULL, PRIMARY KEY (job, number))@end",
	"CREATE TABLE arrays ("
	"id @int PRIMARY KEY, user_id @text NOT NULL, task_count @int NOT NULL, running_max @int "
	"NOT NULL, "
	"created_at @int NOT NULL, indexes @text)@end",
	"CREATE TABLE events ("
	"sequence @int PRIMARY KEY, happened_at @int NOT NULL, job @int NOT NULL, kind @text NOT "
	"NULL, "
	"about @text)@end",
	"CREATE INDEX events_job ON events (job, sequence)",
	"CREATE TABLE usage ("
	"account @text NOT NULL, user_id @text NOT NULL, from_at @int NOT NULL, amount @real NOT "
	"NULL, "
	"gpu_seconds @real NOT NULL, cpu_seconds @real NOT NULL, memory_byte_seconds @real NOT "
	"NULL, "
	"job_count @int NOT NULL, updated_at @int NOT NULL, PRIMARY KEY (account, user_id, "
	"from_at))@end",
	"CREATE TABLE parties ("
	"kind @text NOT NULL, name @text NOT NULL, parent @text, settings @text, PRIMARY KEY "
	"(kind, name))@end",
	"CREATE TABLE tokens ("
	"id @text PRIMARY KEY, hash @text NOT NULL, user_id @text NOT NULL, role @text NOT NULL, "
	"created_at @int NOT NULL, expires_at @int NOT NULL, revoked_at @int NOT NULL, used_at "
	"@int NOT NULL, "
	"comment @text)@end",
	"CREATE TABLE nodes ("
	"name @text PRIMARY KEY, state @text NOT NULL, reason @text, since_at @int NOT NULL, "
	"settings @text)@end",
	"CREATE TABLE reservations ("
	"name @text PRIMARY KEY, begin_at @int NOT NULL, end_at @int NOT NULL, settings @text)@end",
	"CREATE TABLE checkpoints ("
	"job @int NOT NULL, rank @int NOT NULL, path @text NOT NULL, size_bytes @int NOT NULL, "
	"taken_at @int NOT NULL, step @int NOT NULL, PRIMARY KEY (job, rank))@end",
	"INSERT INTO meta (name, number) VALUES ('epoch', 0)",
	NULL,
};

/* Who leads has a name, and shows that it lives. */
static const char *const leader[] = {
	"CREATE TABLE leader ("
	"id @int PRIMARY KEY, epoch @int NOT NULL, address @text NOT NULL, host @text NOT NULL, "
	"since_at @int NOT NULL, beats @int NOT NULL)@end",
	"INSERT INTO leader (id, epoch, address, host, since_at, beats) "
	"SELECT 1, number, '', '', 0, 0 FROM meta WHERE name = 'epoch'",
	NULL,
};

/* That a job is to be stopped outlasts the one who was told. */
static const char *const stopping[] = {
	"ALTER TABLE jobs ADD COLUMN stopping @text",
	NULL,
};

/* What is known of a job besides: for those who look back, and for what goes on after a restart. */
static const char *const memory[] = {
	"ALTER TABLE jobs ADD COLUMN preempted @int NOT NULL DEFAULT 0",
	"ALTER TABLE jobs ADD COLUMN ran_on @text",
	"ALTER TABLE jobs ADD COLUMN cancelled_by @text",
	NULL,
};

/* How a job ended, in words and figures; answers that are given again when a request comes
 * again. */
static const char *const outcomes[] = {
	"ALTER TABLE jobs ADD COLUMN failure @text",
	"ALTER TABLE jobs ADD COLUMN cpu_user @int NOT NULL DEFAULT 0",
	"ALTER TABLE jobs ADD COLUMN cpu_system @int NOT NULL DEFAULT 0",
	"ALTER TABLE jobs ADD COLUMN memory_peak @int NOT NULL DEFAULT 0",
	"ALTER TABLE steps ADD COLUMN cpu_user @int NOT NULL DEFAULT 0",
	"ALTER TABLE steps ADD COLUMN cpu_system @int NOT NULL DEFAULT 0",
	"ALTER TABLE steps ADD COLUMN memory_peak @int NOT NULL DEFAULT 0",
	"CREATE TABLE answers (user_id @text NOT NULL, request_key @text NOT NULL, request @text "
	"NOT "
	"NULL, created_at @int NOT NULL, body @bytes NOT NULL, PRIMARY KEY (user_id, "
	"request_key))@end",
	"CREATE INDEX answers_created ON answers (created_at)",
	NULL,
};

/*
 * Tokens know the token they were made with. Accounts, partitions and qualities of service exist
 * only when somebody made them: those that live jobs and users name are made here; having no
 * settings, they are known as taken over.
 */
static const char *const made[] = {
	"ALTER TABLE tokens ADD COLUMN made_by @text",
	"INSERT INTO parties (kind, name) SELECT DISTINCT 'account', account FROM jobs "
	"WHERE completed_at = 0 AND account <> '' ON CONFLICT (kind, name) DO NOTHING",
	"INSERT INTO parties (kind, name) SELECT DISTINCT 'account', parent FROM parties "
	"WHERE kind = 'user' AND parent <> '' ON CONFLICT (kind, name) DO NOTHING",
	"INSERT INTO parties (kind, name) SELECT DISTINCT 'qos', qos FROM jobs "
	"WHERE completed_at = 0 AND qos <> '' ON CONFLICT (kind, name) DO NOTHING",
	"INSERT INTO parties (kind, name) SELECT DISTINCT 'partition', partition_name FROM jobs "
	"WHERE completed_at = 0 AND partition_name <> '' ON CONFLICT (kind, name) DO NOTHING",
	NULL,
};

/* A row may stand for a range of an array. */
static const char *const ranges[] = {
	"ALTER TABLE jobs ADD COLUMN elements @int NOT NULL DEFAULT 0",
	"ALTER TABLE jobs ADD COLUMN index_step @int NOT NULL DEFAULT 0",
	NULL,
};

/* Generation tasks, the models they name, which files their pictures are, and who makes them. */
static const char *const tasks[] = {
	"CREATE TABLE tasks ("
	"id @int PRIMARY KEY, user_id @text NOT NULL, uid @int NOT NULL, account @text, "
	"model @text NOT NULL, status @text NOT NULL, parameters @text NOT NULL, "
	"priority @int NOT NULL, deadline_at @int NOT NULL, created_at @int NOT NULL, "
	"started_at @int NOT NULL, ended_at @int NOT NULL, steps @int NOT NULL, "
	"steps_done @int NOT NULL, attempts @int NOT NULL, seed @int NOT NULL, error @text, "
	"cancelled_by @text, cost @int NOT NULL, images @text)@end",
	"CREATE INDEX tasks_live ON tasks (id) WHERE ended_at = 0",
	"CREATE INDEX tasks_ended ON tasks (ended_at, id) WHERE ended_at > 0",
	"CREATE INDEX tasks_user ON tasks (user_id, id)",
	"CREATE INDEX tasks_status ON tasks (status, id)",
	"CREATE INDEX tasks_model ON tasks (model, id)",
	"CREATE TABLE models ("
	"name @text PRIMARY KEY, settings @text NOT NULL, paused @int NOT NULL, "
	"created_at @int NOT NULL)@end",
	"CREATE TABLE results ("
	"hash @text NOT NULL, task @int NOT NULL, size_bytes @int NOT NULL, "
	"PRIMARY KEY (hash, task))@end",
	"CREATE INDEX results_task ON results (task)",
	"CREATE TABLE workers ("
	"job @int PRIMARY KEY, model @text NOT NULL, created_at @int NOT NULL)@end",
	NULL,
};

/* Messages to webhooks that have not arrived yet. */
static const char *const webhooks[] = {
	"CREATE TABLE deliveries ("
	"id @text PRIMARY KEY, user_id @text NOT NULL, event @text NOT NULL, url @text NOT NULL, "
	"body @text NOT NULL, error @text, attempts @int NOT NULL, created_at @int NOT NULL, "
	"due_at @int NOT NULL)@end",
	NULL,
};

/* What jobs used over time. */
static const char *const samples[] = {
	"CREATE TABLE samples ("
	"job @int PRIMARY KEY, attempt @int NOT NULL, started_at @int NOT NULL, "
	"points @text NOT NULL)@end",
	NULL,
};

/* Key figures of the service by day. */
static const char *const figures[] = {
	"CREATE TABLE figures ("
	"kind @text NOT NULL, of_what @text NOT NULL, day @int NOT NULL, median @real NOT NULL, "
	"low @real NOT NULL, high @real NOT NULL, value_count @int NOT NULL, sketch @text, "
	"PRIMARY KEY (kind, of_what, day))@end",
	NULL,
};

const struct store_migration store_migrations[] = {
	{ first },  { leader }, { stopping }, { memory },  { outcomes }, { made },
	{ ranges }, { tasks },  { webhooks }, { samples }, { figures },
};
const size_t store_migration_count = sizeof(store_migrations) / sizeof(store_migrations[0]);

#define ASK_VERSION "SELECT number FROM meta WHERE name = 'schema'"

static int too_new(struct store *store, int64_t version, size_t count, struct strata_error *err)
{
	return strata_fail(err, -ENOTSUP,
			   "the tables of %s are of version %lld, this program knows up to %zu: "
			   "a newer one wrote them",
			   store->cls->base.name, (long long)version, count);
}

/* The step with the back end's words in place of @int … */
static int translate(const struct store_class *cls, const char *step, struct buf *buf,
		     struct strata_error *err)
{
	static const char *const words[] = { "@int", "@real", "@text", "@bytes", "@end" };
	const char *const texts[] = { cls->types[STORE_INT], cls->types[STORE_REAL],
				      cls->types[STORE_TEXT], cls->types[STORE_BYTES],
				      cls->table_end };

	buf_reset(buf);
	while (*step) {
		size_t i = 0;

		while (i < 5 && strncmp(step, words[i], strlen(words[i])) != 0)
			i++;
		if (i < 5) {
			buf_add(buf, texts[i]);
			step += strlen(words[i]);
		} else {
			buf_add_char(buf, *step++);
		}
	}
	return buf_check(buf, err);
}

struct plan {
	const struct store_migration *migrations;
	size_t count;
	struct buf sql;
};

static int run_migration(struct store *store, struct plan *plan, size_t index,
			 struct strata_error *err)
{
	for (const char *const *step = plan->migrations[index].steps; *step; step++) {
		int rc = translate(store->cls, *step, &plan->sql, err);

		if (rc == 0)
			rc = store_run(store, plan->sql.text, NULL, 0, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int ignore_cells(void *context, const struct store_value *cells, size_t count,
			struct strata_error *err)
{
	(void)context, (void)cells, (void)count, (void)err;
	return 0;
}

static int prepare_meta(struct store *store, struct plan *plan, struct strata_error *err)
{
	int rc = 0;

	if (store->cls->migration_lock)
		rc = store_ask(store, store->cls->migration_lock, NULL, 0, NULL, 0, ignore_cells,
			       NULL, err);
	if (rc == 0)
		rc = translate(store->cls,
			       "CREATE TABLE IF NOT EXISTS meta (name @text PRIMARY KEY, number "
			       "@int NOT NULL)@end",
			       &plan->sql, err);
	return rc < 0 ? rc : store_run(store, plan->sql.text, NULL, 0, err);
}

static int migrate(struct store *store, void *context, struct strata_error *err)
{
	struct plan *plan = context;
	int64_t version = 0;
	int rc = prepare_meta(store, plan, err);

	if (rc == 0)
		rc = store_ask_number(store, ASK_VERSION, &version, err);
	if (rc == 0 && version > (int64_t)plan->count)
		return too_new(store, version, plan->count, err);
	for (size_t i = (size_t)version; i < plan->count && rc == 0; i++)
		rc = run_migration(store, plan, i, err);
	if (rc == 0 && version < (int64_t)plan->count)
		rc = store_run(store,
			       "INSERT INTO meta (name, number) VALUES ('schema', $1) "
			       "ON CONFLICT (name) DO UPDATE SET number = excluded.number",
			       &STORE_INT_OF((int64_t)plan->count), 1, err);
	return rc;
}

int store_migrate(struct store *store, const struct store_migration *migrations, size_t count,
		  struct strata_error *err)
{
	struct plan plan = { .migrations = migrations, .count = count };
	int64_t version;

	/* When there is nothing to do, nobody is kept from writing, nor waited for. Without tables
	 * this fails. */
	if (store_ask_number(store, ASK_VERSION, &version, NULL) == 0 && version == (int64_t)count)
		return 0;
	buf_init(&plan.sql, store->memory, 0);
	int rc = store_transact(store, NULL, migrate, &plan, err);

	buf_fini(&plan.sql);
	return rc;
}

int store_check_version(struct store *store, size_t count, struct strata_error *err)
{
	int64_t version = 0;
	int rc = store_ask_number(store, ASK_VERSION, &version, err);

	if (rc < 0)
		return rc;
	if (version > (int64_t)count)
		return too_new(store, version, count, err);
	if (version < (int64_t)count)
		return strata_fail(err, -ENOTSUP,
				   "the tables of %s are of version %lld, this program reads "
				   "version %zu: the server brings them up to date when it starts",
				   store->cls->base.name, (long long)version, count);
	return 0;
}
