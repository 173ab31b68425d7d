/* The pool: made, freed, counted, and its clock. */
#include "pool/pool_int.h"

#include "core/class.h"
#include "core/option_copy.h"

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
	if (!conf->has_priorities && conf->priority_min == 0 && conf->priority_max == 0)
		conf->priority_max = 10;
	conf->steps_per_pick = or_default(conf->steps_per_pick, 1);
	conf->batch_max = or_default(conf->batch_max, 1);
	conf->look_max = or_default(conf->look_max, 64);
	conf->overtake_max = conf->overtake_max == STRATA_OVERTAKE_NEVER
				     ? 0
				     : or_default(conf->overtake_max, 16);
	if (conf->lease_ns == 0)
		conf->lease_ns = LEASE_NS;
}

/* The policy's settings, copied: the pool outlives what they were read into. */
static int keep_policy(struct strata_pool *pool, struct strata_error *err)
{
	struct strata_spec *policy = &pool->conf.policy;
	struct strata_schema schema = class_schema(policy->cls);

	if (!policy->conf)
		return 0;
	pool->policy_bytes = option_copy_bytes(&schema, policy->conf);
	void *copy = strata_memory_get(pool->memory, pool->policy_bytes);

	if (!copy)
		return strata_fail_memory(err);
	option_copy(&schema, policy->conf, copy);
	policy->conf = copy;
	return 0;
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
	rc = keep_policy(pool, err);
	if (rc) {
		strata_memory_put(memory, pool, sizeof(*pool));
		return rc;
	}
	pool->policy = (const struct strata_policy_class *)pool->conf.policy.cls;
	pool->hooks = pool->policy->hooks;
	pool->now_ns = INT64_MIN;
	pool->batch_until_ns = INT64_MAX;
	pool->metrics.policy = pool->policy->base.name;
	slab_init(&pool->tasks, memory, sizeof(struct task), pool->conf.tasks_max);
	slab_init(&pool->users, memory, sizeof(struct user), 0);
	slab_init(&pool->shapes, memory, sizeof(struct batch_key), STRATA_POOL_SHAPES_MAX);
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
	if (pool->policy_bytes)
		strata_memory_put(pool->memory, pool->conf.policy.conf, pool->policy_bytes);
	strata_memory_put(pool->memory, pool, sizeof(*pool));
}

int strata_pool_build(const char *policy, struct strata_memory *memory,
		      struct strata_pool **ret_pool, struct strata_error *err)
{
	struct strata_pool_conf conf = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_spec_build(&strata_policy_kind, policy, &arena, &conf.policy, err);

	if (rc == 0)
		rc = strata_pool_new(&conf, memory, ret_pool, err);
	strata_arena_fini(&arena);
	return rc;
}

void pool_tick(struct strata_pool *pool, int64_t now_ns)
{
	if (now_ns <= pool->now_ns)
		return;
	pool->now_ns = now_ns;
	if (pool->hooks && pool->hooks->tick)
		pool->hooks->tick(pool);
}

void pool_say(const struct strata_pool *pool, const struct strata_pool_event *event)
{
	if (pool->conf.told)
		pool->conf.told(pool->conf.told_context, event);
}

void pool_ask(struct strata_pool *pool, int64_t now_ns)
{
	if (now_ns <= pool->now_ns)
		return;
	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_CLOCK,
						    .now_ns = now_ns });
	pool_tick(pool, now_ns);
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
	const uint64_t *tasks = pool->metrics.tasks;

	return tasks[STRATA_TASK_PENDING] + tasks[STRATA_TASK_ENCODING] +
		       tasks[STRATA_TASK_DENOISING] + tasks[STRATA_TASK_DECODING] ==
	       0;
}

void strata_pool_metrics(const struct strata_pool *pool, struct strata_pool_metrics *ret_metrics)
{
	*ret_metrics = pool->metrics;
	ret_metrics->workers = pool->workers.count;
	ret_metrics->decisions = pool->decision;
	ret_metrics->pending_cost_ns = (int64_t)pool->line.sum;
}
