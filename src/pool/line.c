/*
 * The line: all that wait, in one counted tree by group, key and serial. What a policy puts into
 * the group makes it one line (0), or one for each user. Where batches may hold more than one, a
 * second tree has the same tasks by shape and serial.
 */
#include "pool/pool_int.h"

#include <assert.h>
#include <errno.h>

static bool batches(const struct strata_pool *pool)
{
	return pool->conf.batch_max > 1;
}

/* Signed keys in the order of the tree's unsigned ones. */
static uint64_t unsigned_key(int64_t key)
{
	return (uint64_t)key ^ 1ull << 63;
}

struct ranked_key line_key(const struct strata_pool *pool, const struct task *task)
{
	bool grouped = pool->hooks && pool->hooks->group;

	return (struct ranked_key){ .key = unsigned_key(task->key),
				    .serial = task->serial,
				    .group = grouped ? pool->hooks->group(pool, task) : 0,
				    .item = task->index };
}

static struct ranked_key mate_key(const struct task *task)
{
	return (struct ranked_key){ .serial = task->serial,
				    .group = task->shape,
				    .item = task->index };
}

struct task *line_task(const struct strata_pool *pool, const struct ranked_key *key)
{
	return key ? task_by_index(pool, key->item) : NULL;
}

struct task *line_first_of(const struct strata_pool *pool, const struct ranked *set, uint32_t group)
{
	struct ranked_key least = { .group = group };
	const struct ranked_key *first = ranked_at(ranked_from(set, &least));

	return first && first->group == group ? line_task(pool, first) : NULL;
}

int line_reserve(struct strata_pool *pool, size_t more)
{
	const uint64_t *tasks = pool->metrics.tasks;

	/* A worker may be lost at any time, and then its tasks must find room. */
	more += tasks[STRATA_TASK_ENCODING] + tasks[STRATA_TASK_DENOISING] +
		tasks[STRATA_TASK_DECODING];
	if (ranked_reserve(&pool->line, more) ||
	    (batches(pool) && ranked_reserve(&pool->mates, more)))
		return -ENOMEM;
	if (pool->hooks && pool->hooks->reserve)
		return pool->hooks->reserve(pool, pool->line.count + more);
	return 0;
}

void line_enter(struct strata_pool *pool, struct task *task)
{
	const struct policy_hooks *hooks = pool->hooks;
	struct user *user = user_of(pool, task);
	int64_t left_ns = task_left_ns(task);
	struct strata_policy_task view;
	int rc = 0;

	if (pool->policy->key) {
		view = task_for_policy(pool, task);
		task->key = pool->policy->key(pool_policy_conf(pool), &view);
	}
	struct ranked_key key = line_key(pool, task), mate = mate_key(task);

	rc = ranked_insert(&pool->line, &key, (uint64_t)left_ns,
			   hooks && hooks->limit ? hooks->limit(pool, task) : 0);
	if (rc == 0 && batches(pool))
		rc = ranked_insert(&pool->mates, &mate, 0, 0);
	assert(rc == 0); /* line_reserve has seen to it */
	shape_of(pool, task)->pending++;
	user->pending++;
	user->pending_cost_ns += left_ns;
	if (hooks && hooks->enter)
		hooks->enter(pool, task);
}

void line_leave(struct strata_pool *pool, struct task *task)
{
	struct user *user = user_of(pool, task);
	struct ranked_key key = line_key(pool, task), mate = mate_key(task);

	ranked_remove(&pool->line, &key);
	if (batches(pool))
		ranked_remove(&pool->mates, &mate);
	shape_of(pool, task)->pending--;
	user->pending--;
	user->pending_cost_ns -= task_left_ns(task);
	task->passed = 0;
	if (pool->hooks && pool->hooks->leave)
		pool->hooks->leave(pool, task);
}

void line_own(const struct strata_pool *pool, const struct task *task, uint64_t *ret_count,
	      int64_t *ret_work_ns)
{
	struct ranked_key key = line_key(pool, task), least = { .group = key.group };
	uint64_t work, before;

	*ret_count = ranked_rank(&pool->line, &key, &work) -
		     ranked_rank(&pool->line, &least, &before);
	*ret_work_ns = (int64_t)(work - before);
}

uint64_t line_ahead(const struct strata_pool *pool, const struct task *task, int64_t *ret_work_ns)
{
	struct ranked_key key = line_key(pool, task);
	uint64_t work;
	uint64_t ahead = ranked_rank(&pool->line, &key, &work);

	*ret_work_ns = (int64_t)work;
	return ahead;
}

int64_t line_running_ns(const struct strata_pool *pool)
{
	int128 left_ns = pool->until_ns_sum - (int128)pool->busy_count * pool->now_ns;

	return left_ns > 0 ? (int64_t)left_ns : 0;
}

int strata_pool_position(struct strata_pool *pool, uint64_t task, int64_t now_ns,
			 struct strata_position *ret_position, struct strata_error *err)
{
	const struct task *found = task_at(pool, task, err);
	struct strata_position position = { 0 };
	int64_t work_ns;

	if (!found)
		return -ESTALE;
	if (!task_waits(found))
		return strata_fail(err, -EINVAL, "the task is %s and has no place in line",
				   strata_task_status_name(found->status));
	pool_ask(pool, now_ns);
	if (pool->hooks && pool->hooks->estimate) {
		pool->hooks->estimate(pool, found, &position, &work_ns);
	} else {
		position.ahead = line_ahead(pool, found, &work_ns);
	}
	position.start_ns = INT64_MAX;
	if (pool->workers.count > 0)
		position.start_ns = pool->now_ns +
				    (line_running_ns(pool) + work_ns) / pool->workers.count;
	*ret_position = position;
	return 0;
}

size_t strata_pool_page(const struct strata_pool *pool, size_t from, uint64_t *ret_tasks,
			size_t count)
{
	struct ranked_place place = ranked_select(&pool->line, from);
	const struct ranked_key *key;
	size_t stored = 0;

	if (count > STRATA_POOL_PAGE_MAX)
		count = STRATA_POOL_PAGE_MAX;
	for (; stored < count && (key = ranked_at(place)); place = ranked_next(place))
		ret_tasks[stored++] = slab_handle(&pool->tasks, key->item);
	return stored;
}
