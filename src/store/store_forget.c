/*
 * Retention. The jobs to forget are listed first; then each goes with what belongs to it, by its
 * key, so the cost is that of what is forgotten and not of what is kept. The newest job and event
 * stay: their numbers are how the next ones are found.
 */
#include "store/store_int.h"

#include <errno.h>
#include <string.h>

struct doomed {
	int64_t id, array_id;
	int64_t before; /* below the first id that the row stands for */
	char script[STORE_HASH_BYTES], environment[STORE_HASH_BYTES]; /* "": none */
};

struct forget {
	int64_t before_ns;
	size_t limit;
	struct doomed *jobs; /* room for limit */
	size_t job_count;
	size_t count; /* of rows that are counted before they are deleted */
};

static void keep_hash(char to[STORE_HASH_BYTES], const struct store_value *cell)
{
	to[0] = '\0';
	if (!cell->null && cell->size_bytes < STORE_HASH_BYTES)
		memcpy(to, cell->bytes, cell->size_bytes + 1);
}

static int list_job(void *context, const struct store_value *cells, size_t count,
		    struct strata_error *err)
{
	struct forget *forget = context;
	struct doomed *job = &forget->jobs[forget->job_count++];

	(void)count, (void)err;
	job->id = cells[0].number;
	job->array_id = cells[1].number;
	keep_hash(job->script, &cells[2]);
	keep_hash(job->environment, &cells[3]);
	job->before = job->id - (cells[4].number > 1 ? cells[4].number : 1);
	return 0;
}

static int forget_blob(struct store *store, const char *hash, struct strata_error *err)
{
	struct store_value value = store_text_of(hash);

	return !hash[0] ? 0
			: store_run(store,
				    "DELETE FROM blobs WHERE hash = $1 "
				    "AND NOT EXISTS (SELECT 1 FROM jobs WHERE script = $1) "
				    "AND NOT EXISTS (SELECT 1 FROM jobs WHERE environment = $1)",
				    &value, 1, err);
}

#define NOT_THE_LAST_EVENT "sequence < (SELECT max(sequence) FROM events)"

static int forget_job(struct store *store, const struct doomed *job, struct strata_error *err)
{
	static const char *const texts[] = {
		"DELETE FROM steps WHERE job <= $1 AND job > $2",
		"DELETE FROM checkpoints WHERE job <= $1 AND job > $2",
		"DELETE FROM workers WHERE job <= $1 AND job > $2",
		"DELETE FROM samples WHERE job <= $1 AND job > $2",
		("DELETE FROM events WHERE job <= $1 AND job > $2 AND " NOT_THE_LAST_EVENT),
		"DELETE FROM jobs WHERE id <= $1 AND id > $2",
	};
	struct store_value ids[] = { STORE_INT_OF(job->id), STORE_INT_OF(job->before) },
			   array = STORE_INT_OF(job->array_id);
	int rc = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && rc == 0; i++)
		rc = store_run(store, texts[i], ids, 2, err);
	if (rc == 0 && job->array_id)
		rc = store_run(
			store,
			"DELETE FROM arrays WHERE id = $1 AND id < (SELECT max(id) FROM arrays) "
			"AND NOT EXISTS (SELECT 1 FROM jobs WHERE array_id > 0 AND array_id = $1)",
			&array, 1, err);
	if (rc == 0)
		rc = forget_blob(store, job->script, err);
	return rc < 0 ? rc : forget_blob(store, job->environment, err);
}

static int count_rows(void *context, const struct store_value *cells, size_t count,
		      struct strata_error *err)
{
	struct forget *forget = context;

	(void)count, (void)err;
	forget->count += (size_t)cells[0].number;
	return 0;
}

/* Rows of which the first statement tells how many the second deletes. */
static int forget_rows(struct store *store, struct forget *forget, const char *count_sql,
		       const char *delete_sql, struct strata_error *err)
{
	static const enum store_type type[] = { STORE_INT };
	struct store_value values[] = { STORE_INT_OF(forget->before_ns),
					STORE_INT_OF((int64_t)forget->limit) };
	size_t before = forget->count;
	int rc = store_ask(store, count_sql, values, 2, type, 1, count_rows, forget, err);

	return rc || forget->count == before ? rc : store_run(store, delete_sql, values, 2, err);
}

/* clang-format off */
#define OLD_EVENTS "FROM events WHERE job = 0 AND happened_at < $1 AND " NOT_THE_LAST_EVENT " ORDER BY sequence LIMIT $2"
#define OLD_ANSWERS "FROM answers WHERE created_at < $1 ORDER BY created_at, user_id, request_key LIMIT $2"
/* clang-format on */

static int forget_all(struct store *store, void *context, struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT, STORE_INT, STORE_TEXT, STORE_TEXT,
						 STORE_INT };
	struct forget *forget = context;
	struct store_value values[] = { STORE_INT_OF(forget->before_ns),
					STORE_INT_OF((int64_t)forget->limit) };

	forget->job_count = forget->count = 0; /* this may be the second try */
	int rc = store_ask(store,
			   "SELECT id, array_id, script, environment, elements FROM jobs "
			   "WHERE completed_at > 0 AND completed_at < $1 "
			   "AND id < (SELECT max(id) FROM jobs) ORDER BY completed_at, id LIMIT $2",
			   values, 2, types, 5, list_job, forget, err);

	for (size_t i = 0; i < forget->job_count && rc == 0; i++)
		rc = forget_job(store, &forget->jobs[i], err);
	if (rc == 0)
		rc = forget_rows(store, forget,
				 "SELECT count(*) FROM (SELECT sequence " OLD_EVENTS ") AS old",
				 "DELETE FROM events WHERE sequence IN (SELECT sequence " OLD_EVENTS
				 ")",
				 err);
	return rc < 0 ? rc
		      : forget_rows(store, forget,
				    "SELECT count(*) FROM (SELECT user_id " OLD_ANSWERS ") AS old",
				    "DELETE FROM answers WHERE (user_id, request_key) IN "
				    "(SELECT user_id, request_key " OLD_ANSWERS ")",
				    err);
}

static int check_limit(size_t limit, struct strata_error *err)
{
	if (limit < 1 || limit > STRATA_STORE_PAGE_MAX)
		return strata_fail_at(err, -ERANGE, "limit", "limit is %zu; expected 1 to %d",
				      limit, STRATA_STORE_PAGE_MAX);
	return 0;
}

int store_forget(struct store *store, int64_t before_ns, size_t limit, uint64_t epoch,
		 size_t *ret_count, struct strata_error *err)
{
	struct forget forget = { .before_ns = before_ns, .limit = limit };
	int rc = check_limit(limit, err);

	if (rc)
		return rc;
	forget.jobs = strata_memory_get(store->memory, limit * sizeof(*forget.jobs));
	if (!forget.jobs)
		return strata_fail_memory(err);
	rc = store_transact(store, &epoch, forget_all, &forget, err);

	strata_memory_put(store->memory, forget.jobs, limit * sizeof(*forget.jobs));
	if (rc == 0)
		*ret_count = forget.job_count + forget.count;
	return rc;
}

/* clang-format off */
#define NUMBER "CAST(id AS BIGINT)"
#define OLD_TOKENS "FROM tokens WHERE ((expires_at > 0 AND expires_at < $1) OR (revoked_at > 0 AND revoked_at < $1)) " \
	"AND " NUMBER " < (SELECT max(" NUMBER ") FROM tokens) ORDER BY " NUMBER " LIMIT $2"
/* clang-format on */

static int forget_tokens(struct store *store, void *context, struct strata_error *err)
{
	struct forget *forget = context;

	forget->count = 0; /* this may be the second try */
	return forget_rows(store, forget, "SELECT count(*) FROM (SELECT id " OLD_TOKENS ") AS old",
			   "DELETE FROM tokens WHERE id IN (SELECT id " OLD_TOKENS ")", err);
}

int store_forget_tokens(struct store *store, int64_t before_ns, size_t limit, uint64_t epoch,
			size_t *ret_count, struct strata_error *err)
{
	struct forget forget = { .before_ns = before_ns, .limit = limit };
	int rc = check_limit(limit, err);

	if (rc == 0)
		rc = store_transact(store, &epoch, forget_tokens, &forget, err);
	if (rc == 0)
		*ret_count = forget.count;
	return rc;
}

/* ---- tasks ---- */

/* The rights to results of tasks that go, copied until it is durable that they do. */
struct forget_tasks {
	int64_t before_ns;
	size_t limit;
	struct strata_arena arena;
	int64_t *ids;  /* room for limit */
	int64_t *ends; /* the same; of store_drop */
	size_t id_count;
	struct gone {
		struct gone *next;
		struct store_gone row;
	} *gone;
	int64_t gone_bytes;
	size_t gone_count;
	const struct store_drop *drop; /* NULL: the tasks go, too */
	int64_t from_ns;
};

static int list_task(void *context, const struct store_value *cells, size_t count,
		     struct strata_error *err)
{
	struct forget_tasks *forget = context;

	(void)count, (void)err;
	forget->ids[forget->id_count++] = cells[0].number;
	return 0;
}

static int list_result(void *context, const struct store_value *cells, size_t count,
		       struct strata_error *err)
{
	struct forget_tasks *forget = context;
	struct gone *gone = strata_arena_get(&forget->arena, sizeof(*gone));

	(void)count;
	if (gone) {
		gone->row.result = (struct store_result){
			.hash = strata_arena_text(&forget->arena, cells[0].bytes,
						  cells[0].size_bytes),
			.task = cells[1].number,
			.size_bytes = cells[2].number,
		};
		gone->row.user = strata_arena_text(&forget->arena, cells[3].bytes,
						   cells[3].size_bytes);
	}
	if (!gone || !gone->row.result.hash || !gone->row.user)
		return strata_fail_memory(err);
	gone->next = forget->gone;
	forget->gone = gone;
	forget->gone_count++;
	forget->gone_bytes += gone->row.result.size_bytes;
	return 0;
}

static int forget_task(struct store *store, struct forget_tasks *forget, int64_t id,
		       struct strata_error *err)
{
	static const enum store_type types[] = { STORE_TEXT, STORE_INT, STORE_INT, STORE_TEXT };
	struct store_value value = STORE_INT_OF(id);
	int rc = store_ask(store,
			   "SELECT r.hash, r.task, r.size_bytes, t.user_id FROM results r "
			   "JOIN tasks t ON t.id = r.task WHERE r.task = $1",
			   &value, 1, types, 4, list_result, forget, err);

	if (rc == 0)
		rc = store_run(store, "DELETE FROM results WHERE task = $1", &value, 1, err);
	return rc || forget->drop ? rc : store_run(store, "DELETE FROM tasks WHERE id = $1", &value, 1, err);
}

static int forget_old_tasks(struct store *store, void *context, struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT };
	struct forget_tasks *forget = context;
	struct store_value values[] = { STORE_INT_OF(forget->before_ns),
					STORE_INT_OF((int64_t)forget->limit) };

	forget->id_count = 0; /* this may be the second try */
	forget->gone = NULL;
	int rc = store_ask(store,
			   "SELECT id FROM tasks WHERE ended_at > 0 AND ended_at < $1 "
			   "AND id < (SELECT max(id) FROM tasks) ORDER BY ended_at, id LIMIT $2",
			   values, 2, types, 1, list_task, forget, err);

	for (size_t i = 0; i < forget->id_count && rc == 0; i++)
		rc = forget_task(store, forget, forget->ids[i], err);
	return rc;
}

/* Hands out what is gone, and says what another task needs. */
static int give_gone(struct store *store, const struct forget_tasks *forget, store_each *each,
		     void *context, struct strata_error *err)
{
	int rc = 0;

	for (struct gone *gone = forget->gone; gone && rc == 0; gone = gone->next) {
		rc = store_result_used(store, gone->row.result.hash, &gone->row.used, err);
		if (rc == 0)
			rc = each(context, &gone->row, err);
	}
	return rc;
}

int store_forget_tasks(struct store *store, int64_t before_ns, size_t limit, uint64_t epoch,
		       store_each *each, void *context, size_t *ret_count, struct strata_error *err)
{
	struct forget_tasks forget = { .before_ns = before_ns, .limit = limit };
	int rc = check_limit(limit, err);

	if (rc)
		return rc;
	strata_arena_init(&forget.arena, store->memory, 0);
	forget.ids = strata_arena_array(&forget.arena, limit, sizeof(*forget.ids));
	rc = forget.ids ? store_transact(store, &epoch, forget_old_tasks, &forget, err)
			: strata_fail_memory(err);
	if (rc == 0)
		rc = give_gone(store, &forget, each, context, err);
	if (rc == 0)
		*ret_count = forget.id_count;
	strata_arena_fini(&forget.arena);
	return rc;
}

/* ---- results ---- */

static int list_dropped(void *context, const struct store_value *cells, size_t count,
			struct strata_error *err)
{
	struct forget_tasks *forget = context;

	(void)count, (void)err;
	forget->ends[forget->id_count] = cells[1].number;
	forget->ids[forget->id_count++] = cells[0].number;
	return 0;
}

static int drop_old_results(struct store *store, void *context, struct strata_error *err)
{
	static const enum store_type types[] = { STORE_INT, STORE_INT };
	struct forget_tasks *forget = context;
	const struct store_drop *drop = forget->drop;
	struct store_value values[] = { STORE_INT_OF(drop->from_ns), STORE_INT_OF(drop->before_ns),
					STORE_INT_OF((int64_t)drop->limit) };

	forget->id_count = forget->gone_count = 0; /* this may be the second try */
	forget->gone = NULL;
	forget->gone_bytes = 0;
	int rc = store_ask(store,
			   "SELECT id, ended_at FROM tasks WHERE ended_at > 0 AND ended_at >= $1 "
			   "AND ended_at < $2 ORDER BY ended_at, id LIMIT $3",
			   values, 3, types, 2, list_dropped, forget, err);
	size_t done = 0;

	for (; done < forget->id_count && rc == 0 && forget->gone_bytes < drop->bytes; done++)
		rc = forget_task(store, forget, forget->ids[done], err);
	/* those that ended in the same instant as the last are looked at again */
	forget->from_ns = done == drop->limit && forget->ends[0] < forget->ends[done - 1]
				  ? forget->ends[done - 1]
			  : done == drop->limit     ? forget->ends[done - 1] + 1
			  : done < forget->id_count ? forget->ends[done]
						    : drop->before_ns;
	return rc;
}

int store_drop_results(struct store *store, const struct store_drop *drop, uint64_t epoch,
		       store_each *each, void *context, int64_t *ret_from_ns, size_t *ret_count,
		       struct strata_error *err)
{
	struct forget_tasks forget = { .drop = drop };
	int rc = check_limit(drop->limit, err);

	if (rc)
		return rc;
	strata_arena_init(&forget.arena, store->memory, 0);
	forget.ids = strata_arena_array(&forget.arena, drop->limit, sizeof(*forget.ids));
	forget.ends = strata_arena_array(&forget.arena, drop->limit, sizeof(*forget.ends));
	rc = forget.ids && forget.ends
		     ? store_transact(store, &epoch, drop_old_results, &forget, err)
		     : strata_fail_memory(err);
	if (rc == 0)
		rc = give_gone(store, &forget, each, context, err);
	if (rc == 0) {
		*ret_from_ns = forget.from_ns;
		*ret_count = forget.gone_count;
	}
	strata_arena_fini(&forget.arena);
	return rc;
}

struct summing {
	store_each *each;
	void *context;
	struct strata_arena arena;
};

static int give_sum(void *context, const struct store_value *cells, size_t count,
		    struct strata_error *err)
{
	struct summing *summing = context;
	struct store_result_sum sum = {
		.user = strata_arena_text(&summing->arena, cells[0].bytes, cells[0].size_bytes),
		.size_bytes = cells[1].number,
	};

	(void)count;
	return sum.user ? summing->each(summing->context, &sum, err) : strata_fail_memory(err);
}

int store_results_sum(struct store *store, store_each *each, void *context,
		      struct strata_error *err)
{
	static const enum store_type types[] = { STORE_TEXT, STORE_INT };
	struct summing summing = { .each = each, .context = context };

	strata_arena_init(&summing.arena, store->memory, 0);
	int rc = store_ask(store,
			   "SELECT t.user_id, CAST(sum(r.size_bytes) AS bigint) FROM results r "
			   "JOIN tasks t ON t.id = r.task GROUP BY t.user_id ORDER BY t.user_id",
			   NULL, 0, types, 2, give_sum, &summing, err);

	strata_arena_fini(&summing.arena);
	return rc;
}
