/*
 * resource_aware: as they came, but a worker gets the oldest task of a model it has loaded before
 * one for which it would have to load another. The first in line is overtaken at most overtake_max
 * times (see struct strata_pool_conf), so the task at place n in line starts after at most (n + 1)
 * · (overtake_max + 1) others. Tasks of one worker never need more memory together than the budget,
 * and one that needs more by itself is refused.
 */
#include "pool/pool_int.h"

#include <errno.h>

struct resource_aware_conf {
	double max_vram_gb;
};

static const struct strata_option resource_aware_options[] = {
	{ "max_vram_gb", STRATA_REAL, offsetof(struct resource_aware_conf, max_vram_gb),
	  .real = { 0, 0, 1e6 }, .unit = "GiB",
	  .help = "memory that the tasks of a worker may need together (0: what the worker has)" },
	{ 0 }
};

static int64_t resource_aware_budget_mib(const struct strata_pool *pool)
{
	const struct resource_aware_conf *conf = pool_policy_conf(pool);

	return conf->max_vram_gb > 0 ? (int64_t)(conf->max_vram_gb * 1024) : INT64_MAX / 2;
}

/* The state is the line once more, by model. */
static int resource_aware_open(struct strata_pool *pool, struct strata_error *err)
{
	struct ranked *by_model = strata_memory_get(pool->memory, sizeof(*by_model));

	if (!by_model)
		return strata_fail_memory(err);
	ranked_init(by_model, pool->memory, RANKED_KEYS);
	pool->state = by_model;
	return 0;
}

static void resource_aware_close(struct strata_pool *pool)
{
	struct ranked *by_model = pool->state;

	ranked_fini(by_model);
	strata_memory_put(pool->memory, by_model, sizeof(*by_model));
}

static int resource_aware_reserve(struct strata_pool *pool, size_t count)
{
	struct ranked *by_model = pool->state;

	return ranked_reserve(by_model, count - by_model->count);
}

static int resource_aware_admit(struct strata_pool *pool, struct user *user,
				const struct task *task, struct strata_error *err)
{
	int64_t budget_mib = resource_aware_budget_mib(pool);

	(void)user;
	if (task->memory_mib <= budget_mib)
		return 0;
	return strata_fail_at(err, -E2BIG, "memory",
			      "the task needs %u MiB; expected up to %lld, as max_vram_gb says",
			      task->memory_mib, (long long)budget_mib);
}

static struct ranked_key model_key(const struct strata_pool *pool, const struct task *task)
{
	return (struct ranked_key){ .serial = task->serial,
				    .group = shape_of(pool, task)->model_number,
				    .item = task->index };
}

static void resource_aware_enter(struct strata_pool *pool, struct task *task)
{
	struct ranked_key key = model_key(pool, task);

	ranked_insert(pool->state, &key, 0, 0); /* there is room */
}

static void resource_aware_leave(struct strata_pool *pool, struct task *task)
{
	struct ranked_key key = model_key(pool, task);

	ranked_remove(pool->state, &key);
}

static struct task *resource_aware_prefer(const struct strata_pool *pool, const struct fit *fit,
					  struct task *front)
{
	uint64_t model = shape_of(pool, front)->model;
	struct task *oldest = NULL;

	for (size_t i = 0; i < fit->model_count; i++) {
		if (fit->models[i] == model)
			return front;
		struct task *task =
			line_first_of(pool, pool->state, shape_model_number(pool, fit->models[i]));

		if (task && pick_fits(fit, task) && (!oldest || task->serial < oldest->serial))
			oldest = task;
	}
	return oldest ? oldest : front;
}

static void resource_aware_estimate(const struct strata_pool *pool, const struct task *task,
				    struct strata_position *ret_position, int64_t *ret_work_ns)
{
	uint64_t ahead = line_ahead(pool, task, ret_work_ns);
	uint64_t behind = pool->line.count - ahead - 1;
	uint64_t passes = (ahead + 1) * pool->conf.overtake_max;

	ret_position->ahead = ahead;
	ret_position->error = passes < behind ? passes : behind;
	if (ret_position->error < ahead)
		ret_position->error = ahead; /* its own model may be the loaded one */
}

static const struct policy_hooks resource_aware_hooks = {
	.columns = RANKED_WEIGHTS,
	.open = resource_aware_open,
	.close = resource_aware_close,
	.admit = resource_aware_admit,
	.reserve = resource_aware_reserve,
	.enter = resource_aware_enter,
	.leave = resource_aware_leave,
	.prefer = resource_aware_prefer,
	.estimate = resource_aware_estimate,
	.budget_mib = resource_aware_budget_mib,
};

const struct strata_policy_class strata_policy_resource_aware = {
	.base = {
		.name = "resource_aware",
		.aliases = "vram",
		.summary = "as they came, tasks of a loaded model before others, within a budget",
		.conf_size = sizeof(struct resource_aware_conf),
		.options = resource_aware_options,
	},
	.hooks = &resource_aware_hooks,
};
