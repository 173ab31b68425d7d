/* Models and shapes: caps, and costs that are learned. */
#include "pool_play.h"

#include <errno.h>

TEST(a_cost_that_is_not_given_is_what_its_shape_has_cost)
{
	struct strata_task_view view;

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0);
	struct strata_task_request request = play_request("a", 10);

	request.shape = 3;
	play_add_request(&request, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 1, 2 * SECOND, 0);
	request.cost_ns = 0;
	request.steps = 30;
	CHECK_OK(strata_pool_get(pool, play_add_request(&request, 0), &view, &err));
	CHECK_INT(view.cost_ns, 60 * SECOND);
	request.shape = 4; /* nothing is known of it */
	CHECK_OK(strata_pool_get(pool, play_add_request(&request, 0), &view, &err));
	CHECK_INT(view.cost_ns, 0);
	play_close();
}

TEST(newer_measures_count_more)
{
	struct strata_task_view view;

	play_open("fifo", &(struct strata_pool_conf){ .steps_per_pick = 1000 });
	uint64_t worker = play_worker(0, 0);
	struct strata_task_request request = play_request("a", 1000);

	for (int i = 0; i < 40; i++) {
		play_add_request(&request, 0);
		struct strata_batch batch = play_pick(worker, 0, NULL);

		play_done(&batch, STRATA_DONE_FINISHED, 1000,
			  i < 20 ? 1000 * SECOND : 3000 * SECOND, 0);
	}
	request.cost_ns = 0;
	request.steps = 1;
	CHECK_OK(strata_pool_get(pool, play_add_request(&request, 0), &view, &err));
	CHECK(view.cost_ns > 29 * SECOND / 10 && view.cost_ns <= 3 * SECOND);
	play_close();
}

TEST(caps_have_limits)
{
	play_open("fifo", NULL);
	CHECK_OK(strata_pool_set_cap(pool, 1, 1, STRATA_BATCH_MAX, &err));
	CHECK_ERROR(strata_pool_set_cap(pool, 1, 1, STRATA_BATCH_MAX + 1, &err), -EINVAL, "33");
	CHECK_ERROR(strata_pool_set_cap(pool, 1, 1, 0, &err), -EINVAL, "expected 1 to 32");
	play_close();
}

TEST(pairs_of_model_and_shape_have_a_most)
{
	play_open("fifo", NULL);
	for (uint64_t i = 0; i < STRATA_POOL_SHAPES_MAX; i++)
		CHECK_OK(strata_pool_set_cap(pool, i / 7, i % 7, 2, &err));
	CHECK_ERROR(strata_pool_set_cap(pool, STRATA_POOL_SHAPES_MAX, 0, 2, &err), -ENOSPC,
		    "as many as it may");
	CHECK_OK(strata_pool_set_cap(pool, 0, 0, 3, &err)); /* one that it knows */
	play_close();
}
