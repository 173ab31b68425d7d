/* Batches: who joins whom, how many, for how long one waits for mates, and who is not kept waiting
 * by it. */
#include "pool_play.h"

#define GIB (INT64_C(1) << 30)

static uint64_t add_shape(const char *user, uint64_t model, uint64_t shape, int64_t now_ns)
{
	struct strata_task_request request = play_request(user, 4);

	request.model = model;
	request.shape = shape;
	return play_add_request(&request, now_ns);
}

static void open_batches(const char *policy, struct strata_pool_conf conf)
{
	conf.batch_max = 4;
	play_open(policy, &conf);
	for (uint64_t shape = 0; shape < 3; shape++)
		CHECK_OK(strata_pool_set_cap(pool, 1, shape, 4, &err));
}

TEST(the_same_model_and_shape_share_a_batch)
{
	open_batches("fifo", (struct strata_pool_conf){ 0 });
	uint64_t worker = play_worker(0, 0);
	uint64_t first = add_shape("a", 1, 1, 0), other = add_shape("a", 1, 2, 0);
	uint64_t model = add_shape("a", 2, 1, 0), mate = add_shape("b", 1, 1, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	CHECK_INT(batch.count, 2);
	CHECK(batch.tasks[0] == first && batch.tasks[1] == mate);
	CHECK_INT(play_status(other), STRATA_TASK_PENDING);
	CHECK_INT(play_status(model), STRATA_TASK_PENDING);
	CHECK_INT(play_metrics().batched, 1);
	CHECK_INT(play_metrics().overtakes, 0); /* the first in line was in it */
	play_close();
}

TEST(a_batch_is_no_larger_than_its_cap)
{
	open_batches("fifo", (struct strata_pool_conf){ 0 });
	CHECK_OK(strata_pool_set_cap(pool, 1, 1, 3, &err));
	uint64_t workers[] = { play_worker(0, 0), play_worker(0, 0), play_worker(0, 0) };

	for (int i = 0; i < 8; i++)
		add_shape("a", 1, 1, 0);
	CHECK_INT(play_pick(workers[0], 0, NULL).count, 3);
	add_shape("a", 9, 9, 0); /* a shape nobody has measured: one at a time */
	add_shape("a", 9, 9, 0);
	CHECK_INT(play_pick(workers[1], 0, NULL).count, 3);
	CHECK_INT(play_pick(workers[2], 0, NULL).count, 2);
	CHECK_INT(play_pick(play_worker(0, 0), 0, NULL).count, 1);
	play_close();
}

TEST(without_asking_for_batches_there_are_none)
{
	play_open("fifo", NULL);
	CHECK_OK(strata_pool_set_cap(pool, 1, 1, 4, &err));
	uint64_t worker = play_worker(0, 0);

	add_shape("a", 1, 1, 0);
	add_shape("a", 1, 1, 0);
	CHECK_INT(play_pick(worker, 0, NULL).count, 1);
	play_close();
}

TEST(tasks_join_and_leave_at_step_boundaries)
{
	open_batches("fifo", (struct strata_pool_conf){ 0 });
	uint64_t worker = play_worker(0, 0);
	uint64_t first = add_shape("a", 1, 1, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 1);
	uint64_t second = add_shape("b", 1, 1, 1), third = add_shape("c", 1, 1, 1);

	batch = play_pick(worker, 1, NULL);
	CHECK_INT(batch.count, 3);
	CHECK(batch.tasks[0] == first && batch.tasks[1] == second && batch.tasks[2] == third);
	struct strata_done rows[] = { { second, STRATA_DONE_FINISHED, 1, SECOND },
				      { first, STRATA_DONE_STEPS, 1, SECOND },
				      { third, STRATA_DONE_BACK, 1, SECOND } };

	CHECK_OK(strata_pool_done(pool, worker, rows, 3, 2, &err));
	CHECK_INT(play_status(third), STRATA_TASK_PENDING);
	batch = play_pick(worker, 2, NULL);
	CHECK_INT(batch.count, 2);
	CHECK(batch.tasks[0] == first && batch.tasks[1] == third);
	play_close();
}

/* A stream of mates would keep a worker from the first in line for ever; it does so often and no more. */
TEST(mates_overtake_the_first_in_line_so_often_and_no_more)
{
	uint64_t joined = 0, last = 0;

	open_batches("fifo", (struct strata_pool_conf){ .overtake_max = 6 });
	uint64_t worker = play_worker(0, 0);

	add_shape("a", 1, 1, 0);
	uint64_t first = add_shape("b", 1, 2, 0);

	for (int64_t now = 0; now < 100 && last != first; now++) {
		add_shape("a", 1, 1, now);
		struct strata_batch batch = play_pick(worker, now, NULL);
		struct strata_done rows[STRATA_BATCH_MAX];

		for (uint32_t i = 0; i < batch.count; i++) {
			struct strata_task_view view;

			CHECK_OK(strata_pool_get(pool, batch.tasks[i], &view, &err));
			joined += view.steps_done == 0 && now > 0;
			rows[i] = (struct strata_done){ batch.tasks[i],
							view.steps_done == 3 ? STRATA_DONE_FINISHED
									     : STRATA_DONE_STEPS,
							1, SECOND };
		}
		CHECK(batch.count > 0);
		last = batch.tasks[0];
		CHECK_OK(strata_pool_done(pool, worker, rows, batch.count, now, &err));
	}
	CHECK(last == first);
	CHECK_INT(joined, 6 + 1); /* six mates, and then itself */
	CHECK_INT(play_metrics().overtakes, 6);
	play_close();
}

TEST(a_batch_keeps_within_the_memory)
{
	open_batches("fifo", (struct strata_pool_conf){ 0 });
	uint64_t worker = play_worker(10 * GIB, 0);

	for (int i = 0; i < 4; i++) {
		struct strata_task_request request = play_request("a", 1);

		request.model = 1;
		request.shape = 1;
		request.memory_bytes = 4 * GIB;
		play_add_request(&request, 0);
	}
	CHECK_INT(play_pick(worker, 0, NULL).count, 2);
	play_close();
}

TEST(a_task_waits_for_mates_as_long_as_it_is_told_to)
{
	struct strata_why why;

	open_batches("fifo", (struct strata_pool_conf){ .batch_wait_ns = 5 * SECOND });
	uint64_t worker = play_worker(0, 0), task = add_shape("a", 1, 1, 0);

	CHECK_INT(play_pick(worker, SECOND, &why).count, 0);
	CHECK_INT(why.wait, STRATA_WAIT_BATCH);
	CHECK_INT(why.until_ns, 5 * SECOND);
	CHECK_INT(strata_pool_next_ns(pool), 5 * SECOND);
	CHECK_OK(strata_pool_why(pool, task, SECOND, &why, &err));
	CHECK_INT(why.wait, STRATA_WAIT_BATCH);
	add_shape("b", 1, 1, 2 * SECOND);
	CHECK_INT(play_pick(worker, 2 * SECOND, NULL).count, 0);
	struct strata_batch batch = play_pick(worker, 5 * SECOND, &why);

	CHECK_INT(batch.count, 2);
	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 6 * SECOND);
	CHECK_INT(play_pick(worker, 6 * SECOND, NULL).count,
		  2); /* what has begun waits for nobody */
	play_close();
	open_batches("fifo", (struct strata_pool_conf){ .batch_wait_ns = 5 * SECOND });
	worker = play_worker(0, 0);
	for (int i = 0; i < 4; i++)
		add_shape("a", 1, 1, 0);
	CHECK_INT(play_pick(worker, 0, NULL).count, 4); /* full: there is nothing to wait for */
	play_close();
}

/* A user far ahead of the others does not ride along in their batches. */
TEST(a_batch_keeps_fair_within_the_lead)
{
	open_batches("fair:lead=10s", (struct strata_pool_conf){ .steps_per_pick = UINT32_MAX });
	uint64_t worker = play_worker(0, 0);

	for (int i = 0; i < 200; i++)
		add_shape("greedy", 1, 1, 0);
	for (int i = 0; i < 40; i++)
		add_shape("modest", 1, 1, 0);
	for (int i = 0; i < 15; i++) {
		struct strata_batch batch = play_pick(worker, i, NULL);
		struct strata_user_metrics greedy, modest;

		play_done(&batch, STRATA_DONE_FINISHED, 0, 4 * SECOND, i);
		CHECK_OK(strata_pool_user_metrics(pool, "greedy", NULL, &greedy, &err));
		CHECK_OK(strata_pool_user_metrics(pool, "modest", NULL, &modest, &err));
		CHECK(greedy.used_ns - modest.used_ns <= (4 + 4 + 10 + 4) * SECOND);
	}
	play_close();
}
