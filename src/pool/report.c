/* What came of a batch: steps done, what they cost, who has finished. All rows are checked before
 * the first one counts. */
#include "pool/pool_int.h"

#include <assert.h>
#include <errno.h>

static int check_row(struct strata_pool *pool, const struct worker *worker,
		     const struct strata_done *row, struct task **ret_task,
		     struct strata_error *err)
{
	struct task *task = task_at(pool, row->task, err);

	if (!task)
		return -ESTALE;
	if (task->worker != slab_index(worker->handle) + 1)
		return strata_fail(err, -EINVAL, "task %#llx is not with this worker",
				   (unsigned long long)row->task);
	if (task->flags & TASK_REPORTED)
		return strata_fail(err, -EINVAL, "task %#llx is reported twice",
				   (unsigned long long)row->task);
	if (row->cost_ns < 0 || row->cost_ns > STRATA_TASK_COST_NS_MAX - task->used_ns)
		return strata_fail(err, -EINVAL, "the cost is %lld ns; expected 0 to a year in all",
				   (long long)row->cost_ns);
	if (row->steps > worker->steps || row->steps > task->steps - task->steps_done)
		return strata_fail(err, -EINVAL,
				   "%u steps; the batch was for %u and the task had %u left",
				   row->steps, worker->steps, task->steps - task->steps_done);
	if ((unsigned)row->kind > STRATA_DONE_BACK)
		return strata_fail(err, -EINVAL, "there is no outcome %d", (int)row->kind);
	*ret_task = task;
	return 0;
}

/* Every task of the worker's has its row; the cancelled need none. */
static int check_rows(struct strata_pool *pool, const struct worker *worker,
		      const struct strata_done *rows, size_t row_count, struct strata_error *err)
{
	struct task *task = NULL;
	int rc = 0;

	if (worker->steps == 0)
		return strata_fail(err, -EINVAL, "the worker has no batch to report");
	for (size_t i = 0; rc == 0 && i < row_count; i++) {
		rc = check_row(pool, worker, &rows[i], &task, err);
		if (rc == 0)
			task->flags |= TASK_REPORTED;
	}
	for (task = worker_first(pool, worker); task; task = worker_next(pool, task)) {
		if (rc == 0 && !(task->flags & TASK_REPORTED) && task_runs(task))
			rc = strata_fail(err, -EINVAL, "task %#llx of the batch is not reported",
					 (unsigned long long)task_handle(pool, task));
		task->flags &= (uint8_t)~TASK_REPORTED;
	}
	return rc;
}

static void spend(struct strata_pool *pool, struct task *task, const struct strata_done *row)
{
	struct user *user = user_of(pool, task);

	task->used_ns += row->cost_ns;
	task->steps_done += row->steps;
	user->used_ns += row->cost_ns;
	pool->metrics.used_ns += row->cost_ns;
	/* steps that cost nothing were done before, elsewhere: they say nothing of the shape */
	if ((row->steps > 0 && row->cost_ns > 0) ||
	    (task->steps == 0 && row->kind == STRATA_DONE_FINISHED))
		shape_measure(shape_of(pool, task), row->steps, row->cost_ns);
	if (pool->hooks && pool->hooks->spend)
		pool->hooks->spend(pool, task, row->cost_ns);
}

/* Through the statuses that lie on the way. */
static void advance(struct strata_pool *pool, struct task *task, bool finished)
{
	bool all = finished || task->steps_done == task->steps;

	if (task->status == STRATA_TASK_ENCODING && task->steps_done > 0)
		task_set_status(pool, task, STRATA_TASK_DENOISING);
	if (all && task->status != STRATA_TASK_DECODING && (finished || task->steps > 0))
		task_set_status(pool, task, STRATA_TASK_DECODING);
	if (finished)
		task_set_status(pool, task, STRATA_TASK_FINISHED);
}

static void apply_row(struct strata_pool *pool, struct worker *worker,
		      const struct strata_done *row)
{
	struct task *task = task_at(pool, row->task, NULL);

	assert(task);
	spend(pool, task, row);
	if (!task_runs(task)) {
		worker_end(pool, worker, task); /* cancelled while it ran */
		return;
	}
	advance(pool, task, row->kind == STRATA_DONE_FINISHED);
	if (row->kind == STRATA_DONE_FAILED)
		task_set_status(pool, task, STRATA_TASK_FAILED);
	if (row->kind == STRATA_DONE_BACK) {
		pick_return(pool, worker, task);
		pool->metrics.returned++;
	} else if (strata_task_ended(task->status)) {
		worker_end(pool, worker, task);
	}
}

int strata_pool_done(struct strata_pool *pool, uint64_t worker, const struct strata_done *rows,
		     size_t row_count, int64_t now_ns, struct strata_error *err)
{
	struct worker *found = worker_at(pool, worker, err);
	struct task *next;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_DONE,
						    .now_ns = now_ns,
						    .worker = worker,
						    .rows = rows,
						    .row_count = row_count });
	if (!found)
		return -ESTALE;
	int rc = check_rows(pool, found, rows, row_count, err);

	if (rc)
		return rc;
	pool_tick(pool, now_ns);
	for (size_t i = 0; i < row_count; i++)
		apply_row(pool, found, &rows[i]);
	for (struct task *task = worker_first(pool, found); task; task = next) {
		next = worker_next(pool, task);
		if (!task_runs(task))
			worker_end(pool, found, task); /* cancelled and not mentioned */
	}
	found->steps = 0;
	worker_hear(pool, found);
	worker_count(pool, found);
	return 0;
}
