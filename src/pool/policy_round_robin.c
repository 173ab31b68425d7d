/*
 * round_robin: users take turns, whatever their tasks cost. Next is the user who was served longest
 * ago, one never served before all others, and of equal ones the one whose oldest task came first;
 * each user's own tasks go as they came. So while two users have tasks in line, the numbers of
 * tasks started for them differ by at most one.
 */
#include "pool/pool_int.h"

#include "core/container.h"

#include <errno.h>

enum { SEEK_MAX = 64 }; /* users asked for a task that fits */

struct round_robin {
	struct heap turns; /* users with tasks in line */
	uint64_t turn;     /* of the last one served */
	struct fluid fluid;
};

static struct user *user_at_turn(const struct heap_node *node)
{
	return container_of((struct heap_node *)node, struct user, turn);
}

static int by_head(const struct heap_node *a, const struct heap_node *b, void *context)
{
	(void)context;
	return user_at_turn(a)->head_serial < user_at_turn(b)->head_serial ? -1 : 1;
}

static int round_robin_open(struct strata_pool *pool, struct strata_error *err)
{
	struct round_robin *state = strata_memory_get(pool->memory, sizeof(*state));

	if (!state)
		return strata_fail_memory(err);
	heap_init(&state->turns, pool->memory, by_head, NULL);
	pool->state = state;
	return 0;
}

static void round_robin_close(struct strata_pool *pool)
{
	struct round_robin *state = pool->state;

	heap_fini(&state->turns);
	strata_memory_put(pool->memory, state, sizeof(*state));
}

static int round_robin_meet(struct strata_pool *pool, struct user *user, struct strata_error *err)
{
	struct round_robin *state = pool->state;

	(void)user;
	return heap_reserve(&state->turns, pool->users.count) ? strata_fail_memory(err) : 0;
}

static uint32_t round_robin_group(const struct strata_pool *pool, const struct task *task)
{
	(void)pool;
	return task->user;
}

/* After its line has changed. */
static void update(struct strata_pool *pool, struct user *user)
{
	struct round_robin *state = pool->state;
	double tasks = (double)user->pending;

	fluid_change(&state->fluid, &user->member, (struct fluid_member){ tasks, tasks, 1 });
	if (user->pending == 0) {
		heap_remove(&state->turns, &user->turn);
		return;
	}
	user->head_serial = line_first_of(pool, &pool->line, user->number)->serial;
	if (heap_node_in(&user->turn))
		heap_update(&state->turns, &user->turn, user->served);
	else
		heap_push(&state->turns, &user->turn, user->served); /* there is room for all */
}

static void round_robin_change(struct strata_pool *pool, struct task *task)
{
	update(pool, user_of(pool, task));
}

static void round_robin_start(struct strata_pool *pool, struct task *task)
{
	struct round_robin *state = pool->state;

	user_of(pool, task)->served = ++state->turn;
}

static struct task *round_robin_front(const struct strata_pool *pool, enum strata_wait *ret_wait)
{
	const struct round_robin *state = pool->state;
	const struct user *user = user_at_turn(heap_top(&state->turns));

	*ret_wait = STRATA_WAIT_NONE;
	return line_first_of(pool, &pool->line, user->number);
}

/* The first task of the next users that fits. */
static struct task *round_robin_seek(struct strata_pool *pool, const struct fit *fit)
{
	struct round_robin *state = pool->state;
	struct user *asked[SEEK_MAX];
	struct task *found = NULL;
	uint32_t count = 0;

	while (!found && count < SEEK_MAX && heap_top(&state->turns)) {
		struct user *user = user_at_turn(heap_pop(&state->turns));
		struct task *task = line_first_of(pool, &pool->line, user->number);

		asked[count++] = user;
		if (pick_fits(fit, task))
			found = task;
	}
	while (count > 0) {
		struct user *user = asked[--count];

		heap_push(&state->turns, &user->turn, user->served);
	}
	return found;
}

static void round_robin_estimate(const struct strata_pool *pool, const struct task *task,
				 struct strata_position *ret_position, int64_t *ret_work_ns)
{
	const struct round_robin *state = pool->state;
	uint64_t own;
	int64_t work_ns;

	line_own(pool, task, &own, &work_ns);
	struct fluid_sum others =
		fluid_served(&state->fluid, (double)own, &user_of(pool, task)->member);

	ret_position->ahead = own + (uint64_t)others.tasks;
	/* Each of the others is a turn before or behind. */
	ret_position->error = state->turns.count - 1 + (uint64_t)others.error;
	*ret_work_ns = work_ns +
		       (int64_t)(others.tasks * (double)pool->line.sum / (double)pool->line.count);
}

static const struct policy_hooks round_robin_hooks = {
	.columns = RANKED_WEIGHTS,
	.open = round_robin_open,
	.close = round_robin_close,
	.meet = round_robin_meet,
	.group = round_robin_group,
	.enter = round_robin_change,
	.leave = round_robin_change,
	.start = round_robin_start,
	.front = round_robin_front,
	.seek = round_robin_seek,
	.estimate = round_robin_estimate,
};

const struct strata_policy_class strata_policy_round_robin = {
	.base = {
		.name = "round_robin",
		.aliases = "rr",
		.summary = "users take turns, one task each",
	},
	.hooks = &round_robin_hooks,
};
