/* A task: its statuses, which may follow which, and what can happen to it from outside. */
#include "pool/pool_int.h"

#include <assert.h>
#include <errno.h>

/* May a task go from the status of the row to that of the bit? Whatever a worker has may go back to
 * the line. */
#define TO(status) (1u << STRATA_TASK_##status)
static const unsigned next_statuses[STRATA_TASK_STATUS_COUNT] = {
	[STRATA_TASK_PENDING] = TO(ENCODING) | TO(DENOISING) | TO(DECODING) | TO(CANCELLED),
	[STRATA_TASK_ENCODING] = TO(DENOISING) | TO(DECODING) | TO(PENDING) | TO(FAILED) |
				 TO(CANCELLED),
	[STRATA_TASK_DENOISING] = TO(DECODING) | TO(PENDING) | TO(FAILED) | TO(CANCELLED),
	[STRATA_TASK_DECODING] = TO(FINISHED) | TO(PENDING) | TO(FAILED) | TO(CANCELLED),
};

bool strata_task_may(enum strata_task_status from, enum strata_task_status to)
{
	return (unsigned)from < STRATA_TASK_STATUS_COUNT &&
	       (unsigned)to < STRATA_TASK_STATUS_COUNT && (next_statuses[from] >> to & 1);
}

bool strata_task_ended(enum strata_task_status status)
{
	return status >= STRATA_TASK_FINISHED;
}

const char *strata_task_status_name(enum strata_task_status status)
{
	static const char *const names[STRATA_TASK_STATUS_COUNT] = {
		[STRATA_TASK_PENDING] = "pending",     [STRATA_TASK_ENCODING] = "encoding",
		[STRATA_TASK_DENOISING] = "denoising", [STRATA_TASK_DECODING] = "decoding",
		[STRATA_TASK_FINISHED] = "finished",   [STRATA_TASK_FAILED] = "failed",
		[STRATA_TASK_CANCELLED] = "cancelled",
	};

	return (unsigned)status < STRATA_TASK_STATUS_COUNT ? names[status] : "unknown";
}

void strata_task_request_init(struct strata_task_request *ret_request)
{
	*ret_request = (struct strata_task_request){ .priority = STRATA_PRIORITY_DEFAULT };
}

struct task *task_at(const struct strata_pool *pool, uint64_t task, struct strata_error *err)
{
	struct task *found = slab_at(&pool->tasks, task);

	if (!found)
		strata_fail(err, -ESTALE, "there is no task %#llx; it may have been forgotten",
			    (unsigned long long)task);
	return found;
}

uint64_t task_handle(const struct strata_pool *pool, const struct task *task)
{
	return slab_handle(&pool->tasks, task->index);
}

int64_t task_left_ns(const struct task *task)
{
	if (task->steps_done > 0 && task->used_ns > 0)
		return (int64_t)((uint128)task->used_ns * (task->steps - task->steps_done) /
				 task->steps_done);
	return task->cost_ns > task->used_ns ? task->cost_ns - task->used_ns : 0;
}

struct strata_policy_task task_for_policy(const struct strata_pool *pool, const struct task *task)
{
	const struct batch_key *shape = shape_of(pool, task);

	return (struct strata_policy_task){
		.task = task_handle(pool, task),
		.payload = task->payload,
		.added_ns = task->added_ns,
		.deadline_ns = task->deadline_ns,
		.cost_ns = task->cost_ns,
		.left_ns = task_left_ns(task),
		.memory_bytes = (int64_t)task->memory_mib * MIB_BYTES,
		.priority = task->priority,
		.model = shape->model,
		.shape = shape->shape,
		.steps_done = task->steps_done,
		.steps = task->steps,
		.weight = (double)task->weight,
		.attribute = pool->conf.attribute,
		.attribute_context = pool->conf.attribute_context,
	};
}

double strata_policy_attribute(const struct strata_policy_task *task, const char *name,
			       double otherwise)
{
	double value;

	if (!task->attribute ||
	    !task->attribute(task->attribute_context, task->payload, name, &value))
		return otherwise;
	return value;
}

static void count_end(struct strata_pool *pool, const struct task *task)
{
	struct user *user = user_of(pool, task);

	pool->metrics.ended[task->status]++;
	if (task->status == STRATA_TASK_FINISHED)
		user->finished++;
	else if (task->status == STRATA_TASK_FAILED)
		user->failed++;
	else
		user->cancelled++;
	if (task->status == STRATA_TASK_FINISHED && task->deadline_ns != STRATA_TIME_NONE &&
	    pool->now_ns > task->deadline_ns)
		pool->metrics.late++;
}

void task_set_status(struct strata_pool *pool, struct task *task, enum strata_task_status status)
{
	assert(strata_task_may(task->status, status));
	pool->metrics.tasks[task->status]--;
	pool->metrics.tasks[status]++;
	task->status = (uint8_t)status;
	task->changed_ns = pool->now_ns;
	if (strata_task_ended(status))
		count_end(pool, task);
}

/* ---- adding ---- */

static int check_request(const struct strata_pool *pool, const struct strata_task_request *request,
			 struct strata_error *err)
{
	const struct strata_pool_conf *conf = &pool->conf;

	if (!request->user)
		return strata_fail_at(err, -EINVAL, "user", "the task has no user");
	if (request->priority < conf->priority_min || request->priority > conf->priority_max)
		return strata_fail_at(err, -EINVAL, "priority",
				      "the priority is %lld; expected %lld to %lld",
				      (long long)request->priority, (long long)conf->priority_min,
				      (long long)conf->priority_max);
	if (request->steps > STRATA_TASK_STEPS_MAX)
		return strata_fail_at(err, -EINVAL, "steps", "%u steps; expected up to %d",
				      request->steps, STRATA_TASK_STEPS_MAX);
	if (request->cost_ns < 0 || request->cost_ns > STRATA_TASK_COST_NS_MAX)
		return strata_fail_at(err, -EINVAL, "cost",
				      "the cost is %lld ns; expected 0 to a year",
				      (long long)request->cost_ns);
	if (request->memory_bytes < 0 || request->memory_bytes > STRATA_TASK_MEMORY_BYTES_MAX)
		return strata_fail_at(err, -EINVAL, "memory",
				      "the memory is %lld bytes; expected 0 to 1 PiB",
				      (long long)request->memory_bytes);
	if (request->weight != 0 && !(request->weight >= STRATA_SHARE_WEIGHT_MIN &&
				      request->weight <= STRATA_SHARE_WEIGHT_MAX))
		return strata_fail_at(err, -EINVAL, "weight", "the weight is %g; expected %g to %g",
				      request->weight, STRATA_SHARE_WEIGHT_MIN,
				      STRATA_SHARE_WEIGHT_MAX);
	if (request->deadline_ns < 0 || request->deadline_ns > STRATA_TIME_NS_MAX)
		return strata_fail_at(err, -EINVAL, "deadline",
				      "the deadline is %lld ns; expected a time up to 2261",
				      (long long)request->deadline_ns);
	return 0;
}

static struct task make_task(const struct strata_pool *pool,
			     const struct strata_task_request *request, const struct user *user,
			     const struct batch_key *shape)
{
	int64_t cost_ns = request->cost_ns ? request->cost_ns : shape_expect(shape, request->steps);

	return (struct task){
		.payload = request->payload,
		.serial = pool->serial,
		.added_ns = pool->now_ns,
		.changed_ns = pool->now_ns,
		.deadline_ns = request->has_deadline || request->deadline_ns ? request->deadline_ns
									     : STRATA_TIME_NONE,
		.cost_ns = cost_ns,
		.steps = request->steps,
		.memory_mib = (uint32_t)((request->memory_bytes + MIB_BYTES - 1) / MIB_BYTES),
		.user = user->number,
		.shape = shape->number,
		.weight = request->weight == 0 ? 1 : (float)request->weight,
		.priority = (int16_t)request->priority,
		.status = STRATA_TASK_PENDING,
	};
}

/* Everything that can refuse a task, and room for it. */
static int prepare(struct strata_pool *pool, const struct strata_task_request *request,
		   struct task *ret_task, struct strata_error *err)
{
	struct user *user;
	struct batch_key *shape;
	int rc = check_request(pool, request, err);

	if (rc == 0 && pool->tasks.count == pool->tasks.count_max)
		rc = strata_fail(err, -ENOSPC, "the pool holds %u tasks, as many as it may",
				 pool->tasks.count);
	if (rc == 0)
		rc = user_get(pool, request->user, request->account, &user, err);
	if (rc == 0)
		rc = batch_key_get(pool, request->model, request->shape, &shape, err);
	if (rc)
		return rc;
	*ret_task = make_task(pool, request, user, shape);
	if (pool->hooks && pool->hooks->admit)
		rc = pool->hooks->admit(pool, user, ret_task, err);
	if (rc == 0 && (slab_reserve(&pool->tasks, 1) || line_reserve(pool, 1)))
		rc = strata_fail_memory(err);
	return rc;
}

int strata_pool_add(struct strata_pool *pool, const struct strata_task_request *request,
		    int64_t now_ns, uint64_t *ret_task, struct strata_error *err)
{
	struct task made;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_ADD,
						    .now_ns = now_ns,
						    .request = request });
	pool_tick(pool, now_ns);
	int rc = prepare(pool, request, &made, err);

	if (rc) {
		pool->metrics.refused++;
		return rc;
	}
	uint64_t handle;
	struct task *task = slab_get(&pool->tasks, &handle);

	made.index = slab_index(handle);
	*task = made;
	pool->serial++;
	pool->metrics.added++;
	pool->metrics.tasks[STRATA_TASK_PENDING]++;
	line_enter(pool, task);
	*ret_task = handle;
	return 0;
}

/* ---- changing ---- */

int strata_pool_cancel(struct strata_pool *pool, uint64_t task, int64_t now_ns,
		       struct strata_error *err)
{
	struct task *found = task_at(pool, task, err);

	pool_say(pool, &(struct strata_pool_event){
			       .kind = STRATA_POOL_EVENT_CANCEL, .now_ns = now_ns, .task = task });
	if (!found)
		return -ESTALE;
	if (strata_task_ended(found->status))
		return strata_fail(err, -EALREADY, "the task is %s already",
				   strata_task_status_name(found->status));
	pool_tick(pool, now_ns);
	if (task_waits(found))
		line_leave(pool, found);
	task_set_status(pool, found, STRATA_TASK_CANCELLED);
	if (!found->worker && pool->hooks && pool->hooks->end)
		pool->hooks->end(pool, found);
	return 0;
}

int strata_pool_set_priority(struct strata_pool *pool, uint64_t task, int64_t priority,
			     int64_t now_ns, struct strata_error *err)
{
	struct task *found = task_at(pool, task, err);

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_PRIORITY,
						    .now_ns = now_ns,
						    .task = task,
						    .priority = priority });
	if (!found)
		return -ESTALE;
	if (strata_task_ended(found->status))
		return strata_fail(err, -EALREADY, "the task is %s already",
				   strata_task_status_name(found->status));
	if (priority < pool->conf.priority_min || priority > pool->conf.priority_max)
		return strata_fail_at(err, -EINVAL, "priority",
				      "the priority is %lld; expected %lld to %lld",
				      (long long)priority, (long long)pool->conf.priority_min,
				      (long long)pool->conf.priority_max);
	pool_tick(pool, now_ns);
	bool waits = task_waits(found);

	if (waits && line_reserve(pool, 1))
		return strata_fail_memory(err);
	if (waits)
		line_leave(pool, found);
	found->priority = (int16_t)priority;
	if (waits)
		line_enter(pool, found);
	return 0;
}

int strata_pool_forget(struct strata_pool *pool, uint64_t task, struct strata_error *err)
{
	struct task *found = task_at(pool, task, err);

	pool_say(pool,
		 &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_FORGET, .task = task });
	if (!found)
		return -ESTALE;
	if (!strata_task_ended(found->status))
		return strata_fail(err, -EBUSY, "the task is %s; cancel it first",
				   strata_task_status_name(found->status));
	if (found->worker)
		return strata_fail(err, -EBUSY,
				   "a worker still has the task, until its next step boundary");
	pool->metrics.tasks[found->status]--;
	slab_put(&pool->tasks, task);
	return 0;
}

int strata_pool_get(const struct strata_pool *pool, uint64_t task,
		    struct strata_task_view *ret_view, struct strata_error *err)
{
	const struct task *found = task_at(pool, task, err);

	if (!found)
		return -ESTALE;
	const struct user *user = user_of(pool, found);
	const struct batch_key *shape = shape_of(pool, found);

	*ret_view = (struct strata_task_view){
		.status = found->status,
		.user = user->name,
		.account = user->account,
		.priority = found->priority,
		.deadline_ns = found->deadline_ns,
		.steps_done = found->steps_done,
		.steps = found->steps,
		.cost_ns = found->cost_ns,
		.used_ns = found->used_ns,
		.left_ns = strata_task_ended(found->status) ? 0 : task_left_ns(found),
		.added_ns = found->added_ns,
		.started_ns = found->flags & TASK_STARTED ? found->started_ns : STRATA_TIME_NONE,
		.changed_ns = found->changed_ns,
		.worker = found->worker ? slab_handle(&pool->workers, found->worker - 1) : 0,
		.memory_bytes = (int64_t)found->memory_mib * MIB_BYTES,
		.model = shape->model,
		.shape = shape->shape,
		.payload = found->payload,
	};
	return 0;
}
