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
