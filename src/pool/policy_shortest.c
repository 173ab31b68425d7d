/*
 * shortest: the least remaining cost first, which makes the mean response least and lets the long
 * ones starve. Two orders keep them from it. A task that has waited `bound` times its own cost is
 * overdue; while one is, a part of the service (`reserve`) goes to the overdue, the one that became
 * so first before the others. So
 *
 *	a task of cost c starts at the latest bound · c + (work that became overdue before it,
 *	with what runs) / (reserve · workers)
 *	after it came
 *
 * while the short ones lose no more than that part: under overload, where everything is overdue, it
 * does not turn into fifo as a fixed cap on waiting does. A balance says whose turn it is: what the
 * overdue got is taken from it, their part of all else is added.
 */
#include "pool/pool_int.h"

#include "core/container.h"

#include <errno.h>
#include <string.h>

struct shortest_conf {
	double bound, reserve;
};

struct shortest {
	struct heap due; /* all that wait, by when they are overdue */
	double balance;  /* ns of service the overdue have coming; below 0: have had too much */
};

/* 10 and 7 %: on the public trace of a diffusion service (gentd26, 4 workers, loads of 0.3 to 0.9)
 * the mean response stays within 8 % of the unbounded order's and the longest wait falls by 5 to 27
 * %. A larger bound or a smaller reserve gives less of both. */
static const struct strata_option shortest_options[] = {
	{ "bound", STRATA_REAL, offsetof(struct shortest_conf, bound), .real = { 10, 0, 1e6 },
	  .help = "a task is overdue when it has waited so many times its cost (0: never)" },
	{ "reserve", STRATA_REAL, offsetof(struct shortest_conf, reserve), .real = { 0.07, 0, 1 },
	  .help = "part of the service that overdue tasks get" },
	{ 0 }
};

static const struct shortest_conf *conf_of(const struct strata_pool *pool)
{
	return pool_policy_conf(pool);
}

static bool bounded(const struct strata_pool *pool)
{
	return conf_of(pool)->bound > 0 && conf_of(pool)->reserve > 0;
}

static struct task *task_of(const struct heap_node *node)
{
	return container_of((struct heap_node *)node, struct task, due);
}

static int by_serial(const struct heap_node *a, const struct heap_node *b, void *context)
{
	(void)context;
	return task_of(a)->serial < task_of(b)->serial ? -1 : 1;
}

static int shortest_open(struct strata_pool *pool, struct strata_error *err)
{
	struct shortest *state = strata_memory_get(pool->memory, sizeof(*state));

	if (!state)
		return strata_fail_memory(err);
	heap_init(&state->due, pool->memory, by_serial, NULL);
	pool->state = state;
	return 0;
}

static void shortest_close(struct strata_pool *pool)
{
	struct shortest *state = pool->state;

	heap_fini(&state->due);
	strata_memory_put(pool->memory, state, sizeof(*state));
}

static int shortest_reserve(struct strata_pool *pool, size_t count)
{
	struct shortest *state = pool->state;

	return bounded(pool) ? heap_reserve(&state->due, count) : 0;
}

/* When a task is overdue. */
static int64_t due_ns(const struct strata_pool *pool, const struct task *task)
{
	double wait_ns = conf_of(pool)->bound * (double)task->cost_ns;

	return wait_ns < 0x1p61 && task->added_ns < INT64_MAX / 2
		       ? task->added_ns + (int64_t)wait_ns
		       : INT64_MAX;
}

static void shortest_enter(struct strata_pool *pool, struct task *task)
{
	struct shortest *state = pool->state;

	if (bounded(pool)) /* cannot fail: there is room */
		heap_push(&state->due, &task->due, heap_key_time(due_ns(pool, task)));
}

static void shortest_leave(struct strata_pool *pool, struct task *task)
{
	struct shortest *state = pool->state;

	if (bounded(pool))
		heap_remove(&state->due, &task->due);
}

/* The task that is overdue the longest, if one is. */
static struct task *overdue(const struct strata_pool *pool)
{
	const struct shortest *state = pool->state;
	struct heap_node *top = bounded(pool) ? heap_top(&state->due) : NULL;

	return top && due_ns(pool, task_of(top)) <= pool->now_ns ? task_of(top) : NULL;
}

/* Whether an overdue task goes before the shortest, which it is not. */
static bool is_owed(const struct strata_pool *pool, const struct task *late)
{
	const struct shortest *state = pool->state;

	return late && state->balance >= 0 && late != line_task(pool, ranked_first(&pool->line));
}

static struct task *shortest_front(const struct strata_pool *pool, enum strata_wait *ret_wait)
{
	struct task *late = overdue(pool);

	*ret_wait = STRATA_WAIT_NONE;
	return is_owed(pool, late) ? late : line_task(pool, ranked_first(&pool->line));
}

static void shortest_start(struct strata_pool *pool, struct task *task)
{
	struct shortest *state = pool->state;
	const struct task *late = overdue(pool);
	double part = conf_of(pool)->reserve, cost = (double)task_left_ns(task);

	if (task == late && is_owed(pool, late)) {
		state->balance -= cost * (1 - part);
		return;
	}
	state->balance += cost * part;
	if (!late && state->balance > 0)
		state->balance = 0; /* nothing piles up while nobody is overdue */
}

static int64_t shortest_key(const void *conf, const struct strata_policy_task *task)
{
	(void)conf;
	return task->left_ns;
}

/* Its place by cost. Others may go before it that are overdue, in the proportion of the reserve;
 * and it may go earlier itself if it will be overdue before its turn. */
static void shortest_estimate(const struct strata_pool *pool, const struct task *task,
			      struct strata_position *ret_position, int64_t *ret_work_ns)
{
	double part = conf_of(pool)->reserve;

	ret_position->ahead = line_ahead(pool, task, ret_work_ns);
	ret_position->error = 0;
	if (!bounded(pool))
		return;
	uint64_t behind = pool->line.count - ret_position->ahead - 1;
	double others = part < 1 ? (double)ret_position->ahead * part / (1 - part) + 1
				 : (double)behind;
	int64_t workers = pool->workers.count ? pool->workers.count : 1;
	int64_t start_ns = pool->now_ns + (line_running_ns(pool) + *ret_work_ns) / workers;

	ret_position->error = others < (double)behind ? (uint64_t)others : behind;
	if (due_ns(pool, task) <= start_ns && ret_position->error < ret_position->ahead)
		ret_position->error = ret_position->ahead;
}

static uint64_t shortest_digest(const struct strata_pool *pool, uint64_t hash)
{
	const struct shortest *state = pool->state;
	uint64_t bits;

	memcpy(&bits, &state->balance, sizeof(bits));
	return (hash ^ bits) * 0x9E3779B97F4A7C15u;
}

static const struct policy_hooks shortest_hooks = {
	.columns = RANKED_WEIGHTS,
	.open = shortest_open,
	.close = shortest_close,
	.reserve = shortest_reserve,
	.enter = shortest_enter,
	.leave = shortest_leave,
	.start = shortest_start,
	.front = shortest_front,
	.estimate = shortest_estimate,
	.digest = shortest_digest,
};

const struct strata_policy_class strata_policy_shortest = {
	.base = {
		.name = "shortest",
		.aliases = "sjf, shortest_first, srpt",
		.summary = "the least remaining cost first, and what waits too long for its size",
		.conf_size = sizeof(struct shortest_conf),
		.options = shortest_options,
	},
	.key = shortest_key,
	.hooks = &shortest_hooks,
};
