/* Reports: what is refused changes nothing, what is accepted counts once. */
#include "pool_play.h"

#include <errno.h>

TEST(a_report_that_is_not_the_batchs_changes_nothing)
{
	play_open("fifo", &(struct strata_pool_conf){ .batch_max = 4, .steps_per_pick = 2 });
	CHECK_OK(strata_pool_set_cap(pool, 0, 0, 4, &err));
	uint64_t worker = play_worker(0, 0), other = play_worker(0, 0);
	uint64_t a = play_add("a", 3, 0), b = play_add("b", 3, 0), waiting;
	struct strata_done rows[3] = { { a, STRATA_DONE_STEPS, 2, SECOND },
				       { b, STRATA_DONE_STEPS, 2, SECOND },
				       { 0, STRATA_DONE_STEPS, 0, 0 } };

	CHECK_ERROR(strata_pool_done(pool, worker, rows, 2, 0, &err), -EINVAL, "no batch");
	play_pick(worker, 0, NULL);
	waiting = play_add("c", 3, 0);
	uint64_t before = strata_pool_digest(pool);

	CHECK_ERROR(strata_pool_done(pool, worker, rows, 1, 0, &err), -EINVAL, "is not reported");
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 3, 0, &err), -ESTALE, "there is no task");
	rows[2].task = waiting;
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 3, 0, &err), -EINVAL,
		    "not with this worker");
	rows[2].task = a;
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 3, 0, &err), -EINVAL, "twice");
	rows[1].steps = 3;
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 2, 0, &err), -EINVAL, "was for 2");
	rows[1].steps = 2;
	rows[1].cost_ns = -1;
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 2, 0, &err), -EINVAL, "cost is -1");
	rows[1].cost_ns = SECOND;
	rows[1].kind = (enum strata_done_kind)9;
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 2, 0, &err), -EINVAL, "outcome 9");
	CHECK_ERROR(strata_pool_done(pool, other, rows, 2, 0, &err), -EINVAL, "no batch");
	CHECK(strata_pool_digest(pool) == before);
	rows[1].kind = STRATA_DONE_STEPS;
	CHECK_OK(strata_pool_done(pool, worker, rows, 2, 0, &err));
	CHECK(strata_pool_digest(pool) != before);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	rows[0].steps = 1;
	rows[1].steps = 2; /* only one is left */
	CHECK_INT(batch.count, 3);
	rows[2].steps = 1;
	rows[2].task = waiting;
	CHECK_ERROR(strata_pool_done(pool, worker, rows, 3, 0, &err), -EINVAL, "had 1 left");
	play_close();
}

TEST(a_task_may_end_before_its_last_step)
{
	struct strata_task_view view;

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 50, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_FINISHED, 1, SECOND, 1);
	CHECK_OK(strata_pool_get(pool, task, &view, &err));
	CHECK_INT(view.status, STRATA_TASK_FINISHED);
	CHECK_INT(view.steps_done, 1);
	CHECK(strata_pool_all_finished(pool));
	play_close();
}

TEST(a_task_without_steps_is_done_in_one_go)
{
	struct strata_task_request request = play_request("a", 0);

	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add_request(&request, 0);
	struct strata_batch batch = play_pick(worker, 0, NULL);

	play_done(&batch, STRATA_DONE_STEPS, 0, SECOND, 1);
	CHECK_INT(play_status(task), STRATA_TASK_ENCODING);
	batch = play_pick(worker, 1, NULL);
	play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, 2);
	CHECK_INT(play_status(task), STRATA_TASK_FINISHED);
	play_close();
}
