#include "small_cluster.h"

#include <errno.h>

TEST(a_job_found_running_is_adopted)
{
	struct strata_piece piece = { .node = 1, .tasks = 1, .cpu_milli = 6000 };

	small_open("fifo", "easy", 2, 0);
	small_submit(small_request(1, 6, 100), 5);
	CHECK_OK(strata_cluster_adopt(small, 1, 3, 10 * SECOND, &piece, 1, &err));
	struct strata_job_view view = small_job(1);

	CHECK_INT(view.state, STRATA_JOB_RUNNING);
	CHECK_INT(view.attempt, 3);
	CHECK_INT(view.expected_end_ns, 110 * SECOND);
	CHECK_INT(view.piece_count, 1);
	CHECK_INT(view.pieces[0].node, 1);
	small_submit(small_request(2, 6, 100), 20);
	CHECK_ERROR(strata_cluster_adopt(small, 2, 1, 20 * SECOND, &piece, 1, &err), -EBUSY,
		    "the place of job 2 on node 1 is not free");
	CHECK_TEXT(small_pass(20), "2");
	CHECK_INT(small_job(2).pieces[0].node, 0);
	small_end(1, 30);
	small_close();
}

TEST(attempts_from_before_are_not_used_again)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	CHECK_OK(strata_cluster_remember(small, 1, 4, 2, &err));
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(small_job(1).attempt, 5);
	CHECK_INT(small_job(1).preempted, 2);
	CHECK_ERROR(strata_cluster_remember(small, 1, 4, 2, &err), -ESTALE,
		    "job 1 is running; expected waiting");
	small_close();
}
