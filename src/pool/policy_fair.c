/*
 * fair: users get equal service, measured in cost and not in tasks. Each has a virtual time that a
 * charge moves on by cost / weight; next is the user whose virtual time is smallest, first among
 * accounts, then among the users of the account (core/share.h). While two of them have tasks in
 * line all the time,
 *
 *	|Si / wi − Sj / wj| ≤ largest charge to i / wi + largest charge to j / wj
 *
 * for what they were charged; batches add at most `lead` to that. Who comes back after a pause
 * starts with the others: nothing piles up.
 *
 * What is charged: a task's estimate when it starts, so that a user cannot start ten before the
 * first is paid for; then, as steps are measured, what they cost beyond it; and when it ends having
 * cost less, the rest is credited to what the user starts next. `charge=start` leaves it at the
 * estimate and starts users as virtual token counters do, which is how others have simulated it.
 *
 * Quotas: how many tasks of a user run and wait at a time, and what they may cost in a window of
 * time. Who has reached one is passed over and loses no claim.
 */
#include "pool/policy_fair.h"

#include <string.h>

enum { SEEK_MAX = 64 }; /* users asked for a task that fits */
enum { CHARGE_MEASURED, CHARGE_START };
enum { LIFT_AUTO, LIFT_BEGAN, LIFT_LEAST };
enum { WITHIN_ARRIVAL, WITHIN_SHORTEST, WITHIN_PRIORITY };

static const struct strata_choice charges[] = {
	{ "measured", CHARGE_MEASURED, "the estimate at the start, then what was measured" },
	{ "start", CHARGE_START, "the estimate at the start and no more" },
	{ 0 }
};
static const struct strata_choice lifts[] = {
	{ "auto", LIFT_AUTO, "least when charged at the start only, else began" },
	{ "began", LIFT_BEGAN, "where the last service began" },
	{ "least", LIFT_LEAST, "at the least of those who wait" },
	{ 0 }
};
static const struct strata_choice withins[] = {
	{ "arrival", WITHIN_ARRIVAL, "as they came" },
	{ "shortest", WITHIN_SHORTEST, "the least remaining cost first" },
	{ "priority", WITHIN_PRIORITY, "the higher priority first" },
	{ 0 }
};
static const struct strata_option user_item = { .type = STRATA_TEXT };

static const struct strata_option fair_options[] = {
	{ "charge", STRATA_ENUM, offsetof(struct fair_conf, charge), .choice = { charges, 0 },
	  .help = "what counts as a user's service" },
	{ "lift", STRATA_ENUM, offsetof(struct fair_conf, lift), .choice = { lifts, 0 },
	  .help = "where a user starts who begins to wait" },
	{ "within", STRATA_ENUM, offsetof(struct fair_conf, within), .choice = { withins, 0 },
	  .help = "order of each user's own tasks" },
	{ "max_running", STRATA_INT, offsetof(struct fair_conf, running_max),
	  .integer = { 0, 0, UINT32_MAX }, .help = "tasks of a user with workers (0: any)" },
	{ "max_queued", STRATA_INT, offsetof(struct fair_conf, queued_max),
	  .integer = { 0, 0, UINT32_MAX }, .help = "tasks of a user in line (0: any)" },
	{ "max_cost", STRATA_DURATION, offsetof(struct fair_conf, cost_ns_max),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "cost of a user's tasks within a window (0s: any)" },
	{ "window", STRATA_DURATION, offsetof(struct fair_conf, window_ns),
	  .integer = { STRATA_HOUR_NS, STRATA_SECOND_NS, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "that window, from a user's first use on" },
	{ "quantum", STRATA_DURATION, offsetof(struct fair_conf, quantum_ns),
	  .integer = { 10 * STRATA_SECOND_NS, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "with preemption: a user so far ahead gives way at a step boundary" },
	{ "lead", STRATA_DURATION, offsetof(struct fair_conf, lead_ns),
	  .integer = { STRATA_MINUTE_NS, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "how far ahead a user may be whose task joins another's batch" },
	{ "users", STRATA_LIST, offsetof(struct fair_conf, users), .list = { .item = &user_item },
	  .help = "only these may add tasks; everybody when empty" },
	{ 0 }
};

/* ---- made and freed ---- */

static struct user *user_in_window(const struct heap_node *node)
{
	return container_of((struct heap_node *)node, struct user, turn);
}

static int fair_open(struct strata_pool *pool, struct strata_error *err)
{
	struct fair *fair = strata_memory_get(pool->memory, sizeof(*fair));

	if (!fair)
		return strata_fail_memory(err);
	int rc = share_new(pool->memory, 0, &fair->share, err);

	if (rc) {
		strata_memory_put(pool->memory, fair, sizeof(*fair));
		return rc;
	}
	bool least = fair_conf_of(pool)->lift == LIFT_LEAST ||
		     (fair_conf_of(pool)->lift == LIFT_AUTO &&
		      fair_conf_of(pool)->charge == CHARGE_START);

	share_set_lift(fair->share, least ? SHARE_LIFT_LEAST : SHARE_LIFT_BEGAN);
	heap_init(&fair->windows, pool->memory, NULL, NULL);
	pool->state = fair;
	return 0;
}

static void fair_close(struct strata_pool *pool)
{
	struct fair *fair = pool->state;

	for (const struct map_text_entry *at = NULL; (at = map_text_next(&pool->accounts, at));)
		strata_memory_put(pool->memory, at->value, sizeof(struct account));
	heap_fini(&fair->windows);
	share_free(fair->share);
	strata_memory_put(pool->memory, fair, sizeof(*fair));
}

/* ---- in line ---- */

/* The user begins to wait. What was credited is lost as far as the share has lifted it anyway. */
static void begin_to_wait(struct strata_pool *pool, struct user *user)
{
	struct fair *fair = pool->state;
	double before = share_virtual_time(fair->share, user->leaf);

	share_activate(fair->share, user->leaf, NULL);
	user->credit -= (share_virtual_time(fair->share, user->leaf) - before) * user->weight;
	if (user->credit < 0)
		user->credit = 0;
}

/* After the user's line has changed. */
static void update(struct strata_pool *pool, struct user *user)
{
	struct fair *fair = pool->state;

	fair_update_fluid(pool, user);
	if (user->pending > 0) {
		user->head_serial = line_first_of(pool, &pool->line, user->number)->serial;
		share_set_rank(fair->share, user->leaf, user->head_serial, NULL);
	}
	fair_settle(pool, user);
}

static void fair_enter(struct strata_pool *pool, struct task *task)
{
	struct user *user = user_of(pool, task);
	bool behind = fair_conf_of(pool)->within == WITHIN_ARRIVAL && user->pending > 1 &&
		      task->serial > user->head_serial;

	if (user->pending == 1)
		begin_to_wait(pool, user);
	if (behind)
		fair_update_fluid(pool, user); /* who is its first has not changed */
	else
		update(pool, user);
}

static void fair_leave(struct strata_pool *pool, struct task *task)
{
	update(pool, user_of(pool, task));
}

/* ---- charging ---- */

static void charge(struct strata_pool *pool, struct task *task, double cost_ns)
{
	struct fair *fair = pool->state;
	struct user *user = user_of(pool, task);
	double amount = cost_ns / (double)task->weight;
	double covered = amount < user->credit ? amount : user->credit;

	user->credit -= covered;
	share_charge(fair->share, user->leaf, amount - covered, pool->now_ns, NULL);
}

static void fair_start(struct strata_pool *pool, struct task *task)
{
	if (task->flags & TASK_CHARGED) {
		charge(pool, task, 0); /* it is its user's turn, paid for already */
		return;
	}
	task->flags |= TASK_CHARGED;
	charge(pool, task, (double)task->cost_ns);
}

static void fair_charge(struct strata_pool *pool, struct user *user, int64_t cost_ns)
{
	struct fair *fair = pool->state;

	share_charge(fair->share, user->leaf, (double)cost_ns, pool->now_ns, NULL);
}

/* The window that the user is in; a new one begins with the first use after the last ended. */
static void spend_in_window(struct strata_pool *pool, struct user *user, int64_t cost_ns)
{
	struct fair *fair = pool->state;

	if (user->quota.cost_ns_max == 0 && !(user->quota.has & STRATA_QUOTA_COST))
		return;
	if (user->window_ns == INT64_MIN ||
	    pool->now_ns - user->window_ns >= fair_conf_of(pool)->window_ns) {
		user->window_ns = pool->now_ns;
		user->window_used_ns = 0;
	}
	user->window_used_ns += cost_ns;
	if (!heap_node_in(&user->turn)) /* there is room for all */
		heap_push(&fair->windows, &user->turn,
			  heap_key_time(user->window_ns + fair_conf_of(pool)->window_ns));
}

static void fair_spend(struct strata_pool *pool, struct task *task, int64_t cost_ns)
{
	struct user *user = user_of(pool, task);
	int64_t before_ns = task->used_ns - cost_ns, paid_ns = task->cost_ns;

	if (fair_conf_of(pool)->charge == CHARGE_MEASURED && task->used_ns > paid_ns)
		charge(pool, task,
		       (double)(task->used_ns - (before_ns > paid_ns ? before_ns : paid_ns)));
	spend_in_window(pool, user, cost_ns);
	fair_settle(pool, user);
}

static void fair_stop(struct strata_pool *pool, struct task *task)
{
	fair_settle(pool, user_of(pool, task)); /* one less is running */
}

static void fair_end(struct strata_pool *pool, struct task *task)
{
	if (fair_conf_of(pool)->charge == CHARGE_MEASURED && (task->flags & TASK_CHARGED) &&
	    task->used_ns < task->cost_ns)
		user_of(pool, task)->credit += (double)(task->cost_ns - task->used_ns) /
					       (double)task->weight;
}

static void fair_tick(struct strata_pool *pool)
{
	struct fair *fair = pool->state;
	struct heap_node *top;

	while ((top = heap_top(&fair->windows)) &&
	       heap_key(&fair->windows, top) <= heap_key_time(pool->now_ns)) {
		struct user *user = user_in_window(heap_pop(&fair->windows));

		user->window_ns = INT64_MIN;
		user->window_used_ns = 0;
		fair_settle(pool, user);
	}
}

static int64_t fair_next_ns(const struct strata_pool *pool)
{
	const struct fair *fair = pool->state;
	const struct heap_node *top = heap_top(&fair->windows);

	if (!top || fair->parked[STRATA_WAIT_COST] == 0)
		return INT64_MAX;
	return user_in_window(top)->window_ns + fair_conf_of(pool)->window_ns;
}

/* ---- choosing ---- */

static uint32_t fair_group(const struct strata_pool *pool, const struct task *task)
{
	(void)pool;
	return task->user;
}

static int64_t fair_key(const void *conf_any, const struct strata_policy_task *task)
{
	const struct fair_conf *conf = conf_any;

	if (conf->within == WITHIN_SHORTEST)
		return task->left_ns;
	return conf->within == WITHIN_PRIORITY ? -task->priority : 0;
}

static struct task *fair_front(const struct strata_pool *pool, enum strata_wait *ret_wait)
{
	const struct fair *fair = pool->state;
	uint64_t leaf = share_pick(fair->share);

	*ret_wait = STRATA_WAIT_NONE;
	if (leaf) {
		const struct user *user = share_owner(fair->share, leaf);

		return line_first_of(pool, &pool->line, user->number);
	}
	*ret_wait = fair->parked[STRATA_WAIT_RUNNING] ? STRATA_WAIT_RUNNING : STRATA_WAIT_COST;
	return NULL;
}

/* The first task of the next users that fits. Users are parked while they are asked, which costs
 * them nothing. */
static struct task *fair_seek(struct strata_pool *pool, const struct fit *fit)
{
	struct fair *fair = pool->state;
	uint64_t asked[SEEK_MAX], leaf;
	struct task *found = NULL;
	uint32_t count = 0;

	while (!found && count < SEEK_MAX && (leaf = share_pick(fair->share))) {
		const struct user *user = share_owner(fair->share, leaf);
		struct task *task = line_first_of(pool, &pool->line, user->number);

		asked[count++] = leaf;
		share_park(fair->share, leaf, NULL);
		if (pick_fits(fit, task))
			found = task;
	}
	while (count > 0)
		share_activate(fair->share, asked[--count], NULL);
	return found;
}

/* How far the user of one task is ahead of the other's, where their ways part. */
static double lead(const struct strata_pool *pool, const struct task *task,
		   const struct task *other)
{
	const struct fair *fair = pool->state;
	uint64_t a = user_of(pool, task)->leaf, b = user_of(pool, other)->leaf;

	if (a == b)
		return 0;
	if (share_parent(fair->share, a) != share_parent(fair->share, b)) {
		uint64_t root = share_root(fair->share);

		a = share_parent(fair->share, a) == root ? a : share_parent(fair->share, a);
		b = share_parent(fair->share, b) == root ? b : share_parent(fair->share, b);
	}
	return share_virtual_time(fair->share, a) - share_virtual_time(fair->share, b);
}

static bool fair_joins(const struct strata_pool *pool, const struct task *first,
		       const struct task *mate)
{
	return lead(pool, mate, first) <= (double)fair_conf_of(pool)->lead_ns;
}

static bool fair_yields(const struct strata_pool *pool, const struct task *held,
			const struct task *front)
{
	return lead(pool, held, front) > (double)fair_conf_of(pool)->quantum_ns;
}

static enum strata_wait fair_blocked(const struct strata_pool *pool, const struct task *task,
				     int64_t *ret_until_ns)
{
	const struct user *user = user_of(pool, task);

	*ret_until_ns = user->parked == STRATA_WAIT_COST
				? user->window_ns + fair_conf_of(pool)->window_ns
				: INT64_MAX;
	return user->parked;
}

/* ---- answers ---- */

/*
 * As if all were served side by side: when the user has had the work before its task, the others of
 * the account have had as much by weight, and the other accounts as much as this one. Real service
 * goes task by task, so each of the others may be a task or two off.
 */
static void fair_estimate(const struct strata_pool *pool, const struct task *task,
			  struct strata_position *ret_position, int64_t *ret_work_ns)
{
	const struct fair *fair = pool->state;
	const struct user *user = user_of(pool, task);
	const struct account *account = fair_account(pool, user->account);
	const struct fluid *fluid = account ? &account->fluid : &fair->fluid;
	uint64_t own;
	int64_t own_ns;

	line_own(pool, task, &own, &own_ns);
	struct fluid_sum sum = fluid_served(fluid, (double)own_ns / user->weight, &user->member);
	double tasks = (double)own + sum.tasks, work = (double)own_ns + sum.work;
	double error = sum.error + 2 * (double)(fluid->members - 1);

	if (account) { /* an error within the account is one of its service, and that of others with it */
		const struct fluid_member *member = &account->member;
		double mean = (double)pool->line.sum / (double)pool->line.count;
		struct fluid_sum more =
			fluid_served(&fair->fluid, (work + error * mean) / member->weight, member);

		sum = fluid_served(&fair->fluid, work / member->weight, member);
		tasks += sum.tasks;
		work += sum.work;
		error += more.tasks - sum.tasks + sum.error + 2 * (double)(fair->fluid.members - 1);
	}
	ret_position->ahead = (uint64_t)tasks;
	ret_position->error = error < (double)pool->line.count ? (uint64_t)error : pool->line.count;
	*ret_work_ns = (int64_t)work;
}

static double fair_virtual_time(const struct strata_pool *pool, const struct user *user)
{
	const struct fair *fair = pool->state;

	return share_virtual_time(fair->share, user->leaf);
}

static uint64_t fair_digest(const struct strata_pool *pool, uint64_t hash)
{
	const struct user *user;
	uint64_t bits[2];

	for (uint64_t at = 0; (user = slab_next(&pool->users, at, &at));) {
		double now = fair_virtual_time(pool, user);

		memcpy(&bits[0], &now, sizeof(now));
		memcpy(&bits[1], &user->credit, sizeof(user->credit));
		hash = (hash ^ bits[0]) * 0x9E3779B97F4A7C15u;
		hash = (hash ^ hash >> 29 ^ bits[1]) * 0x9E3779B97F4A7C15u;
		hash ^= hash >> 29 ^ user->parked;
	}
	return hash;
}

static const struct policy_hooks fair_hooks = {
	.columns = RANKED_WEIGHTS,
	.open = fair_open,
	.close = fair_close,
	.meet = fair_meet,
	.admit = fair_admit,
	.group = fair_group,
	.enter = fair_enter,
	.leave = fair_leave,
	.start = fair_start,
	.spend = fair_spend,
	.stop = fair_stop,
	.end = fair_end,
	.front = fair_front,
	.seek = fair_seek,
	.joins = fair_joins,
	.yields = fair_yields,
	.estimate = fair_estimate,
	.blocked = fair_blocked,
	.tick = fair_tick,
	.charge = fair_charge,
	.next_ns = fair_next_ns,
	.digest = fair_digest,
	.set_account = fair_set_account,
	.set_user = fair_set_user,
	.virtual_time = fair_virtual_time,
};

const struct strata_policy_class strata_policy_fair = {
	.base = {
		.name = "fair",
		.summary = "users get equal service by cost, with weights, accounts and quotas",
		.conf_size = sizeof(struct fair_conf),
		.options = fair_options,
	},
	.key = fair_key,
	.hooks = &fair_hooks,
};
