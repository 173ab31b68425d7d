/* Workers: leases that end, tasks that come back to their places, and never two who have the same task. */
#include "pool_play.h"

#include <errno.h>

TEST(a_silent_worker_loses_its_tasks_and_they_their_place_not)
{
	static const char *const policies[] = { "fifo",          "priority", "fair",
						"round_robin",   "shortest", "deadline",
						"resource_aware" };

	for (size_t i = 0; i < 7; i++) {
		struct strata_position position;

		play_open(policies[i], &(struct strata_pool_conf){ .lease_ns = 30 * SECOND });
		uint64_t lost = play_worker(0, 0), other = play_worker(0, 0);
		uint64_t task = play_add("a", 5, 0);

		for (int j = 0; j < 20; j++)
			play_add("a", 5, 1);
		struct strata_batch batch = play_pick(lost, 2, NULL);

		CHECK(batch.tasks[0] == task);
		play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 10 * SECOND);
		batch = play_pick(lost, 10 * SECOND, NULL);
		CHECK_OK(strata_pool_beat(pool, other, 30 * SECOND, &err));
		CHECK_INT(strata_pool_expire(pool, 40 * SECOND - 1), 0);
		CHECK_INT(strata_pool_next_ns(pool), 40 * SECOND);
		CHECK_INT(strata_pool_expire(pool, 40 * SECOND), 1);
		CHECK_INT(play_status(task), STRATA_TASK_PENDING);
		CHECK_OK(strata_pool_position(pool, task, 40 * SECOND, &position, &err));
		CHECK_INT(position.ahead, 0);
		CHECK(play_next(other, 40 * SECOND) == task);
		/* Whatever the lost one says now does not count. */
		struct strata_done row = { task, STRATA_DONE_FINISHED, 0, SECOND };

		CHECK_ERROR(strata_pool_done(pool, lost, &row, 1, 41 * SECOND, &err), -ESTALE,
			    "lost its lease");
		CHECK_ERROR(strata_pool_beat(pool, lost, 41 * SECOND, &err), -ESTALE,
			    "register again");
		CHECK_INT(play_status(task), STRATA_TASK_DENOISING);
		struct strata_pool_metrics metrics = play_metrics();

		CHECK_INT(metrics.returned, 1);
		CHECK_INT(metrics.workers, 1);
		CHECK_INT(metrics.workers_lost, 1);
	}
	play_close();
}

TEST(asking_reporting_and_beating_renew_a_lease)
{
	play_open("fifo", &(struct strata_pool_conf){ .lease_ns = 10 * SECOND });
	uint64_t worker = play_worker(0, 0);

	play_add("a", 9, 0);
	struct strata_batch batch = play_pick(worker, 9 * SECOND, NULL);

	CHECK_INT(strata_pool_expire(pool, 18 * SECOND), 0);
	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 18 * SECOND);
	CHECK_INT(strata_pool_expire(pool, 27 * SECOND), 0);
	CHECK_OK(strata_pool_beat(pool, worker, 27 * SECOND, &err));
	CHECK_INT(strata_pool_expire(pool, 36 * SECOND), 0);
	CHECK_INT(strata_pool_expire(pool, 37 * SECOND), 1);
	play_close();
}

TEST(the_most_silent_goes_first)
{
	uint64_t workers[4];

	play_open("fifo", &(struct strata_pool_conf){ .lease_ns = 10 * SECOND });
	for (int i = 0; i < 4; i++)
		workers[i] = play_worker(0, i * SECOND);
	CHECK_OK(strata_pool_beat(pool, workers[0], 5 * SECOND, &err));
	CHECK_OK(strata_pool_beat(pool, workers[2], 6 * SECOND, &err));
	CHECK_INT(strata_pool_expire(pool, 13 * SECOND), 2); /* the second and the fourth */
	CHECK_OK(strata_pool_beat(pool, workers[0], 13 * SECOND, &err));
	CHECK_INT(strata_pool_beat(pool, workers[1], 13 * SECOND, NULL), -ESTALE);
	CHECK_INT(strata_pool_beat(pool, workers[3], 13 * SECOND, NULL), -ESTALE);
	CHECK_INT(strata_pool_expire(pool, 1000 * SECOND), 2);
	CHECK_INT(strata_pool_next_ns(pool), INT64_MAX);
	play_close();
}

TEST(a_worker_that_leaves_gives_back_what_it_has)
{
	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 5, 0), gone = play_add("b", 5, 0);
	uint64_t other = play_worker(0, 0);

	play_pick(worker, 0, NULL);
	play_pick(other, 0, NULL);
	CHECK_OK(strata_pool_cancel(pool, gone, 1, &err));
	CHECK_OK(strata_pool_remove_worker(pool, worker, 2, &err));
	CHECK_OK(strata_pool_remove_worker(pool, other, 2, &err));
	CHECK_INT(play_status(task), STRATA_TASK_PENDING);
	CHECK_OK(strata_pool_forget(pool, gone, &err)); /* nobody has it any more */
	CHECK_INT(strata_pool_remove_worker(pool, worker, 2, &err), -ESTALE);
	CHECK_ERROR(strata_pool_add_worker(pool, -1, 0, &worker, &err), -EINVAL, "-1");
	play_close();
}

/* However full the trees are: room for what workers have was kept when they got it. */
TEST(what_comes_back_finds_its_place_without_memory)
{
	static const char *const policies[] = { "fifo", "shortest", "fair", "resource_aware" };
	enum { CREW = 120 };
	uint64_t crew[CREW];

	for (size_t i = 0; i < 4; i++)
		for (int more = 0; more < 1100; more += 31) {
			play_open(policies[i], NULL);
			for (int64_t task = 0; task < CREW; task++) {
				play_add("a", 1 + task * 7919 % 50, 0);
				crew[task] = play_worker(0, 0);
			}
			for (int worker = 0; worker < CREW; worker++)
				CHECK(play_next(crew[worker], 0) != 0);
			for (int64_t task = 0; task < more; task++)
				play_add("b", 1 + task * 6007 % 50, 1);
			play_memory.fail_at = play_memory.calls + 1;
			play_memory.fail_from_there = true;
			for (int worker = 0; worker < CREW; worker++)
				CHECK_OK(strata_pool_remove_worker(pool, crew[worker], 2, &err));
			play_memory.fail_at = 0;
			play_memory.fail_from_there = false;
			CHECK_INT(strata_pool_pending_count(pool), CREW + more);
		}
	play_close();
}
