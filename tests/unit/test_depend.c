#include "small_cluster.h"

#include <errno.h>

static struct strata_job_request after(uint64_t id, enum strata_dependency_kind kind,
				       uint64_t target)
{
	static struct strata_dependency dependencies[16];
	struct strata_job_request request = small_request(id, 1, 100);

	dependencies[id % 16] = (struct strata_dependency){ .kind = kind, .job = target };
	request.dependencies = &dependencies[id % 16];
	request.dependency_count = 1;
	return request;
}

static void four_that_wait_for_1(void)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	small_submit(after(2, STRATA_AFTER, 1), 0);
	small_submit(after(3, STRATA_AFTER_ANY, 1), 0);
	small_submit(after(4, STRATA_AFTER_OK, 1), 0);
	small_submit(after(5, STRATA_AFTER_NOT_OK, 1), 0);
	CHECK_TEXT(small_state(2), "queued, dependency");
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(small_pass(1), "2"); /* it has started */
}

TEST(each_kind_waits_for_what_it_says)
{
	four_that_wait_for_1();
	small_end(1, 5);
	CHECK_TEXT(small_pass(5), "3 4");
	CHECK_TEXT(small_state(5), "queued, dependency_never");
	four_that_wait_for_1();
	small_report(1, STRATA_OUTCOME_FAILED, 5);
	CHECK_TEXT(small_pass(5), "3 5");
	CHECK_TEXT(small_state(4), "queued, dependency_never");
	four_that_wait_for_1();
	CHECK_OK(strata_cluster_cancel(small, 1, 5 * SECOND, &err));
	CHECK_TEXT(small_pass(5), "3 5");
	small_close();
}

TEST(what_has_happened_already_is_not_waited_for)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	small_submit(after(2, STRATA_AFTER, 1), 1);
	CHECK_TEXT(small_pass(1), "2");
	small_end(1, 2);
	small_submit(after(3, STRATA_AFTER_OK, 1), 3);
	small_submit(after(4, STRATA_AFTER_NOT_OK, 1), 3);
	CHECK_TEXT(small_pass(3), "3");
	CHECK_TEXT(small_state(4), "queued, dependency_never");
	struct strata_job_request lost = after(5, STRATA_AFTER_OK, 77);

	CHECK_ERROR(strata_cluster_submit(small, &lost, 3, &err), -ESRCH,
		    "it depends on job 77, which is not known");
	small_close();
}

TEST(who_asked_for_it_is_cancelled_when_hope_is_gone)
{
	struct strata_job_request request = after(2, STRATA_AFTER_OK, 1);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	request.cancel_if_never = true;
	small_submit(request, 0);
	request = after(3, STRATA_AFTER_OK, 2);
	request.cancel_if_never = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	small_report(1, STRATA_OUTCOME_FAILED, 1);
	CHECK_TEXT(small_pass(1), "ended:2 ended:3"); /* one takes the other with it */
	CHECK_TEXT(small_state(3), "cancelled, dependency_never");
	small_close();
}

TEST(one_of_several_may_be_enough)
{
	struct strata_dependency two[] = { { STRATA_AFTER_OK, 1, false, 0 },
					   { STRATA_AFTER_OK, 2, false, 0 } };
	struct strata_job_request request = small_request(3, 1, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	small_submit(small_request(2, 1, 100), 0);
	request.dependencies = two;
	request.dependency_count = 2;
	small_submit(request, 0);
	request.id = 4;
	request.any_dependency = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_report(1, STRATA_OUTCOME_FAILED, 1);
	CHECK_TEXT(small_pass(1), "");
	CHECK_TEXT(small_state(4), "queued, dependency");
	small_end(2, 2);
	CHECK_TEXT(small_pass(2), "4");
	small_close();
}

TEST(a_delay_counts_from_the_start)
{
	struct strata_dependency later = { STRATA_AFTER, 1, false, 30 * SECOND };
	struct strata_job_request request = small_request(2, 1, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	request.dependencies = &later;
	request.dependency_count = 1;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(small_pass(1), "");
	CHECK_TEXT(small_state(2), "queued, begin_time");
	CHECK_INT(strata_cluster_next_ns(small), 30 * SECOND);
	CHECK_TEXT(small_pass(30), "2");
	small_close();
}

/* Arrays 7 and 8 of two elements each; those of 8 wait for their partners in 7, and so does an element 3 for all. */
TEST(elements_wait_for_their_partners)
{
	small_open("fifo", "easy", 1, 0);
	for (uint32_t i = 1; i <= 2; i++) {
		struct strata_job_request request = small_request(i, 1, 100);

		request.array = 7;
		request.array_index = i;
		small_submit(request, 0);
	}
	for (uint32_t i = 1; i <= 3; i++) {
		struct strata_job_request request = after(10 + i, STRATA_AFTER_CORR, 7);

		request.array = 8;
		request.array_index = i;
		small_submit(request, 0);
	}
	CHECK_TEXT(small_pass(0), "1 2");
	small_end(2, 1);
	CHECK_TEXT(small_pass(1), "12");
	small_end(1, 2);
	CHECK_TEXT(small_pass(2), "11 13");
	small_close();
}

TEST(a_singleton_waits_for_all_older_ones_of_its_name)
{
	struct strata_job_request request = small_request(1, 1, 100);
	struct strata_dependency alone = { .kind = STRATA_SINGLETON };

	small_open("fifo", "easy", 1, 0);
	request.name = "train";
	small_submit(request, 0);
	request.id = 2;
	small_submit(request, 0);
	request.id = 3;
	request.dependencies = &alone;
	request.dependency_count = 1;
	small_submit(request, 0);
	request.id = 4;
	request.user = "bob"; /* another user's is another series */
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2 4");
	small_end(2, 1);
	CHECK_TEXT(small_pass(1), "");
	small_end(1, 2);
	CHECK_TEXT(small_pass(2), "3");
	small_close();
}

TEST(an_array_is_waited_for_as_a_whole)
{
	struct strata_dependency all = { STRATA_AFTER_OK, 7, true, 0 };
	struct strata_job_request request = small_request(1, 1, 100);

	small_open("fifo", "easy", 1, 0);
	request.array = 7;
	small_submit(request, 0);
	request.id = 2;
	request.array_index = 1;
	small_submit(request, 0);
	request = small_request(3, 1, 100);
	request.dependencies = &all;
	request.dependency_count = 1;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_end(1, 1);
	CHECK_TEXT(small_pass(1), "");
	small_end(2, 2);
	CHECK_TEXT(small_pass(2), "3");
	small_close();
}

TEST(too_many_dependencies_are_refused)
{
	static struct strata_dependency many[STRATA_DEPENDENCY_COUNT_MAX + 1];
	struct strata_job_request request = small_request(2, 1, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	for (size_t i = 0; i <= STRATA_DEPENDENCY_COUNT_MAX; i++)
		many[i] = (struct strata_dependency){ .kind = STRATA_AFTER_ANY, .job = 1 };
	request.dependencies = many;
	request.dependency_count = STRATA_DEPENDENCY_COUNT_MAX + 1;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -ERANGE,
		    "4097 dependencies; expected at most 4096");
	request.dependency_count = STRATA_DEPENDENCY_COUNT_MAX;
	small_submit(request, 0);
	small_close();
}

TEST(what_the_caller_knows_of_a_forgotten_job_counts)
{
	static const struct {
		enum strata_known known;
		const char *state;
	} cases[] = { { STRATA_KNOWN_MET, "running, none" },
		      { STRATA_KNOWN_NEVER, "queued, dependency_never" } };

	for (size_t i = 0; i < 2; i++) {
		struct strata_dependency old = { .kind = STRATA_AFTER_OK,
						 .job = 77,
						 .known = cases[i].known };
		struct strata_job_request request = small_request(1, 1, 100);

		small_open("fifo", "easy", 1, 0);
		request.dependencies = &old;
		request.dependency_count = 1;
		small_submit(request, 0);
		small_pass(0);
		CHECK_TEXT(small_state(1), cases[i].state);
		small_close();
	}
}

TEST(an_element_that_failed_and_was_forgotten_counts_for_its_array)
{
	struct strata_dependency ok = {
		.kind = STRATA_AFTER_OK, .job = 1, .array = true, .array_bad = true
	};
	struct strata_dependency bad = {
		.kind = STRATA_AFTER_NOT_OK, .job = 1, .array = true, .array_bad = true
	};
	struct strata_job_request element = small_request(2, 8, 100),
				  wants_ok = small_request(3, 1, 100),
				  wants_bad = small_request(4, 1, 100);

	small_open("fifo", "easy", 1, 0);
	element.array = 1;
	element.array_index = 1;
	small_submit(element, 0);
	CHECK_TEXT(small_pass(0), "2");
	wants_ok.dependencies = &ok;
	wants_bad.dependencies = &bad;
	wants_ok.dependency_count = wants_bad.dependency_count = 1;
	small_submit(wants_ok, 0);
	small_submit(wants_bad, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_TEXT(small_state(3), "queued, dependency_never");
	CHECK_TEXT(small_state(4), "queued, dependency");
	small_end(2, 10); /* the last of them, and it is fine */
	CHECK_TEXT(small_pass(10), "4");
	small_close();
}

TEST(dependencies_of_no_kind_are_refused)
{
	struct strata_dependency one = { .kind = STRATA_AFTER_ANY, .job = 1 };
	struct strata_job_request request = small_request(2, 1, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	request.dependencies = &one;
	request.dependency_count = 1;
	one.delay_ns = -1;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL, "dependency 1 is of no");
	one.delay_ns = 0;
	one.kind = (enum strata_dependency_kind)STRATA_DEPENDENCY_KIND_COUNT;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL, "dependency 1 is of no");
	one.kind = STRATA_AFTER_ANY;
	one.known = (enum strata_known)STRATA_KNOWN_COUNT;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL, "dependency 1 is of no");
	one.known = 0;
	small_submit(request, 0);
	small_close();
}
