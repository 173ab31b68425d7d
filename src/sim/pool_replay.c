/* The replay of pool_replay.h: a heap of ends, a cursor over arrivals, a pool between them. */
#include "sim/pool_replay.h"

#include "core/container.h"
#include "core/heap.h"
#include "core/int128.h"

#include <assert.h>
#include <errno.h>

enum { PROGRESS_EVERY = 4096 };

/* A request on its way. */
struct work {
	const struct request *request;
	uint64_t task;
	uint32_t steps_done;
	int64_t end_ns; /* 0: not yet */
};

struct bench {
	uint64_t handle; /* in the pool */
	struct heap_node by_end;
	size_t number;
	int64_t end_ns;
	uint32_t count; /* of its batch; 0: it is free */
	struct work *works[STRATA_BATCH_MAX];
	uint32_t steps[STRATA_BATCH_MAX];
	int64_t cost_ns;
};

struct replay {
	const struct pool_replay_conf *conf;
	struct strata_pool *pool;
	struct work *works;
	struct bench *benches;
	struct heap busy; /* benches by their end */
	size_t arrived, ended, refused;
	uint64_t rounds;
	int64_t now_ns;
};

static bool attribute(void *context, const void *payload, const char *name, double *ret_value)
{
	const struct replay *replay = context;
	const struct work *work = payload;

	return requests_number(replay->conf->requests, work->request, name, ret_value);
}

/* ---- what happens ---- */

/* When a request has done so many of its steps, counted from its own beginning. */
static int64_t done_ns(const struct request *request, uint32_t steps)
{
	if (request->steps == 0)
		return request->exec_ns;
	return (int64_t)((uint128)request->exec_ns * steps / request->steps);
}

static int arrive(struct replay *replay, struct strata_error *err)
{
	const struct requests *trace = replay->conf->requests;
	struct work *work = &replay->works[replay->arrived];
	const struct request *request = &trace->rows[replay->arrived++];
	struct strata_task_request task;

	work->request = request;
	strata_task_request_init(&task);
	task.user = *trace->users[request->user] ? trace->users[request->user] : "-";
	task.account = request->account == UINT32_MAX ? NULL : trace->accounts[request->account];
	if (request->priority != INT64_MIN)
		task.priority = request->priority;
	task.has_deadline = request->deadline_ns != 0;
	task.deadline_ns = request->arrival_ns + request->deadline_ns;
	if (!task.has_deadline)
		task.deadline_ns = 0;
	task.steps = request->steps;
	task.cost_ns = request->cost_ns;
	task.model = request->model;
	task.shape = request->shape;
	task.memory_bytes = request->memory_mib << 20;
	task.payload = work;
	int rc = 0;

	if (replay->conf->pool.batch_max > 1)
		rc = strata_pool_set_cap(replay->pool, task.model, task.shape,
					 replay->conf->pool.batch_max, err);
	if (rc == 0)
		rc = strata_pool_add(replay->pool, &task, replay->now_ns, &work->task, err);
	if (rc == -ETIME || rc == -EDQUOT || rc == -EPERM || rc == -E2BIG) {
		replay->refused++;
		rc = 0;
	}
	return rc;
}

static int finish(struct replay *replay, struct bench *bench, struct strata_error *err)
{
	struct strata_done rows[STRATA_BATCH_MAX];
	uint32_t count = bench->count;

	for (uint32_t i = 0; i < count; i++) {
		struct work *work = bench->works[i];

		work->steps_done += bench->steps[i];
		bool all = work->steps_done == work->request->steps;

		rows[i] = (struct strata_done){ .task = work->task,
						.kind = all ? STRATA_DONE_FINISHED
							    : STRATA_DONE_STEPS,
						.steps = bench->steps[i],
						.cost_ns = bench->cost_ns / count };
		if (!all)
			continue;
		work->end_ns = replay->now_ns;
		replay->ended++;
	}
	bench->count = 0;
	return strata_pool_done(replay->pool, bench->handle, rows, count, replay->now_ns, err);
}

/* How long the batch takes: its longest task, and something for each of the others. */
static int64_t batch_ns(const struct replay *replay, const struct bench *bench)
{
	int64_t longest_ns = 0;

	for (uint32_t i = 0; i < bench->count; i++) {
		const struct work *work = bench->works[i];
		int64_t part_ns =
			done_ns(work->request, work->steps_done + bench->steps[i]) -
			(work->request->steps ? done_ns(work->request, work->steps_done) : 0);

		longest_ns = part_ns > longest_ns ? part_ns : longest_ns;
	}
	if (bench->count == 1)
		return longest_ns;
	return (int64_t)((double)longest_ns * (1 + (bench->count - 1) * replay->conf->batch_cost));
}

static void draw(struct replay *replay, const struct bench *bench)
{
	struct pool_gantt_task tasks[STRATA_BATCH_MAX];

	for (uint32_t i = 0; i < bench->count; i++) {
		const struct request *request = bench->works[i]->request;

		tasks[i] = (struct pool_gantt_task){
			.number = request->row,
			.user = replay->conf->requests->users[request->user],
			.arrival_ns = request->arrival_ns,
			.steps_done = bench->works[i]->steps_done,
			.steps = request->steps,
		};
	}
	pool_gantt_set(replay->conf->gantt, bench->number, tasks, bench->count, replay->now_ns);
}

static int ask(struct replay *replay, struct bench *bench, struct strata_error *err)
{
	struct strata_ask question = { .worker = bench->handle, .free_bytes = -1 };
	struct strata_batch batch;
	struct strata_task_view view;
	int rc = strata_pool_pick(replay->pool, &question, replay->now_ns, &batch, NULL, err);

	if (rc)
		return rc;
	bench->count = batch.count;
	for (uint32_t i = 0; i < batch.count; i++) {
		rc = strata_pool_get(replay->pool, batch.tasks[i], &view, err);
		assert(rc == 0);
		uint32_t left = view.steps - view.steps_done;

		bench->works[i] = view.payload;
		bench->steps[i] = batch.steps < left ? batch.steps : left;
	}
	if (replay->conf->gantt)
		draw(replay, bench);
	if (batch.count == 0)
		return 0;
	bench->cost_ns = batch_ns(replay, bench);
	bench->end_ns = replay->now_ns + bench->cost_ns;
	return heap_push(&replay->busy, &bench->by_end, heap_key_time(bench->end_ns))
		       ? strata_fail_memory(err)
		       : 0;
}

/* ---- the clock ---- */

static struct bench *next_to_end(const struct replay *replay)
{
	struct heap_node *top = heap_top(&replay->busy);

	return top ? container_of(top, struct bench, by_end) : NULL;
}

/* The next moment at which something happens, or INT64_MAX. */
static int64_t next_ns(const struct replay *replay)
{
	const struct requests *trace = replay->conf->requests;
	const struct bench *bench = next_to_end(replay);
	int64_t next = bench ? bench->end_ns : INT64_MAX, pool = strata_pool_next_ns(replay->pool);

	if (replay->arrived < trace->count && trace->rows[replay->arrived].arrival_ns < next)
		next = trace->rows[replay->arrived].arrival_ns;
	/* A wait for mates, or a window of quotas. Leases do not end here. */
	if (strata_pool_pending_count(replay->pool) > 0 && pool < next &&
	    pool < STRATA_DURATION_NS_MAX)
		next = pool;
	return next;
}

/* Everything that happens at one moment. */
static int live(struct replay *replay, struct strata_error *err)
{
	const struct requests *trace = replay->conf->requests;
	struct bench *bench;
	int rc = 0;

	while (rc == 0 && (bench = next_to_end(replay)) && bench->end_ns <= replay->now_ns) {
		heap_pop(&replay->busy);
		rc = finish(replay, bench, err);
	}
	while (rc == 0 && replay->arrived < trace->count &&
	       trace->rows[replay->arrived].arrival_ns <= replay->now_ns)
		rc = arrive(replay, err);
	for (int64_t i = 0; rc == 0 && i < replay->conf->workers; i++)
		if (replay->benches[i].count == 0)
			rc = ask(replay, &replay->benches[i], err);
	if (rc == 0 && replay->conf->gantt) {
		struct strata_pool_metrics stats;

		strata_pool_metrics(replay->pool, &stats);
		pool_gantt_count(replay->conf->gantt, stats.tasks[STRATA_TASK_PENDING],
				 replay->busy.count, replay->now_ns);
	}
	return rc;
}

static int run(struct replay *replay, struct strata_error *err)
{
	const struct pool_replay_conf *conf = replay->conf;
	int rc = 0;

	while (rc == 0) {
		int64_t next = next_ns(replay);

		if (next == INT64_MAX)
			break; /* nothing more can happen */
		replay->now_ns = next > replay->now_ns ? next : replay->now_ns;
		rc = live(replay, err);
		if (rc == 0 && replay->rounds++ % PROGRESS_EVERY == 0 && conf->progress &&
		    !conf->progress(conf->progress_context, replay->ended, conf->requests->count))
			rc = strata_fail(err, -ECANCELED, "stopped");
	}
	return rc;
}

/* ---- around it ---- */

static int open_pool(struct replay *replay, struct strata_memory *memory, struct strata_error *err)
{
	struct strata_pool_conf conf = replay->conf->pool;

	conf.attribute = attribute;
	conf.attribute_context = replay;
	conf.lease_ns = STRATA_DURATION_NS_MAX;
	int rc = strata_pool_new(&conf, memory, &replay->pool, err);

	for (int64_t i = 0; rc == 0 && i < replay->conf->workers; i++) {
		replay->benches[i].number = (size_t)i;
		rc = strata_pool_add_worker(replay->pool, replay->conf->memory_bytes, 0,
					    &replay->benches[i].handle, err);
	}
	return rc;
}

static int collect(const struct replay *replay, struct strata_arena *arena,
		   struct pool_replay_result *result, struct strata_error *err)
{
	const struct requests *trace = replay->conf->requests;

	result->jobs = strata_arena_array(arena, trace->count, sizeof(*result->jobs));
	if (!result->jobs)
		return strata_fail_memory(err);
	for (size_t i = 0; i < trace->count; i++) {
		const struct work *work = &replay->works[i];
		const struct request *request = &trace->rows[i];
		int64_t start_ns = work->end_ns - request->exec_ns;

		if (work->end_ns == 0)
			continue;
		/* A batch may do a step in less than its share of the time: then nothing was waited for. */
		result->jobs[result->job_count++] = (struct metrics_job){
			.submit_ns = request->arrival_ns,
			.start_ns = start_ns > request->arrival_ns ? start_ns : request->arrival_ns,
			.run_ns = request->exec_ns,
			.procs = 1,
			.user = request->user,
		};
	}
	result->refused = replay->refused;
	result->stuck = strata_pool_pending_count(replay->pool);
	strata_pool_metrics(replay->pool, &result->stats);
	return 0;
}

int pool_replay_run(const struct pool_replay_conf *conf, struct strata_arena *arena,
		    struct pool_replay_result *ret_result, struct strata_error *err)
{
	struct replay replay = { .conf = conf, .now_ns = 0 };
	struct pool_replay_result result = { 0 };

	assert(conf->workers >= 1);
	replay.works = strata_arena_array(arena, conf->requests->count, sizeof(*replay.works));
	replay.benches = strata_arena_array(arena, (size_t)conf->workers, sizeof(*replay.benches));
	if (!replay.works || !replay.benches)
		return strata_fail_memory(err);
	heap_init(&replay.busy, arena->memory, NULL, NULL);
	int rc = open_pool(&replay, arena->memory, err);

	if (rc == 0)
		rc = run(&replay, err);
	if (rc == 0)
		rc = collect(&replay, arena, &result, err);
	strata_pool_free(replay.pool);
	heap_fini(&replay.busy);
	if (rc == 0)
		*ret_result = result;
	return rc;
}
