#include "small_cluster.h"

TEST(held_jobs_wait_apart_and_keep_their_place)
{
	struct strata_job_request request = small_request(1, 8, 100);

	small_open("fifo", "none", 1, 0);
	request.held = true;
	small_submit(request, 0);
	small_submit(small_request(2, 8, 100), 0);
	small_submit(small_request(3, 8, 100), 0);
	CHECK_TEXT(small_state(1), "queued, held");
	CHECK_TEXT(small_pass(0), "2");
	CHECK_OK(strata_cluster_hold(small, 1, false, SECOND, &err));
	small_end(2, 2);
	CHECK_TEXT(small_pass(2), "1");
	small_close();
}

TEST(begin_times_are_waited_for)
{
	struct strata_job_request request = small_request(1, 1, 100);

	small_open("fifo", "easy", 1, 0);
	request.begin_ns = 10 * SECOND;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(9), "");
	CHECK_INT(strata_cluster_next_ns(small), 10 * SECOND);
	CHECK_TEXT(small_pass(10), "1");
	small_close();
}

TEST(an_ended_job_on_the_list_can_be_forgotten)
{
	struct strata_dependency dependency = { STRATA_AFTER_ANY, 1, false, 0 };
	struct strata_job_request request = small_request(2, 1, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	request.dependencies = &dependency;
	request.dependency_count = 1;
	small_submit(request, 0);
	request.id = 3;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	small_end(1, 1); /* both may go now, which the next pass will see */
	CHECK_OK(strata_cluster_cancel(small, 3, SECOND, &err));
	CHECK_OK(strata_cluster_forget(small, 3, &err));
	CHECK_TEXT(small_pass(1), "2");
	small_close();
}
