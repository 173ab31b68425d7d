/*
 * deadline: the earliest deadline first, those without one behind all others, and a promise: a task
 * is taken only if it and everybody promised before will be on time. With W workers, R the work
 * that runs now and P the work in line before a task of cost c, it starts at the latest (R + P) / W
 * from now, since until then all workers are busy with just that. So
 *
 *	now + (R + P) / W + c ≤ deadline
 *
 * is asked of the new task, and of all behind its place with its cost added to their P; the line
 * keeps the least slack behind every place, which makes that one question. Tasks that were admitted
 * are on time when costs are as estimated, every worker does one task at a time and W of them stay.
 */
#include "pool/pool_int.h"

#include <errno.h>

struct deadline_conf {
	int64_t workers;
	bool admission;
};

struct deadline {
	int64_t base_ns; /* limits count from here, so that they stay small */
	bool based;
};

#define NO_LIMIT (INT64_MAX / 4)

static const struct strata_option deadline_options[] = {
	{ "workers", STRATA_INT, offsetof(struct deadline_conf, workers), .integer = { 1, 1, 1024 },
	  .help = "workers that promises count on" },
	{ "admission", STRATA_BOOL, offsetof(struct deadline_conf, admission), .boolean = true,
	  .help = "refuse what cannot be on time" },
	{ 0 }
};

static const struct deadline_conf *conf_of(const struct strata_pool *pool)
{
	return pool_policy_conf(pool);
}

static int deadline_open(struct strata_pool *pool, struct strata_error *err)
{
	pool->state = strata_memory_get(pool->memory, sizeof(struct deadline));
	return pool->state ? 0 : strata_fail_memory(err);
}

static void deadline_close(struct strata_pool *pool)
{
	strata_memory_put(pool->memory, pool->state, sizeof(struct deadline));
}

static int64_t deadline_key(const void *conf, const struct strata_policy_task *task)
{
	(void)conf;
	return task->deadline_ns != STRATA_TIME_NONE ? task->deadline_ns : INT64_MAX;
}

static int64_t base_ns(const struct strata_pool *pool)
{
	struct deadline *state = pool->state;

	if (!state->based) {
		state->base_ns = pool->now_ns;
		state->based = true;
	}
	return state->base_ns;
}

/* W times a moment, counted from the base. */
static int128 scaled(const struct strata_pool *pool, int64_t time_ns)
{
	return ((int128)time_ns - base_ns(pool)) * conf_of(pool)->workers;
}

/* W · (latest start): what must not be passed by the work ahead and W · now. */
static int64_t limit_of(const struct strata_pool *pool, int64_t deadline_ns, int64_t cost_ns)
{
	int128 limit = deadline_ns != STRATA_TIME_NONE ? scaled(pool, deadline_ns - cost_ns)
						       : NO_LIMIT;

	if (limit > NO_LIMIT)
		return NO_LIMIT;
	return limit < -NO_LIMIT ? -NO_LIMIT : (int64_t)limit;
}

static int64_t deadline_limit(const struct strata_pool *pool, const struct task *task)
{
	return limit_of(pool, task->deadline_ns, task_left_ns(task));
}

/* Would a task of this cost and deadline be on time, and all that were promised before? */
static bool admissible(const struct strata_pool *pool, int64_t deadline_ns, int64_t cost_ns)
{
	struct ranked_key key = { .key = (uint64_t)(deadline_ns != STRATA_TIME_NONE ? deadline_ns
										    : INT64_MAX) ^
					 1ull << 63,
				  .serial = UINT64_MAX };
	int128 spent = scaled(pool, pool->now_ns) + line_running_ns(pool);
	uint64_t ahead_ns;

	ranked_rank(&pool->line, &key, &ahead_ns);
	if ((int128)limit_of(pool, deadline_ns, cost_ns) - (int64_t)ahead_ns < spent &&
	    deadline_ns != STRATA_TIME_NONE)
		return false;
	int64_t slack = ranked_slack(&pool->line, &key);

	return slack == INT64_MAX || (int128)slack - cost_ns >= spent;
}

/* Halving between a time that is too early and one that will do. Admissible times may have gaps;
 * what is found is one of them. */
static int64_t deadline_earliest(struct strata_pool *pool, int64_t cost_ns)
{
	struct ranked_key none = { .key = UINT64_MAX };
	size_t promised = ranked_rank(&pool->line, &none, NULL);
	int64_t low = pool->now_ns,
		high = low + cost_ns +
		       (line_running_ns(pool) + (int64_t)pool->line.sum) / conf_of(pool)->workers;

	if (promised > 0) {
		const struct task *last =
			line_task(pool, ranked_at(ranked_select(&pool->line, promised - 1)));

		high = last->deadline_ns > high ? last->deadline_ns : high;
	}
	while (low + 1 < high) {
		int64_t middle = low + (high - low) / 2;

		if (admissible(pool, middle, cost_ns))
			high = middle;
		else
			low = middle;
	}
	return high;
}

static int deadline_admit(struct strata_pool *pool, struct user *user, const struct task *task,
			  struct strata_error *err)
{
	char now[STRATA_FORM_BYTES];

	(void)user;
	if (!conf_of(pool)->admission || task->deadline_ns == STRATA_TIME_NONE ||
	    admissible(pool, task->deadline_ns, task->cost_ns))
		return 0;
	int64_t earliest_ns = deadline_earliest(pool, task->cost_ns);

	return strata_fail_at(err, -ETIME, "deadline",
			      "it cannot be on time; the earliest possible is %s from now",
			      strata_duration_print_short(earliest_ns - pool->now_ns, now));
}

static const struct policy_hooks deadline_hooks = {
	.columns = RANKED_LIMITS,
	.open = deadline_open,
	.close = deadline_close,
	.admit = deadline_admit,
	.limit = deadline_limit,
	.earliest = deadline_earliest,
};

const struct strata_policy_class strata_policy_deadline = {
	.base = {
		.name = "deadline",
		.aliases = "edf",
		.summary = "the earliest deadline first; what cannot be on time is refused",
		.conf_size = sizeof(struct deadline_conf),
		.options = deadline_options,
	},
	.key = deadline_key,
	.hooks = &deadline_hooks,
};
