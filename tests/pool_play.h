/*
 * A pool to play with in tests: made from a policy's spec, with tasks and workers in one line each.
 * All of it is static: one pool at a time.
 */
#ifndef TESTS_POOL_PLAY_H
#define TESTS_POOL_PLAY_H

#include "test.h"

#include <strata/pool.h>

#include <string.h>

#define SECOND INT64_C(1000000000)

static struct strata_memory play_memory;
static struct strata_arena play_arena;
static struct strata_pool *pool;
static struct strata_error err;

static inline struct strata_spec play_spec(const char *text)
{
	struct strata_spec spec;

	if (!play_arena.memory)
		strata_arena_init(&play_arena, &play_memory, 0);
	CHECK_OK(strata_spec_build(&strata_policy_kind, text, &play_arena, &spec, &err));
	return spec;
}

/* A pool of this policy; conf may be NULL. What was there before is freed. */
static inline void play_open(const char *policy, const struct strata_pool_conf *conf)
{
	struct strata_pool_conf filled = conf ? *conf : (struct strata_pool_conf){ 0 };

	strata_pool_free(pool);
	pool = NULL;
	filled.policy = play_spec(policy);
	CHECK_OK(strata_pool_new(&filled, &play_memory, &pool, &err));
}

/* Frees everything; nothing may be left. */
static inline void play_close(void)
{
	strata_pool_free(pool);
	pool = NULL;
	if (play_arena.memory)
		strata_arena_fini(&play_arena);
	memset(&play_arena, 0, sizeof(play_arena));
	CHECK_INT(play_memory.used_bytes, 0);
}

/* A task of one user that costs so many seconds, in so many steps of one second each. */
static inline struct strata_task_request play_request(const char *user, int64_t cost_s)
{
	struct strata_task_request request;

	strata_task_request_init(&request);
	request.user = user;
	request.cost_ns = cost_s * SECOND;
	request.steps = (uint32_t)cost_s;
	return request;
}

static inline uint64_t play_add_request(const struct strata_task_request *request, int64_t now_ns)
{
	uint64_t task;

	CHECK_OK(strata_pool_add(pool, request, now_ns, &task, &err));
	return task;
}

static inline uint64_t play_add(const char *user, int64_t cost_s, int64_t now_ns)
{
	struct strata_task_request request = play_request(user, cost_s);

	return play_add_request(&request, now_ns);
}

static inline uint64_t play_worker(int64_t memory_bytes, int64_t now_ns)
{
	uint64_t worker;

	CHECK_OK(strata_pool_add_worker(pool, memory_bytes, now_ns, &worker, &err));
	return worker;
}

static inline struct strata_batch play_pick(uint64_t worker, int64_t now_ns,
					    struct strata_why *ret_why)
{
	struct strata_ask ask = { .worker = worker, .free_bytes = -1 };
	struct strata_batch batch;

	CHECK_OK(strata_pool_pick(pool, &ask, now_ns, &batch, ret_why, &err));
	return batch;
}

/* The first task of what a worker gets; 0: nothing. */
static inline uint64_t play_next(uint64_t worker, int64_t now_ns)
{
	struct strata_batch batch = play_pick(worker, now_ns, NULL);

	return batch.count ? batch.tasks[0] : 0;
}

/* All of a batch is reported with the same outcome, steps and cost. */
static inline void play_done(const struct strata_batch *batch, enum strata_done_kind kind,
			     uint32_t steps, int64_t cost_ns, int64_t now_ns)
{
	struct strata_done rows[STRATA_BATCH_MAX];

	for (uint32_t i = 0; i < batch->count; i++)
		rows[i] = (struct strata_done){ batch->tasks[i], kind, steps, cost_ns };
	CHECK_OK(strata_pool_done(pool, batch->worker, rows, batch->count, now_ns, &err));
}

/* A worker takes a task and does all of it at once: which it was. */
static inline uint64_t play_whole(uint64_t worker, int64_t now_ns)
{
	struct strata_batch batch = play_pick(worker, now_ns, NULL);
	struct strata_task_view view;

	if (batch.count == 0)
		return 0;
	CHECK_OK(strata_pool_get(pool, batch.tasks[0], &view, &err));
	play_done(&batch, STRATA_DONE_FINISHED, 0, view.left_ns, now_ns);
	return batch.tasks[0];
}

static inline enum strata_task_status play_status(uint64_t task)
{
	struct strata_task_view view;

	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	return view.status;
}

static inline struct strata_pool_metrics play_metrics(void)
{
	struct strata_pool_metrics metrics;

	strata_pool_metrics(pool, &metrics);
	return metrics;
}

#endif
