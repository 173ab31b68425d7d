/* The pool: made, freed, counted, and its clock. */
#include "pool/pool_int.h"

#include <assert.h>
#include <errno.h>

extern const struct strata_policy_class strata_policy_fifo;

#define LEASE_NS (30 * STRATA_SECOND_NS)

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static int check_conf(const struct strata_pool_conf *conf, struct strata_error *err)
{
	if (conf->priority_min > conf->priority_max || conf->priority_min < STRATA_PRIORITY_MIN ||
	    conf->priority_max > STRATA_PRIORITY_MAX)
		return strata_fail(err, -EINVAL,
				   "priorities from %lld to %lld; expected a range within %d to %d",
				   (long long)conf->priority_min, (long long)conf->priority_max,
				   STRATA_PRIORITY_MIN, STRATA_PRIORITY_MAX);
	if (conf->batch_max > STRATA_BATCH_MAX)
		return strata_fail(err, -EINVAL, "batch_max is %u; expected up to %d",
				   conf->batch_max, STRATA_BATCH_MAX);
	if (conf->look_max > STRATA_POOL_LOOK_MAX)
		return strata_fail(err, -EINVAL, "look_max is %u; expected up to %d",
				   conf->look_max, STRATA_POOL_LOOK_MAX);
	if (conf->batch_wait_ns < 0 || conf->batch_wait_ns > STRATA_DURATION_NS_MAX ||
	    conf->lease_ns < 0 || conf->lease_ns > STRATA_DURATION_NS_MAX)
		return strata_fail(err, -EINVAL,
				   "the lease and the wait for a batch are 0 to 100 years");
	return 0;
}

static void fill_conf(struct strata_pool_conf *conf)
{
	if (!conf->policy.cls)
		conf->policy.cls = &strata_policy_fifo.base;
	if (conf->priority_min == 0 && conf->priority_max == 0)
		conf->priority_max = 10;
	conf->steps_per_pick = or_default(conf->steps_per_pick, 1);
	conf->batch_max = or_default(conf->batch_max, 1);
	conf->look_max = or_default(conf->look_max, 64);
	conf->overtake_max = or_default(conf->overtake_max, 16);
	if (conf->lease_ns == 0)
		conf->lease_ns = LEASE_NS;
}

int strata_pool_new(const struct strata_pool_conf *conf, struct strata_memory *memory,
		    struct strata_pool **ret_pool, struct strata_error *err)
{
	int rc = check_conf(conf, err);

	if (rc)
		return rc;
	struct strata_pool *pool = strata_memory_get(memory, sizeof(*pool));

	if (!pool)
		return strata_fail_memory(err);
	pool->memory = memory;
	pool->conf = *conf;
	fill_conf(&pool->conf);
	pool->policy = (const struct strata_policy_class *)pool->conf.policy.cls;
	pool->hooks = pool->policy->hooks;
	pool->now_ns = INT64_MIN;
	pool->batch_until_ns = INT64_MAX;
	pool->stats.policy = pool->policy->base.name;
	slab_init(&pool->tasks, memory, sizeof(struct task), pool->conf.tasks_max);
	slab_init(&pool->users, memory, sizeof(struct user), 0);
	slab_init(&pool->shapes, memory, sizeof(struct shape), STRATA_POOL_SHAPES_MAX);
	slab_init(&pool->workers, memory, sizeof(struct worker), 0);
	ranked_init(&pool->line, memory, pool->hooks ? pool->hooks->columns : RANKED_WEIGHTS);
	ranked_init(&pool->mates, memory, RANKED_KEYS);
	map_text_init(&pool->names, memory);
	map_text_init(&pool->accounts, memory);
	map_text_init(&pool->pairs, memory);
	map_u64_init(&pool->models, memory);
	if (pool->hooks && pool->hooks->open)
		rc = pool->hooks->open(pool, err);
	if (rc) {
		pool->hooks = NULL; /* it has nothing to close */
		strata_pool_free(pool);
		return rc;
	}
	*ret_pool = pool;
	return 0;
}

void strata_pool_free(struct strata_pool *pool)
{
	if (!pool)
		return;
	if (pool->hooks && pool->hooks->close)
		pool->hooks->close(pool);
	map_u64_fini(&pool->models);
	map_text_fini(&pool->pairs);
	map_text_fini(&pool->accounts);
	map_text_fini(&pool->names);
	ranked_fini(&pool->mates);
	ranked_fini(&pool->line);
	slab_fini(&pool->workers);
	slab_fini(&pool->shapes);
	slab_fini(&pool->users);
	slab_fini(&pool->tasks);
	strata_memory_put(pool->memory, pool, sizeof(*pool));
}

void pool_tick(struct strata_pool *pool, int64_t now_ns)
{
	if (now_ns <= pool->now_ns)
		return;
	pool->now_ns = now_ns;
	if (pool->hooks && pool->hooks->tick)
		pool->hooks->tick(pool);
}

int64_t strata_pool_next_ns(const struct strata_pool *pool)
{
	int64_t next_ns = pool->batch_until_ns;

	if (pool->silent && pool->silent->heard_ns + pool->conf.lease_ns < next_ns)
		next_ns = pool->silent->heard_ns + pool->conf.lease_ns;
	if (pool->hooks && pool->hooks->next_ns && pool->hooks->next_ns(pool) < next_ns)
		next_ns = pool->hooks->next_ns(pool);
	return next_ns;
}

size_t strata_pool_pending_count(const struct strata_pool *pool)
{
	return pool->line.count;
}

bool strata_pool_all_finished(const struct strata_pool *pool)
{
	const uint64_t *tasks = pool->stats.tasks;

	return tasks[STRATA_TASK_PENDING] + tasks[STRATA_TASK_ENCODING] +
		       tasks[STRATA_TASK_DENOISING] + tasks[STRATA_TASK_DECODING] ==
	       0;
}

void strata_pool_stats(const struct strata_pool *pool, struct strata_pool_stats *ret_stats)
{
	*ret_stats = pool->stats;
	ret_stats->workers = pool->workers.count;
	ret_stats->decisions = pool->decision;
	ret_stats->pending_cost_ns = (int64_t)pool->line.sum;
}
