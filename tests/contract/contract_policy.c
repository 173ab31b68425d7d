/*
 * What every policy must keep, built in or from a plug-in: no task is lost or comes twice, whatever
 * happens to the pool; decisions done over on another pool give the same state; the same calls give
 * the same decisions; and lack of memory changes nothing.
 */
#include "core/class.h"
#include "pool_play.h"
#include "random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { OPERATIONS = 60000 };
#else
enum { OPERATIONS = 1000000 };
#endif
enum { TASKS_MAX = 400, WORKERS_MAX = 5, USERS = 7, SHAPES = 3 };

/* Besides the defaults: what else the same storm goes over. */
static const char *const variants[] = {
	"fair:charge=start",
	"fair:within=shortest:max_running=2:max_queued=90:max_cost=40s:window=100s",
	"fair:within=priority:quantum=1s:lead=5s",
	"shortest:bound=0",
	"shortest:bound=0.5:reserve=0.5",
	"priority:aging=0s",
	"deadline:workers=3",
	"deadline:admission=false",
	"resource_aware:max_vram_gb=4",
};

/* ---- the model: what must be true ---- */

struct known {
	uint64_t task;   /* 0: this place is free */
	uint64_t worker; /* the worker that has it, 0: none */
	bool ended;
};

static struct {
	struct known tasks[TASKS_MAX];
	struct known *pending[TASKS_MAX];
	size_t task_count, waiting, running;
	uint64_t workers[WORKERS_MAX];            /* 0: free */
	struct strata_batch batches[WORKERS_MAX]; /* count 0: it may pick */
	int64_t now_ns;
	uint64_t seed;
	uint64_t ended;
} model;

static struct strata_pool *other; /* told the same; NULL: none is */
static char users[USERS][8];

static uint64_t below(uint64_t count)
{
	return random_below(&model.seed, count);
}

static struct known *known_of(uint64_t task)
{
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (model.tasks[i].task == task)
			return &model.tasks[i];
	test_fail(__FILE__, __LINE__, "task %#llx was never added", (unsigned long long)task);
}

static struct known *any_known(bool (*wanted)(const struct known *))
{
	size_t from = below(TASKS_MAX);

	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct known *known = &model.tasks[(from + i) % TASKS_MAX];

		if (known->task && wanted(known))
			return known;
	}
	return NULL;
}

static bool is_live(const struct known *known)
{
	return !known->ended;
}

static bool is_gone(const struct known *known)
{
	return known->ended && !known->worker;
}

static void model_end(struct known *known)
{
	CHECK(!known->ended);
	if (known->worker)
		model.running--;
	else
		model.waiting--;
	known->ended = true;
	model.ended++;
}

/* ---- operations, on both pools ---- */

static void add(void)
{
	struct known *place = NULL;
	struct strata_task_request request;
	uint64_t task = 0, again = 0;

	for (size_t i = 0; i < TASKS_MAX && !place; i++)
		if (model.tasks[i].task == 0)
			place = &model.tasks[i];
	if (!place)
		return;
	strata_task_request_init(&request);
	request.user = users[below(USERS)];
	request.account = below(3) ? NULL : users[below(2)];
	request.priority = (int64_t)below(11);
	request.steps = (uint32_t)below(6);
	request.cost_ns = (int64_t)(below(20) * SECOND);
	request.model = below(2);
	request.shape = below(SHAPES);
	request.memory_bytes = (int64_t)below(6) << 30;
	request.weight = below(4) ? 0 : 2;
	request.deadline_ns = below(2) ? 0 : model.now_ns + (int64_t)(below(400) * SECOND);
	int rc = strata_pool_add(pool, &request, model.now_ns, &task, &err);

	if (other)
		CHECK_INT(strata_pool_add(other, &request, model.now_ns, &again, NULL), rc);
	CHECK(rc == 0 || rc == -EDQUOT || rc == -ETIME || rc == -E2BIG);
	CHECK(task == again || !other);
	if (rc)
		return;
	*place = (struct known){ .task = task };
	model.waiting++;
}

static void cancel(void)
{
	struct known *known = any_known(is_live);

	if (!known)
		return;
	CHECK_OK(strata_pool_cancel(pool, known->task, model.now_ns, &err));
	if (other)
		CHECK_OK(strata_pool_cancel(other, known->task, model.now_ns, &err));
	model_end(known);
	CHECK_INT(strata_pool_cancel(pool, known->task, model.now_ns, NULL), -EALREADY);
	if (!known->worker)
		return;
	CHECK_INT(strata_pool_forget(pool, known->task, NULL), -EBUSY);
}

static void prioritise(void)
{
	struct known *known = any_known(is_live);
	int64_t priority = (int64_t)below(11);

	if (!known)
		return;
	CHECK_OK(strata_pool_set_priority(pool, known->task, priority, model.now_ns, &err));
	if (other)
		CHECK_OK(
			strata_pool_set_priority(other, known->task, priority, model.now_ns, &err));
}

static void forget(void)
{
	struct known *known = any_known(is_gone);

	if (!known)
		return;
	CHECK_OK(strata_pool_forget(pool, known->task, &err));
	if (other)
		CHECK_OK(strata_pool_forget(other, known->task, &err));
	CHECK_INT(strata_pool_get(pool, known->task, &(struct strata_task_view){ 0 }, NULL),
		  -ESTALE);
	known->task = 0;
}

/* Those that the worker had and that are not in its new batch are in line again, or gone. */
static void model_release(uint64_t worker, const struct strata_batch *batch)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct known *known = &model.tasks[i];
		bool kept = false;

		if (!known->task || known->worker != worker)
			continue;
		for (uint32_t j = 0; batch && j < batch->count; j++)
			kept |= batch->tasks[j] == known->task;
		if (kept)
			continue;
		known->worker = 0;
		if (!known->ended) {
			model.running--;
			model.waiting++;
		}
	}
}

static void model_take(uint64_t worker, const struct strata_batch *batch)
{
	model_release(worker, batch);
	for (uint32_t i = 0; i < batch->count; i++) {
		struct known *known = known_of(batch->tasks[i]);

		CHECK(!known->ended);
		CHECK(known->worker == 0 || known->worker == worker); /* never with two */
		for (uint32_t j = 0; j < i; j++)
			CHECK(batch->tasks[j] != batch->tasks[i]);
		if (known->worker == 0) {
			known->worker = worker;
			model.waiting--;
			model.running++;
		}
	}
}

/* The batch goes to the other pool as bytes. */
static void repeat(const struct strata_batch *batch)
{
	uint8_t bytes[STRATA_BATCH_BYTES];
	struct strata_batch again;

	strata_batch_pack(batch, bytes);
	CHECK_OK(strata_batch_unpack(bytes, &again, &err));
	CHECK_OK(strata_pool_apply(other, &again, &err));
	CHECK_INT(strata_pool_apply(other, &again, NULL), -ESTALE); /* not twice */
}

static void pick(void)
{
	const uint64_t loaded[] = { below(2) };
	size_t at = below(WORKERS_MAX);
	struct strata_ask ask = { .worker = model.workers[at],
				  .free_bytes = below(4) ? -1 : (int64_t)below(5) << 30,
				  .models = loaded,
				  .model_count = 1 };
	struct strata_why why;

	if (!ask.worker)
		return;
	if (model.batches[at].count > 0) {
		CHECK_INT(strata_pool_pick(pool, &ask, model.now_ns, &(struct strata_batch){ 0 },
					   NULL, NULL),
			  -EBUSY);
		return;
	}
	CHECK_OK(strata_pool_pick(pool, &ask, model.now_ns, &model.batches[at], &why, &err));
	CHECK((model.batches[at].count == 0) == (why.wait != STRATA_WAIT_NONE));
	if (model.batches[at].count == 0) {
		if (other) /* that it was heard of counts there too */
			CHECK_OK(strata_pool_beat(other, ask.worker, model.now_ns, &err));
		return;
	}
	model_take(ask.worker, &model.batches[at]);
	if (other)
		repeat(&model.batches[at]);
}

static void done(void)
{
	size_t at = below(WORKERS_MAX), count = 0;
	struct strata_done rows[STRATA_BATCH_MAX];
	const struct strata_batch *batch = &model.batches[at];

	if (!model.workers[at] || batch->count == 0)
		return;
	for (uint32_t i = 0; i < batch->count; i++) {
		struct known *known = known_of(batch->tasks[i]);
		struct strata_task_view view;

		CHECK_OK(strata_pool_get(pool, known->task, &view, &err));
		uint32_t left = view.steps - view.steps_done;

		if (known->ended && below(2))
			continue; /* it was cancelled and need not be mentioned */
		rows[count] = (struct strata_done){
			.task = known->task,
			.kind = (enum strata_done_kind)(below(10) ? below(2) : below(4)),
			.steps = left < batch->steps ? left : batch->steps,
			.cost_ns = (int64_t)below(3 * SECOND),
		};
		count++;
	}
	CHECK_OK(strata_pool_done(pool, model.workers[at], rows, count, model.now_ns, &err));
	if (other)
		CHECK_OK(strata_pool_done(other, model.workers[at], rows, count, model.now_ns,
					  &err));
	for (size_t i = 0; i < count; i++) {
		struct known *known = known_of(rows[i].task);

		if (known->ended)
			continue;
		if (rows[i].kind == STRATA_DONE_FINISHED || rows[i].kind == STRATA_DONE_FAILED) {
			model_end(known);
			known->worker = 0;
		} else if (rows[i].kind == STRATA_DONE_BACK) {
			known->worker = 0;
			model.running--;
			model.waiting++;
		}
	}
	for (size_t i = 0; i < TASKS_MAX; i++) /* the cancelled ones are let go of */
		if (model.tasks[i].task && model.tasks[i].ended &&
		    model.tasks[i].worker == model.workers[at])
			model.tasks[i].worker = 0;
	model.batches[at].count = 0;
}

static void come(void)
{
	size_t at = below(WORKERS_MAX);
	int64_t memory_bytes = (int64_t)below(3) << 32;
	uint64_t again;

	if (model.workers[at])
		return;
	CHECK_OK(
		strata_pool_add_worker(pool, memory_bytes, model.now_ns, &model.workers[at], &err));
	if (other) {
		CHECK_OK(strata_pool_add_worker(other, memory_bytes, model.now_ns, &again, &err));
		CHECK(again == model.workers[at]);
	}
	model.batches[at].count = 0;
}

static void go(void)
{
	size_t at = below(WORKERS_MAX);

	if (!model.workers[at])
		return;
	CHECK_OK(strata_pool_remove_worker(pool, model.workers[at], model.now_ns, &err));
	if (other)
		CHECK_OK(strata_pool_remove_worker(other, model.workers[at], model.now_ns, &err));
	model_release(model.workers[at], NULL);
	CHECK_INT(strata_pool_done(pool, model.workers[at], NULL, 0, model.now_ns, NULL), -ESTALE);
	model.workers[at] = 0;
}

/* Time passes; some workers are silent too long. */
static void wait(void)
{
	model.now_ns += (int64_t)below(2 * SECOND);
	size_t lost = strata_pool_expire(pool, model.now_ns);

	if (other)
		CHECK_INT(strata_pool_expire(other, model.now_ns), lost);
	for (size_t i = 0; i < WORKERS_MAX; i++) {
		if (!model.workers[i] ||
		    strata_pool_beat(pool, model.workers[i], model.now_ns, NULL) == 0) {
			if (model.workers[i] && other)
				CHECK_OK(strata_pool_beat(other, model.workers[i], model.now_ns,
							  &err));
			continue;
		}
		model_release(model.workers[i], NULL);
		model.workers[i] = 0;
		lost--;
	}
	CHECK_INT(lost, 0);
}

/* A long silence, so that leases do end. */
static void sleep_long(void)
{
	if (below(50) == 0)
		model.now_ns += 11 * SECOND;
	wait();
}

/* ---- what must be true at any time ---- */

static void check_state(void)
{
	struct strata_pool_metrics metrics = play_metrics();
	uint64_t running = metrics.tasks[STRATA_TASK_ENCODING] +
			   metrics.tasks[STRATA_TASK_DENOISING] +
			   metrics.tasks[STRATA_TASK_DECODING];
	static uint64_t page[TASKS_MAX + 1];

	CHECK_INT(strata_pool_pending_count(pool), model.waiting);
	CHECK_INT(metrics.tasks[STRATA_TASK_PENDING], model.waiting);
	CHECK_INT(running, model.running);
	CHECK_INT(strata_pool_all_finished(pool), model.waiting + model.running == 0);
	size_t count = strata_pool_page(pool, 0, page, TASKS_MAX + 1);

	CHECK_INT(count, model.waiting);
	for (size_t i = 0; i < count; i++) { /* each that waits is there, once */
		struct known *known = known_of(page[i]);

		CHECK(!known->ended && !known->worker);
		for (size_t j = 0; j < i; j++)
			CHECK(page[j] != page[i]);
	}
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct strata_task_view view;
		struct strata_position position;

		if (!model.tasks[i].task)
			continue;
		CHECK_OK(strata_pool_get(pool, model.tasks[i].task, &view, &err));
		CHECK_INT(strata_task_ended(view.status), model.tasks[i].ended);
		CHECK(view.worker == model.tasks[i].worker);
		if (view.status != STRATA_TASK_PENDING)
			continue;
		CHECK_OK(strata_pool_position(pool, model.tasks[i].task, model.now_ns, &position,
					      &err));
		CHECK(position.ahead < model.waiting + position.error);
	}
	if (other)
		CHECK(strata_pool_digest(pool) == strata_pool_digest(other));
}

/* Everything gets done in the end. */
static void drain(void)
{
	uint64_t worker;

	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (model.workers[i])
			CHECK_OK(strata_pool_remove_worker(pool, model.workers[i], model.now_ns,
							   &err));
	CHECK_OK(strata_pool_add_worker(pool, 0, model.now_ns, &worker, &err));
	for (size_t i = 0; !strata_pool_all_finished(pool); i++) {
		struct strata_batch batch = play_pick(worker, model.now_ns, NULL);

		CHECK(i < 100000);
		if (batch.count > 0)
			play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, model.now_ns);
		model.now_ns += 5 * SECOND; /* windows of quotas pass */
	}
	CHECK_INT(play_metrics().tasks[STRATA_TASK_PENDING], 0);
	struct strata_pool_metrics metrics = play_metrics();

	CHECK_INT(metrics.ended[STRATA_TASK_FINISHED] + metrics.ended[STRATA_TASK_FAILED] +
			  metrics.ended[STRATA_TASK_CANCELLED],
		  metrics.added);
}

static void storm(const char *policy, uint64_t seed, uint64_t operations)
{
	static void (*const choices[])(
		void) = { add,  add,  add,    pick,   pick,   pick, pick, done,       done,
			  done, done, cancel, forget, forget, wait, come, prioritise, sleep_long };
	struct strata_pool_conf conf = {
		.steps_per_pick = 1 + (uint32_t)(seed % 3),
		.batch_max = seed % 2 ? 4 : 1,
		.batch_wait_ns = seed % 5 == 0 ? SECOND : 0,
		.overtake_max = seed % 4 ? 3 : 0,
		.lease_ns = 10 * SECOND,
		.preempt = seed % 3 == 1,
	};

	memset(&model, 0, sizeof(model));
	model.seed = seed;
	play_open(policy, &conf);
	conf.policy = play_spec(policy);
	CHECK_OK(strata_pool_new(&conf, &play_memory, &other, &err));
	for (uint64_t model_number = 0; model_number < 2; model_number++)
		for (uint64_t shape = 0; shape < SHAPES; shape++) {
			CHECK_OK(strata_pool_set_cap(pool, model_number, shape, 4, &err));
			CHECK_OK(strata_pool_set_cap(other, model_number, shape, 4, &err));
		}
	for (uint64_t i = 0; i < operations; i++) {
		choices[below(sizeof(choices) / sizeof(choices[0]))]();
		if (i % 997 == 0)
			go();
		if (i % 4999 == 0)
			check_state();
	}
	check_state();
	strata_pool_free(other);
	other = NULL;
	drain();
	play_close();
}

TEST(no_task_is_lost_or_comes_twice)
{
	for (int i = 0; i < USERS; i++)
		snprintf(users[i], sizeof(users[i]), "u%d", i);
	uint64_t seed = 1;

	for (const struct strata_class *const *at = strata_policy_kind.classes; *at; at++)
		storm((*at)->name, seed++, OPERATIONS);
}

TEST(and_so_with_other_options)
{
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		for (uint64_t seed = 0; seed < 6; seed++)
			storm(variants[i], 100 + i * 6 + seed, OPERATIONS / 20);
}

/* ---- the same again ---- */

static uint64_t run_once(const char *policy)
{
	struct strata_pool_conf conf = { .steps_per_pick = 2, .batch_max = 4, .preempt = true };
	uint64_t seed = 5, decisions = 0, task;

	play_open(policy, &conf);
	uint64_t worker = play_worker(0, 0);

	for (int64_t now = 0; now < 2000; now++) {
		struct strata_task_request request =
			play_request(now % 3 ? "a" : "b", 1 + (int64_t)random_below(&seed, 9));

		request.deadline_ns = (now + 100000) * SECOND;
		request.model = random_below(&seed, 3);
		if (strata_pool_add(pool, &request, now * SECOND, &task, NULL))
			continue;
		struct strata_batch batch = play_pick(worker, now * SECOND, NULL);

		for (uint32_t i = 0; i < batch.count; i++)
			decisions = (decisions ^ batch.tasks[i]) * 0x9E3779B97F4A7C15u;
		if (batch.count)
			play_done(&batch, now % 2 ? STRATA_DONE_FINISHED : STRATA_DONE_STEPS, 0,
				  SECOND, now * SECOND);
	}
	decisions ^= strata_pool_digest(pool);
	play_close();
	return decisions;
}

TEST(the_same_calls_give_the_same_decisions)
{
	for (const struct strata_class *const *at = strata_policy_kind.classes; *at; at++)
		CHECK(run_once((*at)->name) == run_once((*at)->name));
}

/* ---- without memory ---- */

struct trial {
	struct strata_spec policy;
};

static int live_shortly(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	const struct trial *trial = context;
	struct strata_pool_conf conf = { .policy = trial->policy, .batch_max = 4 };
	struct strata_pool *made = NULL;
	struct strata_batch batch;
	uint64_t worker = 0, task = 99;
	int rc = strata_pool_new(&conf, from, &made, ret_err);

	CHECK(rc == 0 || !made);
	if (rc == 0)
		rc = strata_pool_add_worker(made, 0, 0, &worker, ret_err);
	for (int64_t i = 0; rc == 0 && i < 600; i++) {
		struct strata_task_request request = play_request(i % 2 ? "a" : "b", 1 + i % 7);
		size_t before = strata_pool_pending_count(made);

		request.account = i % 3 ? NULL : "lab";
		request.model = (uint64_t)i % 5;
		task = 99;
		rc = strata_pool_add(made, &request, i, &task, ret_err);
		if (rc) {
			CHECK_INT(strata_pool_pending_count(made), before);
			CHECK_INT(task, 99);
		}
		if (rc == 0 && i % 50 == 0)
			rc = strata_pool_set_priority(made, task, 9, i, ret_err);
	}
	if (rc == 0)
		rc = strata_pool_pick(made,
				      &(struct strata_ask){ .worker = worker, .free_bytes = -1 },
				      700, &batch, NULL, ret_err);
	/* What a worker has finds its place in line again without asking for memory. */
	if (rc == 0) {
		from->fail_at = from->calls + 1;
		from->fail_from_there = true;
		CHECK_INT(strata_pool_remove_worker(made, worker, 701, ret_err), 0);
		CHECK_INT(strata_pool_pending_count(made), 600);
	}
	strata_pool_free(made);
	return rc;
}

TEST(lack_of_memory_changes_nothing)
{
	for (const struct strata_class *const *at = strata_policy_kind.classes; *at; at++) {
		struct trial trial = { play_spec((*at)->name) };

		test_every_allocation(live_shortly, &trial);
	}
	play_close();
}
