/* Decisions: who fits, who is overtaken how often, who gives way. */
#include "pool_play.h"

#include <errno.h>

#define GIB (INT64_C(1) << 30)

static uint64_t add_sized(int64_t memory_bytes)
{
	struct strata_task_request request = play_request("a", 1);

	request.memory_bytes = memory_bytes;
	return play_add_request(&request, 0);
}

static uint64_t whole_with(uint64_t worker, int64_t free_bytes)
{
	struct strata_ask ask = { .worker = worker, .free_bytes = free_bytes };
	struct strata_batch batch;

	CHECK_OK(strata_pool_pick(pool, &ask, 0, &batch, NULL, &err));
	if (batch.count)
		play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 0);
	return batch.count ? batch.tasks[0] : 0;
}

/* Any policy goes with limits on memory. */
TEST(a_task_that_does_not_fit_is_passed_over_so_often_and_no_more)
{
	static const char *const policies[] = { "fifo", "fair", "round_robin", "priority",
						"shortest" };

	for (size_t i = 0; i < 5; i++) {
		play_open(policies[i], &(struct strata_pool_conf){ .overtake_max = 3 });
		uint64_t worker = play_worker(16 * GIB, 0), large = add_sized(12 * GIB);

		for (int j = 0; j < 10; j++) { /* of others, so that fair and round_robin pass on */
			struct strata_task_request request = play_request("b", 1);

			request.memory_bytes = GIB;
			play_add_request(&request, 1);
		}
		for (int j = 0; j < 2; j++) { /* of the same user, who is first */
			struct strata_task_request request = play_request("a", 1);

			request.memory_bytes = GIB;
			play_add_request(&request, 1);
		}
		/* Something else holds the worker's memory for now. */
		int served = 0;
		uint64_t task;

		while ((task = whole_with(worker, 8 * GIB))) {
			CHECK(task != large);
			served++;
		}
		if (strcmp(policies[i], "fair") && strcmp(policies[i], "round_robin"))
			CHECK_INT(served, 3);
		struct strata_ask ask = { .worker = worker, .free_bytes = 8 * GIB };
		struct strata_batch batch;
		struct strata_why why;

		CHECK_OK(strata_pool_pick(pool, &ask, 0, &batch, &why, &err));
		CHECK_INT(batch.count, 0);
		CHECK_INT(why.wait, STRATA_WAIT_MEMORY);
		CHECK(why.task == large);
		CHECK(play_metrics().stalls >= 1);
		CHECK(whole_with(worker, -1) == large);
		CHECK(whole_with(worker, 8 * GIB) != 0);
	}
	play_close();
}

/* A small worker goes on past what only a large one can take; that costs the large task nothing. */
TEST(a_worker_too_small_for_a_task_does_not_wait_for_it)
{
	play_open("fifo", &(struct strata_pool_conf){ .overtake_max = 2 });
	uint64_t small = play_worker(4 * GIB, 0), large = add_sized(8 * GIB);

	for (int i = 0; i < 10; i++)
		add_sized(GIB);
	for (int i = 0; i < 10; i++)
		CHECK(whole_with(small, -1) != 0);
	CHECK_INT(whole_with(small, -1), 0);
	CHECK_INT(play_metrics().overtakes, 0);
	CHECK(whole_with(play_worker(16 * GIB, 0), -1) == large);
	play_close();
}

/* That nobody may overtake is another wish than none: 0 is the default, 16. */
TEST(the_first_in_line_may_be_kept_first)
{
	play_open("fifo", &(struct strata_pool_conf){ .overtake_max = STRATA_OVERTAKE_NEVER });
	uint64_t worker = play_worker(16 * GIB, 0), large = add_sized(12 * GIB);

	add_sized(GIB);
	CHECK_INT(whole_with(worker, 8 * GIB), 0);
	CHECK(whole_with(worker, -1) == large);
	play_open("fifo", NULL);
	worker = play_worker(16 * GIB, 0);
	large = add_sized(12 * GIB);
	uint64_t small = add_sized(GIB);

	CHECK(whole_with(worker, 8 * GIB) == small);
	play_close();
}

TEST(nothing_further_than_the_look_is_taken)
{
	play_open("fifo", &(struct strata_pool_conf){ .look_max = 5 });
	uint64_t worker = play_worker(GIB, 0);

	for (int i = 0; i < 5; i++)
		add_sized(2 * GIB);
	add_sized(GIB);
	CHECK_INT(whole_with(worker, -1), 0);
	CHECK_OK(strata_pool_cancel(pool, strata_pool_schedule(pool), 0, &err));
	CHECK(whole_with(worker, -1) != 0);
	play_close();
}

TEST(a_worker_reports_before_it_asks_again)
{
	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0);
	struct strata_ask ask = { .worker = worker, .free_bytes = -1 };
	struct strata_batch batch;
	uint64_t models[STRATA_WORKER_MODELS_MAX + 1] = { 0 };

	play_add("a", 3, 0);
	play_pick(worker, 0, NULL);
	CHECK_ERROR(strata_pool_pick(pool, &ask, 0, &batch, NULL, &err), -EBUSY, "reports before");
	ask.worker = play_worker(0, 0);
	ask.models = models;
	ask.model_count = STRATA_WORKER_MODELS_MAX;
	CHECK_OK(strata_pool_pick(pool, &ask, 0, &batch, NULL, &err));
	ask.model_count++;
	CHECK_ERROR(strata_pool_pick(pool, &ask, 0, &batch, NULL, &err), -EINVAL, "65 models");
	ask.worker = 12345;
	CHECK_ERROR(strata_pool_pick(pool, &ask, 0, &batch, NULL, &err), -ESTALE, "register again");
	play_close();
}

TEST(a_pick_covers_the_steps_it_is_told_to)
{
	play_open("fifo", &(struct strata_pool_conf){ .steps_per_pick = 10 });
	uint64_t worker = play_worker(0, 0), task = play_add("a", 25, 0);
	struct strata_task_view view;

	for (int i = 0; i < 3; i++) {
		struct strata_batch batch = play_pick(worker, i, NULL);

		CHECK_INT(batch.steps, 10);
		CHECK(batch.tasks[0] == task);
		play_done(&batch, i == 2 ? STRATA_DONE_FINISHED : STRATA_DONE_STEPS,
			  i == 2 ? 5 : 10, 10 * SECOND, i);
	}
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.status, STRATA_TASK_FINISHED);
	CHECK_INT(view.steps_done, 25);
	play_close();
}

TEST(without_preemption_what_has_begun_goes_on)
{
	play_open("priority:aging=0s", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 5, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);
	struct strata_task_request urgent = play_request("b", 1);

	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 0);
	urgent.priority = 10;
	play_add_request(&urgent, 0);
	CHECK(play_next(worker, 0) == task);
	play_close();
}

TEST(with_preemption_it_gives_way_and_keeps_its_progress)
{
	struct strata_task_view view;

	play_open("priority:aging=0s", &(struct strata_pool_conf){ .preempt = true });
	uint64_t worker = play_worker(0, 0), task = play_add("a", 5, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);
	struct strata_task_request urgent = play_request("b", 1);

	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, SECOND);
	urgent.priority = 10;
	uint64_t other = play_add_request(&urgent, SECOND);

	batch = play_pick(worker, SECOND, NULL);
	CHECK(batch.tasks[0] == other);
	CHECK_INT(batch.count, 1);
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.status, STRATA_TASK_PENDING);
	CHECK_INT(view.steps_done, 1);
	CHECK_INT(view.worker, 0);
	play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 2 * SECOND);
	batch = play_pick(worker, 2 * SECOND, NULL);
	CHECK(batch.tasks[0] == task);
	CHECK_INT(play_status(task), STRATA_TASK_DENOISING);
	play_close();
}

/* One of equal rank does not make another give way: that would go back and forth. */
TEST(equals_do_not_give_way)
{
	play_open("priority:aging=0s", &(struct strata_pool_conf){ .preempt = true });
	uint64_t worker = play_worker(0, 0), task = play_add("a", 5, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 0);
	play_add("b", 5, 0);
	CHECK(play_next(worker, 0) == task);
	CHECK_INT(play_metrics().preemptions, 0);
	play_close();
}

/* Who gives way for one that then does not fit has lost its place for nothing. */
TEST(nobody_gives_way_to_a_task_that_would_not_fit)
{
	for (uint64_t shape = 0; shape < 2; shape++) {
		struct strata_task_request request = play_request("a", 5);

		play_open("priority:aging=0s", &(struct strata_pool_conf){ .preempt = true });
		uint64_t worker = play_worker(16 * GIB, 0);

		request.memory_bytes = 4 * GIB;
		uint64_t task = play_add_request(&request, 0);
		struct strata_batch batch = play_pick(worker, 0, NULL);

		play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 0);
		request.priority = 9;
		request.shape = shape;
		request.memory_bytes = 12 * GIB;
		play_add_request(&request, 0);
		/* Something of the worker's own takes the rest for now. */
		struct strata_ask ask = { .worker = worker, .free_bytes = 7 * GIB };

		CHECK_OK(strata_pool_pick(pool, &ask, 0, &batch, NULL, &err));
		CHECK(batch.tasks[0] == task);
		CHECK_INT(play_metrics().preemptions, 0);
		play_done(&batch, STRATA_DONE_STEPS, 1, SECOND, 0);
		CHECK(play_next(worker, 0) != task); /* all of it is free again */
		CHECK_INT(play_metrics().preemptions, 1);
	}
	play_close();
}
