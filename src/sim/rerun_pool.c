/* The pools of a record, decided over: each line is told to the pool of its name, and what a pick
 * decides must be what was decided then. A pool that goes its own way is followed no further; the
 * others are. */
#include "sim/rerun_int.h"

#include <errno.h>
#include <string.h>

struct rerun_pool {
	struct strata_pool *pool; /* NULL: it went its own way */
	struct strata_registry *registry;
};

static void end_pool(struct rerun *rerun, struct rerun_pool *pool)
{
	strata_pool_free(pool->pool);
	strata_registry_free(pool->registry);
	strata_memory_put(rerun->memory, pool, sizeof(*pool));
}

void rerun_pool_end_all(struct rerun *rerun)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&rerun->pools, entry)))
		end_pool(rerun, entry->value);
	map_text_fini(&rerun->pools);
	map_text_init(&rerun->pools, rerun->memory);
}

static int open_pool(struct rerun *rerun, const struct recording_pool *begin,
		     struct rerun_pool *pool, struct strata_error *err)
{
	struct strata_pool_conf conf = begin->conf;
	int rc = strata_registry_new(&strata_policy_kind, rerun->memory, &pool->registry, err);

	if (rc == 0 && begin->policy)
		rc = strata_spec_read(pool->registry, begin->policy, strlen(begin->policy),
				      &rerun->line, &conf.policy, err);
	return rc ? rc : strata_pool_new(&conf, rerun->memory, &pool->pool, err);
}

static int begin_pool(struct rerun *rerun, const struct recording_line *line,
		      struct strata_error *err)
{
	size_t length = strlen(line->pool);
	struct rerun_pool *old = map_text_get(&rerun->pools, line->pool, length);
	struct rerun_pool *pool = strata_memory_get(rerun->memory, sizeof(*pool));
	int rc = pool ? open_pool(rerun, &line->pool_begin, pool, err) : strata_fail_memory(err);

	if (rc == 0 && map_text_put(&rerun->pools, line->pool, length, pool, NULL))
		rc = strata_fail_memory(err);
	if (rc) {
		if (pool)
			end_pool(rerun, pool);
		return rc;
	}
	if (old)
		end_pool(rerun, old);
	rerun->result->pools++;
	return 0;
}

/* A pick is compared; all else is only told. */
static int take_pick(struct rerun *rerun, struct rerun_pool *pool, struct recording_line *line,
		     const struct strata_batch *batch, const char *text, size_t length,
		     struct strata_error *err)
{
	bool same;

	rerun->result->picks++;
	rerun->result->batches += batch->count > 0;
	line->pool_event.batch = batch;
	if (line->digest) {
		rerun->result->digests++;
		line->digest = strata_pool_digest(pool->pool);
	}
	int rc = rerun_compare(rerun, line, text, length, &same, err);

	if (rc == 0 && !same) {
		strata_pool_free(pool->pool);
		pool->pool = NULL;
	}
	return rc;
}

int rerun_pool_line(struct rerun *rerun, struct recording_line *line, const char *text,
		    size_t length, struct strata_error *err)
{
	struct strata_batch batch = { 0 };
	struct rerun_pool *pool;

	if (!rerun->result->clusters)
		return strata_fail(err, -EINVAL, "the record has no line 'begin' before this");
	if (line->begins)
		return begin_pool(rerun, line, err);
	pool = map_text_get(&rerun->pools, line->pool, strlen(line->pool));
	if (!pool)
		return strata_fail(err, -EINVAL, "the pool %.60s has no line 'pool_begin'",
				   line->pool);
	if (!pool->pool)
		return 0;
	int rc = strata_pool_tell(pool->pool, &line->pool_event, &batch, err);

	if (rc == -ENOMEM)
		return rc;
	rerun->result->events++;
	rerun->result->refused += rc != 0;
	rerun->result->tasks += rc == 0 && line->pool_event.kind == STRATA_POOL_EVENT_ADD;
	if (line->pool_event.kind != STRATA_POOL_EVENT_PICK)
		return 0;
	return take_pick(rerun, pool, line, &batch, text, length, err);
}
