/*
 * A decision: which tasks a worker does next. First it is chosen, by looking: what the worker has
 * and keeps, who is first in line, who of those behind goes instead because the first does not fit,
 * who joins. Then it is taken, which changes everything and decides nothing.
 */
#include "pool/pool_int.h"

#include <assert.h>
#include <errno.h>

bool pick_fits(const struct fit *fit, const struct task *task)
{
	return (int64_t)task->memory_mib <= fit->free_mib;
}

struct task *pick_front(const struct strata_pool *pool, enum strata_wait *ret_wait)
{
	*ret_wait = STRATA_WAIT_NONE;
	if (pool->line.count == 0) {
		*ret_wait = STRATA_WAIT_EMPTY;
		return NULL;
	}
	if (pool->hooks && pool->hooks->front)
		return pool->hooks->front(pool, ret_wait);
	return line_task(pool, ranked_first(&pool->line));
}

bool pick_may_pass(const struct strata_pool *pool, const struct task *front)
{
	return pool->conf.overtake_max == UINT32_MAX || front->passed < pool->conf.overtake_max;
}

/* ---- choosing ---- */

/* The next along the line that fits. */
static struct task *seek(struct strata_pool *pool, const struct fit *fit)
{
	struct ranked_place place = ranked_select(&pool->line, 0);
	const struct ranked_key *key;

	for (uint32_t i = 0; i < pool->conf.look_max && (key = ranked_at(place)); i++) {
		struct task *task = line_task(pool, key);

		if (pick_fits(fit, task))
			return task;
		place = ranked_next(place);
	}
	return NULL;
}

/* Could the worker take it if it were empty? */
static bool could_fit(const struct worker *worker, const struct task *task)
{
	return worker->memory_mib == 0 || (int64_t)task->memory_mib <= worker->memory_mib;
}

/* Whom to begin with: the first in line, or one that goes before it. */
static struct task *choose_first(struct strata_pool *pool, const struct fit *fit,
				 struct choice *choice)
{
	struct task *front = choice->front, *task = front;

	if (!front)
		return NULL;
	if (pick_fits(fit, front)) {
		if (pool->hooks && pool->hooks->prefer && pick_may_pass(pool, front))
			task = pool->hooks->prefer(pool, fit, front);
	} else if (choice->guard && !pick_may_pass(pool, front)) {
		task = NULL; /* it has been passed over often enough: the worker waits for it */
	} else {
		bool own = pool->hooks && pool->hooks->seek;

		task = own ? pool->hooks->seek(pool, fit) : seek(pool, fit);
	}
	if (!task)
		choice->wait = STRATA_WAIT_MEMORY;
	choice->passes = task && choice->guard && task != choice->guard;
	return task;
}

static bool yields(const struct strata_pool *pool, const struct task *held,
		   const struct task *front)
{
	if (pool->hooks && pool->hooks->yields)
		return pool->hooks->yields(pool, held, front);
	struct task now = *held; /* as if it got in line now */
	struct strata_policy_task view = task_for_policy(pool, held);

	now.key = pool->policy->key ? pool->policy->key(pool_policy_conf(pool), &view) : 0;
	struct ranked_key a = line_key(pool, front), b = line_key(pool, &now);

	return a.key != b.key ? a.key < b.key : a.serial < b.serial;
}

/* Of the worker's tasks the one that goes last, if the first in line goes before it. */
static struct task *last_held(const struct strata_pool *pool, const struct worker *worker,
			      const struct task *front)
{
	struct task *last = NULL;

	for (struct task *task = worker_first(pool, worker); task; task = worker_next(pool, task))
		if (task_runs(task) && yields(pool, task, front) &&
		    (!last || yields(pool, task, last)))
			last = task;
	return last;
}

static bool all_yield(const struct strata_pool *pool, const struct worker *worker,
		      const struct task *front)
{
	for (struct task *task = worker_first(pool, worker); task; task = worker_next(pool, task))
		if (task_runs(task) && !yields(pool, task, front))
			return false;
	return true;
}

/* Would it fit if so much of what the worker's tasks hold were given up? */
static bool fits_without(const struct fit *fit, const struct task *task, int64_t given_up_mib)
{
	return fit->free_mib == INT64_MAX || task->memory_mib <= fit->free_mib + given_up_mib;
}

/* Keeps the worker's own tasks but for one. */
static void keep(const struct strata_pool *pool, const struct worker *worker,
		 const struct task *without, struct choice *choice)
{
	for (struct task *task = worker_first(pool, worker); task; task = worker_next(pool, task)) {
		if (task == without || !task_runs(task))
			continue;
		assert(choice->kept < STRATA_BATCH_MAX);
		choice->tasks[choice->kept++] = task;
	}
	choice->count = choice->kept;
}

/*
 * The worker's own tasks, unless they give way to the first in line. One of their own shape joins
 * them if there is room, or takes the place of the last of them; one of another shape goes instead
 * of all of them, if the policy puts it before each.
 */
static void choose_kept(const struct strata_pool *pool, const struct fit *fit,
			struct choice *choice)
{
	const struct worker *worker = fit->worker;
	const struct task *front = choice->front, *held = worker_first(pool, worker);

	if (!held || !pool->conf.preempt || !choice->guard) {
		keep(pool, worker, NULL, choice);
		return;
	}
	if (held->shape != front->shape) {
		if (!fits_without(fit, front, worker->used_mib) || !all_yield(pool, worker, front))
			keep(pool, worker, NULL, choice);
		return;
	}
	bool full = worker->count >= shape_cap(pool, shape_of(pool, held));
	struct task *last = full ? last_held(pool, worker, front) : NULL;
	bool joins = (last || !full) && fits_without(fit, front, last ? last->memory_mib : 0);

	keep(pool, worker, joins ? last : NULL, choice);
	if (joins)
		choice->tasks[choice->count++] = choice->front;
}

/* What stays free when the kept ones stay and the others go. */
static void count_free(const struct worker *worker, const struct choice *choice, struct fit *fit)
{
	int64_t kept_mib = 0;

	if (fit->free_mib == INT64_MAX)
		return;
	for (uint32_t i = 0; i < choice->kept; i++)
		kept_mib += choice->tasks[i]->memory_mib;
	fit->free_mib += worker->used_mib - kept_mib;
}

static void choose(struct strata_pool *pool, struct fit *fit, struct choice *choice)
{
	const struct worker *worker = fit->worker;

	choice->until_ns = INT64_MAX;
	choice->front = pick_front(pool, &choice->wait);
	choice->guard = choice->front && could_fit(worker, choice->front) ? choice->front : NULL;
	choose_kept(pool, fit, choice);
	count_free(worker, choice, fit);
	if (choice->count == 0) {
		struct task *first = choose_first(pool, fit, choice);

		if (!first)
			return;
		choice->tasks[choice->count++] = first;
	}
	batch_fill(pool, fit, choice);
	choice->until_ns = batch_wait_until(pool, choice);
	if (choice->until_ns > pool->now_ns) {
		choice->wait = STRATA_WAIT_BATCH;
		choice->count = 0;
	} else {
		choice->until_ns = INT64_MAX;
		choice->wait = STRATA_WAIT_NONE;
	}
}

uint64_t strata_pool_schedule(const struct strata_pool *pool)
{
	enum strata_wait wait;
	const struct task *front = pick_front(pool, &wait);

	return front ? task_handle(pool, front) : 0;
}

/* ---- taking ---- */

static void start(struct strata_pool *pool, struct worker *worker, struct task *task)
{
	struct user *user = user_of(pool, task);
	enum strata_task_status status = STRATA_TASK_ENCODING;

	user->running++;
	if (pool->hooks && pool->hooks->start)
		pool->hooks->start(pool, task);
	line_leave(pool, task);
	if (task->steps_done > 0)
		status = task->steps_done < task->steps ? STRATA_TASK_DENOISING
							: STRATA_TASK_DECODING;
	if (!(task->flags & TASK_STARTED)) {
		task->flags |= TASK_STARTED;
		task->started_ns = pool->now_ns;
		user->started++;
		user->wait_ns_sum += pool->now_ns - task->added_ns;
	}
	task_set_status(pool, task, status);
	worker_give(pool, worker, task);
}

void pick_return(struct strata_pool *pool, struct worker *worker, struct task *task)
{
	worker_lose(pool, worker, task);
	task_set_status(pool, task, STRATA_TASK_PENDING);
	user_of(pool, task)->running--;
	if (pool->hooks && pool->hooks->stop)
		pool->hooks->stop(pool, task);
	line_enter(pool, task);
}

/* Those of the worker that are not in the batch go: back to the line, or for good if they were
 * cancelled. */
static void let_go(struct strata_pool *pool, struct worker *worker)
{
	struct task *next;

	for (struct task *task = worker_first(pool, worker); task; task = next) {
		next = worker_next(pool, task);
		if (task->flags & TASK_KEPT) {
			task->flags &= (uint8_t)~TASK_KEPT;
		} else if (task_runs(task)) {
			pick_return(pool, worker, task);
			pool->metrics.preemptions++;
		} else {
			worker_end(pool, worker, task);
		}
	}
}

void pick_take(struct strata_pool *pool, struct worker *worker, struct task *const *tasks,
	       uint32_t count, struct task *passed)
{
	uint32_t begun = 0;

	for (uint32_t i = 0; i < count; i++)
		if (tasks[i]->worker)
			tasks[i]->flags |= TASK_KEPT;
	let_go(pool, worker);
	for (uint32_t i = 0; i < count; i++) {
		if (!task_waits(tasks[i]))
			continue;
		start(pool, worker, tasks[i]);
		begun++;
	}
	if (passed) {
		uint32_t sum = passed->passed + begun;

		passed->passed = sum < UINT16_MAX ? (uint16_t)sum : UINT16_MAX;
		pool->metrics.overtakes += begun;
	}
	if (count > 1 && begun > 0)
		pool->metrics.batched += begun - (begun == count);
	worker->steps = pool->conf.steps_per_pick;
	pool->decision++;
	worker_hear(pool, worker);
	worker_count(pool, worker);
}

/* ---- the whole ---- */

static void describe(const struct strata_pool *pool, const struct choice *choice,
		     struct strata_why *why)
{
	*why = (struct strata_why){ .wait = choice->wait,
				    .until_ns = choice->until_ns,
				    .task = choice->front ? task_handle(pool, choice->front) : 0 };
	if (choice->wait == STRATA_WAIT_COST && pool->hooks->next_ns)
		why->until_ns = pool->hooks->next_ns(pool);
}

static int check_ask(const struct strata_ask *ask, const struct worker *worker,
		     struct strata_error *err)
{
	if (worker->steps > 0)
		return strata_fail(err, -EBUSY,
				   "the worker has a batch; it reports before it asks again");
	if (ask->model_count > STRATA_WORKER_MODELS_MAX)
		return strata_fail(err, -EINVAL, "%zu models; expected up to %d", ask->model_count,
				   STRATA_WORKER_MODELS_MAX);
	return 0;
}

/* What the worker says is free, or has as far as the pool knows; never beyond the policy's budget. */
static int64_t free_mib(const struct strata_pool *pool, const struct strata_ask *ask,
			const struct worker *worker)
{
	int64_t mib = worker->memory_mib ? worker->memory_mib - worker->used_mib : INT64_MAX;

	if (ask->free_bytes >= 0)
		mib = ask->free_bytes / MIB_BYTES;
	if (pool->hooks && pool->hooks->budget_mib) {
		int64_t budget_mib = pool->hooks->budget_mib(pool) - worker->used_mib;

		mib = budget_mib < mib ? budget_mib : mib;
	}
	return mib;
}

/* The choice as data. */
static void fill_batch(const struct strata_pool *pool, const struct choice *choice,
		       const struct worker *worker, struct strata_batch *ret_batch)
{
	*ret_batch = (struct strata_batch){ .number = pool->decision,
					    .now_ns = pool->now_ns,
					    .worker = worker->handle,
					    .until_ns = INT64_MAX };
	if (choice->count == 0) {
		ret_batch->wait = choice->wait;
		ret_batch->until_ns = choice->until_ns;
		return;
	}
	ret_batch->number = pool->decision + 1;
	ret_batch->steps = pool->conf.steps_per_pick;
	ret_batch->count = choice->count;
	if (choice->passes)
		ret_batch->passed = task_handle(pool, choice->front);
	for (uint32_t i = 0; i < choice->count; i++)
		ret_batch->tasks[i] = task_handle(pool, choice->tasks[i]);
}

void pick_nothing(struct strata_pool *pool, struct worker *worker)
{
	worker_hear(pool, worker);
	if (pool->line.count > 0)
		pool->metrics.stalls++;
	else
		pool->metrics.idle++;
}

int strata_pool_pick(struct strata_pool *pool, const struct strata_ask *ask, int64_t now_ns,
		     struct strata_batch *ret_batch, struct strata_why *ret_why,
		     struct strata_error *err)
{
	struct worker *worker = worker_at(pool, ask->worker, err);
	struct choice choice = { 0 };
	struct strata_why why;
	int rc = worker ? check_ask(ask, worker, err) : -ESTALE;

	if (rc)
		return rc;
	if (line_reserve(pool, pool->conf.batch_max))
		return strata_fail_memory(err);
	pool_tick(pool, now_ns);
	struct fit fit = { .worker = worker,
			   .free_mib = free_mib(pool, ask, worker),
			   .models = ask->models,
			   .model_count = ask->model_count };

	choose(pool, &fit, &choice);
	describe(pool, &choice, &why);
	fill_batch(pool, &choice, worker, ret_batch);
	pool->batch_until_ns = choice.until_ns;
	if (choice.count > 0) {
		pick_take(pool, worker, choice.tasks, choice.count,
			  choice.passes ? choice.front : NULL);
	} else {
		pick_nothing(pool, worker);
	}
	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_PICK,
						    .now_ns = now_ns,
						    .ask = ask,
						    .batch = ret_batch });
	if (ret_why)
		*ret_why = why;
	return 0;
}
