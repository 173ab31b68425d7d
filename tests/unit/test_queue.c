#include "small_cluster.h"

/* The ids in the order of the queue, job group by job group, as the first jobs stand. */
static const char *order(void)
{
	static char text[1024];
	size_t length = 0;

	text[0] = '\0';
	for (struct job_group *job_group = queue_job_group(tree_first(&small->queue)); job_group;
	     job_group = queue_job_group(tree_next(&job_group->in_order)))
		for (struct job *job = job_group->first; job; job = job->after)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%llu",
						   length ? " " : "", (unsigned long long)job->id);
	return text;
}

TEST(jobs_alike_are_one_job_group_in_order_of_submission)
{
	small_open("fifo", "none", 1, 0);
	for (uint64_t id = 1; id <= 1000; id++)
		small_submit(small_request(id, 1, 60), 0);
	CHECK_INT(small->metrics.job_groups, 1);
	struct strata_job_request other = small_request(1001, 1, 60);

	other.user = "bob";
	small_submit(other, 0);
	CHECK_INT(small->metrics.job_groups, 2);
	CHECK_OK(strata_cluster_cancel(small, 1, 0, &err));
	CHECK_OK(strata_cluster_cancel(small, 500, 0, &err));
	CHECK_INT(queue_job_group(tree_first(&small->queue))->first->id, 2);
	CHECK_INT(queue_job_group(tree_first(&small->queue))->count, 998);
	small_close();
}

TEST(bands_come_before_everything_and_priority_before_time)
{
	struct strata_job_request request;

	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 1, 10), 0);
	request = small_request(2, 1, 20), request.band = STRATA_BAND_LOW;
	small_submit(request, 0);
	request = small_request(3, 1, 30), request.band = STRATA_BAND_HIGH;
	small_submit(request, 0);
	request = small_request(4, 1, 40), request.priority = 5;
	small_submit(request, 0);
	CHECK_TEXT(order(), "3 4 1 2");
	small_close();
}

TEST(what_is_expected_of_a_job_is_asked_of_the_prediction)
{
	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 8, 60), 0);
	small_submit(small_request(2, 8, 90), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(strata_cluster_predicted(small, 1), 60 * SECOND);
	CHECK_INT(strata_cluster_predicted(small, 2), 90 * SECOND);
	CHECK_INT(strata_cluster_predicted(small, 3), 0);
	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_COMPLETED, SECOND, &err));
	CHECK_INT(strata_cluster_predicted(small, 1), 0);
	small_close();
}

TEST(a_job_that_comes_back_takes_its_old_place)
{
	small_open("fifo", "none", 1, 0);
	for (uint64_t id = 1; id <= 3; id++)
		small_submit(small_request(id, 8, 60), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(order(), "2 3");
	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_START_FAILED, SECOND, &err));
	CHECK_TEXT(order(), "1 2 3");
	CHECK_INT(small_job(1).state, STRATA_JOB_QUEUED);
	small_close();
}

TEST(orders_that_change_with_time_are_brought_up_to_date)
{
	struct strata_job_request request;

	small_open("wfp3", "none", 1, 0);
	small_submit(small_request(1, 8, 1), 0); /* holds the node */
	CHECK_TEXT(small_pass(0), "1");
	small_submit(small_request(2, 1, 1000), 0);
	request = small_request(3, 1, 10);
	small_submit(request, 50);
	/* at 60: (60/1000)^3 < (10/10)^3 */
	small->now_ns = 60 * SECOND;
	CHECK_OK(queue_refresh(small, &small_arena, &err));
	CHECK_TEXT(order(), "3 2");
	small_close();
}

TEST(usage_moves_a_user_back_and_fades)
{
	struct strata_job_request request;

	small_open("fair_share", "none", 1, 0);
	small_submit(small_request(1, 8, 36000), 0); /* ann uses 8 cores for ten hours */
	CHECK_TEXT(small_pass(0), "1");
	small_submit(small_request(2, 8, 60), 1);
	request = small_request(3, 8, 60), request.user = "bob";
	small_submit(request, 2);
	small_end(1, 36000);
	CHECK_TEXT(small_pass(36000), "3");
	small_close();
}
