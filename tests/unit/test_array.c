#include "small_cluster.h"

#include <errno.h>

static struct strata_job_request element(uint64_t id, uint32_t index, uint32_t limit)
{
	struct strata_job_request request = small_request(id, 1, 100);

	request.array = 7;
	request.array_index = index;
	request.array_limit = limit;
	return request;
}

TEST(no_more_than_the_limit_run_at_a_time)
{
	small_open("fifo", "easy", 1, 0);
	for (uint32_t i = 1; i <= 4; i++)
		small_submit(element(i, i, 2), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_TEXT(small_state(3), "queued, array_limit");
	CHECK_TEXT(small_state(4), "queued, array_limit"); /* behind one like it */
	small_submit(small_request(9, 1, 100), 1);
	CHECK_TEXT(small_pass(1), "9"); /* it stands in nobody's way */
	small_end(1, 2);
	CHECK_TEXT(small_pass(2), "3");
	small_close();
}

TEST(limits_and_indices_do_not_contradict_each_other)
{
	struct strata_job_request request = element(2, 1, 2);

	small_open("fifo", "easy", 1, 0);
	small_submit(element(1, 1, 2), 0);
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EEXIST,
		    "array 7 has an element 1 already");
	request.array_index = 2;
	request.array_limit = 3;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL,
		    "array_limit is 3; in other elements of array 7 it is 2");
	small_close();
}

TEST(an_array_is_forgotten_with_its_last_element)
{
	struct strata_job_request after = small_request(5, 1, 100);
	struct strata_dependency all = { STRATA_AFTER_ANY, 7, true, 0 };

	small_open("fifo", "easy", 1, 0);
	small_submit(element(1, 1, 0), 0);
	CHECK_TEXT(small_pass(0), "1");
	small_end(1, 1);
	CHECK_OK(strata_cluster_forget(small, 1, &err));
	after.dependencies = &all;
	after.dependency_count = 1;
	CHECK_ERROR(strata_cluster_submit(small, &after, 2, &err), -ESRCH,
		    "it depends on array 7, which is not known");
	small_submit(element(2, 1, 5), 2); /* the number may be used again */
	small_close();
}

TEST(another_limit_counts_from_the_next_pass_on)
{
	struct strata_job_request request = small_request(1, 1, 100);

	small_open("fifo", "easy", 1, 0);
	request.array = 7;
	request.array_limit = 1;
	request.array_count = 4;
	request.array_step = 1;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_limit_array(small, 7, 3, &err));
	CHECK_TEXT(small_pass(1), "2 3");
	CHECK_OK(strata_cluster_limit_array(small, 7, 1, &err));
	CHECK_TEXT(small_pass(2), "");
	CHECK_OK(strata_cluster_limit_array(small, 7, 0, &err));
	CHECK_TEXT(small_pass(3), "4");
	struct strata_array_view view;

	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_FAILED, 4 * SECOND, &err));
	CHECK_OK(strata_cluster_array(small, 7, &view, &err));
	CHECK(view.count == 4 && view.unstarted == 0 && view.open == 3 && view.bad == 1);
	CHECK_ERROR(strata_cluster_array(small, 8, &view, &err), -ESRCH, "there is no array 8");
	CHECK_ERROR(strata_cluster_limit_array(small, 8, 1, &err), -ESRCH, "there is no array 8");
	small_close();
}
