/*
 * Decisions as bytes of a fixed size, and doing over what another pool decided. Numbers are
 * little-endian; the last eight bytes are a sum over the others, so that a message cut short or
 * mixed up is refused.
 */
#include "pool/pool_int.h"

#include <errno.h>
#include <string.h>

enum { MAGIC = 0x50415453, HEAD_WORDS = 7, SUM_AT = STRATA_BATCH_BYTES - 8 };
_Static_assert((HEAD_WORDS + STRATA_BATCH_MAX) * 8 <= SUM_AT, "a batch fits");

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
	return hash ^ hash >> 29;
}

/* ---- bytes ---- */

static void put_word(uint8_t *bytes, uint64_t word)
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(word >> 8 * i);
}

static uint64_t get_word(const uint8_t *bytes)
{
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static uint64_t sum_of(const uint8_t *bytes)
{
	uint64_t sum = MAGIC;

	for (int at = 0; at < SUM_AT; at += 8)
		sum = mix(sum, get_word(bytes + at));
	return sum;
}

void strata_batch_pack(const struct strata_batch *batch, uint8_t ret_bytes[STRATA_BATCH_BYTES])
{
	const uint64_t head[HEAD_WORDS] = {
		MAGIC,
		batch->number,
		(uint64_t)batch->now_ns,
		batch->worker,
		batch->passed,
		(uint64_t)batch->until_ns,
		(uint64_t)batch->steps << 32 | (uint64_t)batch->wait << 16 | batch->count,
	};

	memset(ret_bytes, 0, STRATA_BATCH_BYTES);
	for (int i = 0; i < HEAD_WORDS; i++)
		put_word(ret_bytes + i * 8, head[i]);
	for (uint32_t i = 0; i < batch->count && i < STRATA_BATCH_MAX; i++)
		put_word(ret_bytes + (HEAD_WORDS + i) * 8, batch->tasks[i]);
	put_word(ret_bytes + SUM_AT, sum_of(ret_bytes));
}

int strata_batch_unpack(const uint8_t bytes[STRATA_BATCH_BYTES], struct strata_batch *ret_batch,
			struct strata_error *err)
{
	uint64_t head[HEAD_WORDS];

	for (int i = 0; i < HEAD_WORDS; i++)
		head[i] = get_word(bytes + i * 8);
	if (head[0] != MAGIC || get_word(bytes + SUM_AT) != sum_of(bytes))
		return strata_fail(err, -EBADMSG,
				   "the message is no decision of a pool, or damaged");
	struct strata_batch batch = {
		.number = head[1],
		.now_ns = (int64_t)head[2],
		.worker = head[3],
		.passed = head[4],
		.until_ns = (int64_t)head[5],
		.wait = (enum strata_wait)(head[6] >> 16 & 0xffff),
		.steps = (uint32_t)(head[6] >> 32),
		.count = (uint32_t)(head[6] & 0xffff),
	};

	if (batch.count > STRATA_BATCH_MAX)
		return strata_fail(err, -EBADMSG, "the message has %u tasks; expected up to %d",
				   batch.count, STRATA_BATCH_MAX);
	if ((unsigned)batch.wait >= STRATA_WAIT_COUNT)
		return strata_fail(err, -EBADMSG,
				   "the message has the reason %u; expected up to %d",
				   (unsigned)batch.wait, STRATA_WAIT_COUNT - 1);
	for (uint32_t i = 0; i < batch.count; i++)
		batch.tasks[i] = get_word(bytes + (HEAD_WORDS + i) * 8);
	*ret_batch = batch;
	return 0;
}

/* ---- doing it over ---- */

/* Whether the pool is in the state that the decision was made in, as far as the decision shows it. */
static int check(const struct strata_pool *pool, const struct strata_batch *batch,
		 const struct worker *worker, struct task **ret_tasks, struct strata_error *err)
{
	if (batch->count == 0 || batch->count > STRATA_BATCH_MAX)
		return strata_fail(err, -EINVAL, "the decision has %u tasks; expected 1 to %d",
				   batch->count, STRATA_BATCH_MAX);
	if (batch->number != pool->decision + 1 || batch->steps != pool->conf.steps_per_pick)
		return strata_fail(
			err, -ESTALE, "decision %llu of %u steps; due is %llu of %u steps",
			(unsigned long long)batch->number, batch->steps,
			(unsigned long long)pool->decision + 1, pool->conf.steps_per_pick);
	if (worker->steps > 0)
		return strata_fail(err, -ESTALE, "the worker has not reported its last batch");
	for (uint32_t i = 0; i < batch->count; i++) {
		struct task *task = task_at(pool, batch->tasks[i], err);

		if (!task)
			return -ESTALE;
		for (uint32_t j = 0; j < i; j++)
			if (ret_tasks[j] == task)
				return strata_fail(err, -EINVAL, "a task is in the decision twice");
		bool own = task->worker == slab_index(batch->worker) + 1 && task_runs(task);

		if (!own && !task_waits(task))
			return strata_fail(err, -ESTALE, "a task of the decision is %s here",
					   strata_task_status_name(task->status));
		ret_tasks[i] = task;
	}
	return 0;
}

/* A pick that gave nothing: no task has moved, but the clock and the worker's lease have. */
static int apply_nothing(struct strata_pool *pool, const struct strata_batch *batch,
			 struct worker *worker, struct strata_error *err)
{
	if (batch->number != pool->decision)
		return strata_fail(
			err, -ESTALE, "nothing to do after decision %llu; the last here is %llu",
			(unsigned long long)batch->number, (unsigned long long)pool->decision);
	if (worker->steps > 0)
		return strata_fail(err, -ESTALE, "the worker has not reported its last batch");
	pool_tick(pool, batch->now_ns);
	pool->batch_until_ns = batch->until_ns;
	pick_nothing(pool, worker);
	return 0;
}

int strata_pool_apply(struct strata_pool *pool, const struct strata_batch *batch,
		      struct strata_error *err)
{
	struct task *tasks[STRATA_BATCH_MAX], *passed = NULL;
	struct worker *worker = worker_at(pool, batch->worker, err);

	pool_say(pool,
		 &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_APPLY, .batch = batch });
	if (!worker)
		return -ESTALE;
	if (batch->count == 0 && batch->steps == 0)
		return apply_nothing(pool, batch, worker, err);
	if (batch->passed && (!(passed = task_at(pool, batch->passed, err)) || !task_waits(passed)))
		return strata_fail(err, -ESTALE,
				   "the task that was passed over does not wait here");
	int rc = check(pool, batch, worker, tasks, err);

	if (rc)
		return rc;
	if (line_reserve(pool, pool->conf.batch_max))
		return strata_fail_memory(err);
	pool_tick(pool, batch->now_ns);
	pool->batch_until_ns = INT64_MAX;
	pick_take(pool, worker, tasks, batch->count, passed);
	return 0;
}

/* ---- the state as one number ---- */

static uint64_t mix_task(uint64_t hash, const struct strata_pool *pool, const struct task *task)
{
	hash = mix(hash, task_handle(pool, task));
	hash = mix(hash, task->serial);
	hash = mix(hash, (uint64_t)task->key);
	hash = mix(hash, (uint64_t)task->added_ns);
	hash = mix(hash, (uint64_t)task->changed_ns);
	hash = mix(hash, (uint64_t)task->used_ns);
	hash = mix(hash, (uint64_t)task->steps_done << 32 | task->worker);
	hash = mix(hash, (uint64_t)task->flags << 48 | (uint64_t)task->status << 32 |
				 (uint64_t)task->passed << 16 | (uint16_t)task->priority);
	return mix(hash, (uint64_t)task->user << 32 | task->shape);
}

static uint64_t mix_user(uint64_t hash, const struct user *user)
{
	hash = mix(hash, (uint64_t)user->pending << 32 | user->running);
	hash = mix(hash, (uint64_t)user->used_ns);
	hash = mix(hash, user->started);
	return mix(hash, user->finished + user->failed + user->cancelled);
}

uint64_t strata_pool_digest(const struct strata_pool *pool)
{
	uint64_t hash = mix(pool->serial, pool->decision), at;
	const struct worker *worker;
	const struct task *task;
	const struct user *user;

	hash = mix(hash, (uint64_t)pool->now_ns);
	for (at = 0; (task = slab_next(&pool->tasks, at, &at));)
		hash = mix_task(hash, pool, task);
	for (at = 0; (user = slab_next(&pool->users, at, &at));)
		hash = mix_user(hash, user);
	for (at = 0; (worker = slab_next(&pool->workers, at, &at));) {
		hash = mix(hash, worker->handle);
		hash = mix(hash, (uint64_t)worker->heard_ns);
		hash = mix(hash, (uint64_t)worker->count << 32 | worker->steps);
		hash = mix(hash, (uint64_t)(worker->since_ns + worker->left_ns));
	}
	for (struct ranked_place place = ranked_select(&pool->line, 0); ranked_at(place);
	     place = ranked_next(place))
		hash = mix(hash, ranked_at(place)->item);
	return pool->hooks && pool->hooks->digest ? pool->hooks->digest(pool, hash) : hash;
}
