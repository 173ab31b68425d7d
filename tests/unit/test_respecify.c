#include "small_cluster.h"

#include <errno.h>

static int change_to(uint64_t id, uint32_t count, unsigned what, struct strata_job_request request)
{
	struct strata_job_change change = { .what = what, .request = &request };

	return strata_cluster_change_range(small, id, count, &change, SECOND, &err);
}

TEST(a_waiting_job_asks_for_something_else)
{
	struct strata_job_request smaller = small_request(2, 3, 100);

	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 5, 100), 0);
	small_submit(small_request(2, 8, 100), 0);
	small_submit(small_request(3, 3, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(change_to(2, 1, STRATA_CHANGE_REQUEST, smaller));
	CHECK_TEXT(small_pass(1), "2"); /* which was before 3 and still is */
	CHECK_ERROR(change_to(2, 1, STRATA_CHANGE_REQUEST, smaller), -ESTALE,
		    "job 2 is running; expected a waiting one, of which more than the time limit "
		    "can change");
	smaller.features = "warp";
	CHECK_OK(change_to(3, 1, STRATA_CHANGE_REQUEST, smaller));
	CHECK_TEXT(small_state(3), "queued, impossible");
	smaller.features = NULL;
	CHECK_OK(change_to(3, 1, STRATA_CHANGE_REQUEST, smaller));
	small_end(1, 2);
	CHECK_TEXT(small_pass(2), "3");
	small_close();
}

TEST(whose_it_is_counts_for_limits)
{
	struct strata_limits one = { .waiting = 1 };
	struct strata_job_request request = small_request(1, 8, 100);
	struct strata_usage_view usage;

	small_open("fifo", "none", 1, 0);
	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 1, &one, &err));
	request.held = true;
	small_submit(request, 0);
	request.id = 2;
	small_submit(request, 0);
	request.account = "lab";
	CHECK_OK(change_to(1, 1, STRATA_CHANGE_REQUEST, request));
	CHECK_OK(change_to(1, 1, STRATA_CHANGE_REQUEST, request)); /* it is there already */
	CHECK_ERROR(change_to(2, 1, STRATA_CHANGE_REQUEST, request), -EDQUOT,
		    "account lab has 1 waiting jobs; the limit is 1");
	strata_cluster_account(small, "lab", &usage);
	CHECK_INT(usage.waiting, 1);
	strata_cluster_user(small, "ann", &usage);
	CHECK_INT(usage.waiting, 2);
	request.account = NULL;
	CHECK_OK(change_to(1, 1, STRATA_CHANGE_REQUEST, request));
	strata_cluster_account(small, "lab", &usage);
	CHECK_INT(usage.waiting, 0);
	small_close();
}

TEST(what_it_waits_for_can_change)
{
	struct strata_dependency first = { .kind = STRATA_AFTER_OK, .job = 1 };
	struct strata_job_request request = small_request(3, 1, 100);

	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	small_submit(small_request(2, 1, 100), 0);
	request.held = true;
	request.dependencies = &first;
	request.dependency_count = 1;
	small_submit(request, 0);
	CHECK_OK(strata_cluster_hold(small, 3, false, 0, &err));
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_TEXT(small_state(3), "queued, dependency");
	first.job = 2;
	CHECK_OK(change_to(3, 1, STRATA_CHANGE_DEPENDENCIES, request));
	small_end(1, 1);
	CHECK_TEXT(small_pass(1), ""); /* which it does not wait for any more */
	small_end(2, 2);
	CHECK_TEXT(small_pass(2), "3");
	small_submit(small_request(4, 8, 100), 2);
	request = small_request(5, 1, 100);
	small_submit(request, 2);
	first.job = 5;
	request.dependencies = &first;
	request.dependency_count = 1;
	CHECK_ERROR(change_to(5, 1, STRATA_CHANGE_DEPENDENCIES, request), -EINVAL,
		    "job 5 can wait only for jobs that were submitted before it, not for 5");
	CHECK_ERROR(change_to(4, 1, STRATA_CHANGE_DEPENDENCIES, request), -EINVAL,
		    "job 4 can wait only for jobs that were submitted before it, not for 5");
	request.dependency_count = 0;
	CHECK_OK(change_to(5, 1, STRATA_CHANGE_DEPENDENCIES, request));
	CHECK_TEXT(small_pass(3), "");
	small_close();
}

TEST(under_another_name_it_is_of_another_series)
{
	struct strata_dependency alone = { .kind = STRATA_SINGLETON };
	struct strata_job_request request = small_request(1, 1, 100);

	small_open("fifo", "none", 1, 0);
	request.name = "train";
	small_submit(request, 0);
	request.id = 2;
	request.dependencies = &alone;
	request.dependency_count = 1;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(small_state(2), "queued, dependency");
	request.name = "other";
	CHECK_OK(change_to(2, 1, STRATA_CHANGE_REQUEST, request));
	CHECK_TEXT(small_pass(1), "2");
	small_close();
}

TEST(elements_that_wait_alike_change_together)
{
	struct strata_job_request request = small_request(1, 8, 100);

	small_open("fifo", "none", 1, 0);
	request.array = 1;
	request.array_index = 1;
	request.array_count = 6;
	request.array_step = 1;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_hold(small, 4, true, 0, &err));
	CHECK_OK(strata_cluster_hold(small, 4, false, 0, &err)); /* on its own since then */
	request.cpu_milli = 2000;
	CHECK_ERROR(change_to(1, 6, STRATA_CHANGE_REQUEST, request), -ESTALE,
		    "job 1 is running; expected a waiting one, of which more than the time limit "
		    "can change");
	CHECK_OK(change_to(2, 4, STRATA_CHANGE_REQUEST, request));
	small_end(1, 1);
	CHECK_TEXT(small_pass(1), "2 3 4 5");
	CHECK_TEXT(small_state(6), "queued, resources"); /* still all of the node */
	small_close();
}

TEST(without_memory_all_stays_as_it_was)
{
	struct strata_dependency after = { .kind = STRATA_AFTER_ANY, .job = 1 };
	struct strata_job_request request = small_request(2, 8, 100);
	struct strata_usage_view usage;
	int rc = -ENOMEM;

	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 8, 100), 0);
	request.array = 2;
	request.array_index = 1;
	request.array_count = 4;
	request.array_step = 1;
	small_submit(request, 0);
	request.name = "new";
	request.account = "lab";
	request.qos = "fast";
	request.features = "even";
	request.dependencies = &after;
	request.dependency_count = 1;
	for (uint64_t call = 1; rc == -ENOMEM; call++) {
		small_memory.fail_at = small_memory.calls + call;
		rc = change_to(3, 2, STRATA_CHANGE_REQUEST | STRATA_CHANGE_DEPENDENCIES, request);
		small_memory.fail_at = 0;
		CHECK(rc == 0 || call < 100);
		strata_cluster_account(small, "lab", &usage);
		CHECK_INT(usage.waiting, rc ? 0 : 2);
		strata_cluster_user(small, "ann", &usage);
		CHECK_INT(usage.waiting, 5);
		CHECK_TEXT(small_state(4), rc ? "queued, priority" : "queued, dependency");
	}
	CHECK_OK(rc);
	CHECK_TEXT(small_state(2), "queued, priority");
	CHECK_TEXT(small_state(3), "queued, dependency");
	CHECK_TEXT(small_pass(1), "1");
	small_end(1, 2);
	CHECK_TEXT(small_pass(2), "2");
	small_close();
}

/* A name that it did not get after all leaves nothing behind that jobs of other names could be taken for. */
TEST(without_memory_no_series_stays)
{
	struct strata_dependency alone = { .kind = STRATA_SINGLETON };
	int rc = -ENOMEM;

	for (uint64_t call = 1; rc == -ENOMEM; call++) {
		struct strata_job_request request = small_request(1, 1, 100);

		CHECK(call < 100);
		small_open("fifo", "none", 1, 0);
		request.dependencies = &alone;
		request.dependency_count = 1;
		small_submit(request, 0);
		request.name = "new";
		small_memory.fail_at = small_memory.calls + call;
		rc = change_to(1, 1, STRATA_CHANGE_REQUEST | STRATA_CHANGE_DEPENDENCIES, request);
		small_memory.fail_at = 0;
		request.id = 2;
		request.name = "other";
		small_submit(request, 0);
		request.id = 3;
		request.name = rc ? "new" : "third";
		small_submit(request, 0);
		CHECK_TEXT(small_pass(0), "1 2 3");
		small_close();
	}
	CHECK_OK(rc);
}
