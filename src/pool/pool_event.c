/* Events as data: one entry through which everything can be told to a pool, so that a log of them
 * can be done over. */
#include "pool/pool_int.h"

#include <errno.h>

const char *strata_pool_event_name(enum strata_pool_event_kind kind)
{
	static const char *const names[STRATA_POOL_EVENT_KIND_COUNT] = {
		[STRATA_POOL_EVENT_ADD] = "add",
		[STRATA_POOL_EVENT_CANCEL] = "cancel",
		[STRATA_POOL_EVENT_PRIORITY] = "priority",
		[STRATA_POOL_EVENT_FORGET] = "forget",
		[STRATA_POOL_EVENT_CAP] = "cap",
		[STRATA_POOL_EVENT_ACCOUNT] = "account",
		[STRATA_POOL_EVENT_USER] = "user",
		[STRATA_POOL_EVENT_CHARGE] = "charge",
		[STRATA_POOL_EVENT_ADD_WORKER] = "add_worker",
		[STRATA_POOL_EVENT_REMOVE_WORKER] = "remove_worker",
		[STRATA_POOL_EVENT_BEAT] = "beat",
		[STRATA_POOL_EVENT_EXPIRE] = "expire",
		[STRATA_POOL_EVENT_CLOCK] = "clock",
		[STRATA_POOL_EVENT_EARLIEST] = "earliest",
		[STRATA_POOL_EVENT_APPLY] = "apply",
		[STRATA_POOL_EVENT_DONE] = "done",
		[STRATA_POOL_EVENT_PICK] = "pick",
	};

	return (unsigned)kind < STRATA_POOL_EVENT_KIND_COUNT ? names[kind] : "unknown";
}

/* What happens to tasks, and to those who ask for them; -ENOSYS: that is not such an event. */
static int tell_tasks(struct strata_pool *pool, const struct strata_pool_event *event,
		      struct strata_error *err)
{
	int64_t now_ns = event->now_ns;
	uint64_t made;

	switch (event->kind) {
	case STRATA_POOL_EVENT_ADD:
		return strata_pool_add(pool, event->request, now_ns, &made, err);
	case STRATA_POOL_EVENT_CANCEL:
		return strata_pool_cancel(pool, event->task, now_ns, err);
	case STRATA_POOL_EVENT_PRIORITY:
		return strata_pool_set_priority(pool, event->task, event->priority, now_ns, err);
	case STRATA_POOL_EVENT_FORGET:
		return strata_pool_forget(pool, event->task, err);
	case STRATA_POOL_EVENT_CAP:
		return strata_pool_set_cap(pool, event->model, event->shape, event->cap, err);
	case STRATA_POOL_EVENT_ACCOUNT:
		return strata_pool_set_account(pool, event->name, event->weight, err);
	case STRATA_POOL_EVENT_USER:
		return strata_pool_set_user(pool, event->name, event->account, event->weight,
					    event->quota, err);
	case STRATA_POOL_EVENT_CHARGE:
		return strata_pool_charge(pool, event->name, event->account, event->cost_ns, now_ns,
					  err);
	case STRATA_POOL_EVENT_EARLIEST:
		strata_pool_earliest(pool, event->request, now_ns);
		return 0;
	default:
		return -ENOSYS;
	}
}

static int tell_workers(struct strata_pool *pool, const struct strata_pool_event *event,
			struct strata_error *err)
{
	int64_t now_ns = event->now_ns;
	uint64_t made;

	switch (event->kind) {
	case STRATA_POOL_EVENT_ADD_WORKER:
		return strata_pool_add_worker(pool, event->memory_bytes, now_ns, &made, err);
	case STRATA_POOL_EVENT_REMOVE_WORKER:
		return strata_pool_remove_worker(pool, event->worker, now_ns, err);
	case STRATA_POOL_EVENT_BEAT:
		return strata_pool_beat(pool, event->worker, now_ns, err);
	case STRATA_POOL_EVENT_EXPIRE:
		strata_pool_expire(pool, now_ns);
		return 0;
	case STRATA_POOL_EVENT_CLOCK:
		pool_ask(pool, now_ns);
		return 0;
	case STRATA_POOL_EVENT_APPLY:
		return strata_pool_apply(pool, event->batch, err);
	case STRATA_POOL_EVENT_DONE:
		return strata_pool_done(pool, event->worker, event->rows, event->row_count, now_ns,
					err);
	default:
		return -ENOSYS;
	}
}

int strata_pool_tell(struct strata_pool *pool, const struct strata_pool_event *event,
		     struct strata_batch *ret_batch, struct strata_error *err)
{
	struct strata_batch batch;
	int rc = tell_tasks(pool, event, err);

	if (rc == -ENOSYS)
		rc = tell_workers(pool, event, err);
	if (rc != -ENOSYS)
		return rc;
	if (event->kind != STRATA_POOL_EVENT_PICK)
		return strata_fail(err, -EINVAL, "there is no event %d", (int)event->kind);
	return strata_pool_pick(pool, event->ask, event->now_ns, ret_batch ? ret_batch : &batch,
				NULL, err);
}
