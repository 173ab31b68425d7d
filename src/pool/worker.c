/*
 * Workers and their leases. A worker that is not heard of for lease_ns is gone: its tasks go back
 * to their places, and since its handle is gone with it, nothing it says later counts; so no task
 * is ever with two workers that count. Workers stand in a ring by when they were last heard of, so
 * that finding the silent ones looks at no other.
 */
#include "pool/pool_int.h"

#include <assert.h>
#include <errno.h>

struct worker *worker_at(const struct strata_pool *pool, uint64_t worker, struct strata_error *err)
{
	struct worker *found = slab_at(&pool->workers, worker);

	if (!found)
		strata_fail(err, -ESTALE,
			    "worker %#llx is not known, or has lost its lease: register again",
			    (unsigned long long)worker);
	return found;
}

/* ---- the ring ---- */

static void unlink_worker(struct strata_pool *pool, struct worker *worker)
{
	worker->before->after = worker->after;
	worker->after->before = worker->before;
	if (pool->silent == worker)
		pool->silent = worker->after == worker ? NULL : worker->after;
}

/* Behind the one heard of last. */
static void link_worker(struct strata_pool *pool, struct worker *worker)
{
	if (!pool->silent) {
		pool->silent = worker->before = worker->after = worker;
		return;
	}
	worker->after = pool->silent;
	worker->before = pool->silent->before;
	worker->before->after = worker->after->before = worker;
}

void worker_hear(struct strata_pool *pool, struct worker *worker)
{
	unlink_worker(pool, worker);
	worker->heard_ns = pool->now_ns;
	link_worker(pool, worker);
}

/* ---- its tasks ---- */

/* What it has left counts, or no longer does. */
static void count_left(struct strata_pool *pool, const struct worker *worker, int sign)
{
	if (worker->count == 0)
		return;
	pool->until_ns_sum += sign * ((int128)worker->since_ns + worker->left_ns);
	pool->busy_count += (uint64_t)sign;
}

void worker_count(struct strata_pool *pool, struct worker *worker)
{
	count_left(pool, worker, -1);
	worker->since_ns = pool->now_ns;
	worker->left_ns = 0;
	for (const struct task *task = worker_first(pool, worker); task;
	     task = worker_next(pool, task))
		if (task_runs(task))
			worker->left_ns += task_left_ns(task);
	count_left(pool, worker, 1);
}

void worker_give(struct strata_pool *pool, struct worker *worker, struct task *task)
{
	assert(!task->worker);
	count_left(pool, worker, -1);
	task->worker = slab_index(worker->handle) + 1;
	task->next = worker->first;
	worker->first = task->index + 1;
	worker->count++;
	worker->used_mib += task->memory_mib;
	count_left(pool, worker, 1);
}

void worker_lose(struct strata_pool *pool, struct worker *worker, struct task *task)
{
	uint32_t *link = &worker->first;

	count_left(pool, worker, -1);
	while (*link != task->index + 1)
		link = &task_by_index(pool, *link - 1)->next;
	*link = task->next;
	task->next = task->worker = 0;
	worker->count--;
	worker->used_mib -= task->memory_mib;
	count_left(pool, worker, 1);
}

void worker_end(struct strata_pool *pool, struct worker *worker, struct task *task)
{
	worker_lose(pool, worker, task);
	user_of(pool, task)->running--;
	if (pool->hooks && pool->hooks->stop)
		pool->hooks->stop(pool, task);
	if (pool->hooks && pool->hooks->end)
		pool->hooks->end(pool, task);
}

/* ---- coming and going ---- */

int strata_pool_add_worker(struct strata_pool *pool, int64_t memory_bytes, int64_t now_ns,
			   uint64_t *ret_worker, struct strata_error *err)
{
	uint64_t handle;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_ADD_WORKER,
						    .now_ns = now_ns,
						    .memory_bytes = memory_bytes });
	if (memory_bytes < 0)
		return strata_fail(err, -EINVAL, "the worker has %lld bytes; expected 0 or more",
				   (long long)memory_bytes);
	struct worker *worker = slab_get(&pool->workers, &handle);

	if (!worker)
		return strata_fail_memory(err);
	pool_tick(pool, now_ns);
	worker->handle = handle;
	worker->heard_ns = pool->now_ns;
	worker->memory_mib = memory_bytes / MIB_BYTES;
	if (memory_bytes > 0 && worker->memory_mib == 0)
		worker->memory_mib = 1;
	link_worker(pool, worker);
	*ret_worker = handle;
	return 0;
}

static void remove_worker(struct strata_pool *pool, struct worker *worker)
{
	struct task *task;

	while ((task = worker_first(pool, worker)))
		if (task_runs(task)) {
			pick_return(pool, worker, task);
			pool->metrics.returned++;
		} else {
			worker_end(pool, worker, task); /* cancelled while it ran */
		}
	unlink_worker(pool, worker);
	slab_put(&pool->workers, worker->handle);
}

int strata_pool_remove_worker(struct strata_pool *pool, uint64_t worker, int64_t now_ns,
			      struct strata_error *err)
{
	struct worker *found = worker_at(pool, worker, err);

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_REMOVE_WORKER,
						    .now_ns = now_ns,
						    .worker = worker });
	if (!found)
		return -ESTALE;
	pool_tick(pool, now_ns);
	remove_worker(pool, found);
	return 0;
}

int strata_pool_beat(struct strata_pool *pool, uint64_t worker, int64_t now_ns,
		     struct strata_error *err)
{
	struct worker *found = worker_at(pool, worker, err);

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_BEAT,
						    .now_ns = now_ns,
						    .worker = worker });
	if (!found)
		return -ESTALE;
	pool_tick(pool, now_ns);
	worker_hear(pool, found);
	return 0;
}

size_t strata_pool_expire(struct strata_pool *pool, int64_t now_ns)
{
	size_t count = 0;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_EXPIRE,
						    .now_ns = now_ns });
	pool_tick(pool, now_ns);
	while (pool->silent && pool->now_ns - pool->silent->heard_ns >= pool->conf.lease_ns) {
		remove_worker(pool, pool->silent);
		count++;
	}
	pool->metrics.workers_lost += count;
	return count;
}
