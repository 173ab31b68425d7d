#include "small_cluster.h"

#include <errno.h>

static struct strata_job_request member(uint64_t id, int64_t cpus, uint32_t size)
{
	struct strata_job_request request = small_request(id, cpus, 100);

	request.gang = 5;
	request.gang_size = size;
	return request;
}

TEST(a_gang_starts_together_or_not_at_all)
{
	small_open("fifo", "easy", 2, 0); /* 16 cores */
	small_submit(small_request(1, 6, 50), 0);
	small_submit(member(2, 8, 2), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(small_state(2), "queued, gang"); /* not all are there */
	small_submit(member(3, 8, 2), 1);
	CHECK_TEXT(small_pass(1), "");
	CHECK_TEXT(small_state(2), "queued, resources");
	CHECK_TEXT(small_state(3), "queued, resources");
	CHECK_INT(small_job(2).promised_ns, 50 * SECOND);
	small_end(1, 20);
	CHECK_TEXT(small_pass(20), "2 3");
	CHECK_INT(small_job(2).start_ns, small_job(3).start_ns);
	small_close();
}

TEST(nobody_goes_before_a_gang_that_it_would_delay)
{
	static const char *const backfills[] = { "easy", "conservative" };

	for (int i = 0; i < 2; i++) {
		small_open("fifo", backfills[i], 2, 0);
		small_submit(small_request(1, 8, 50), 0);
		small_submit(member(2, 8, 2), 0);
		small_submit(member(3, 8, 2), 0);
		small_submit(small_request(4, 8, 51), 0);
		small_submit(small_request(5, 8, 50), 0);
		CHECK_TEXT(small_pass(0), "1 5"); /* 4 would stay past 50 */
		small_end(1, 50);
		small_end(5, 50);
		CHECK_TEXT(small_pass(50), "2 3");
		small_close();
	}
}

TEST(one_that_waits_for_something_holds_the_others)
{
	struct strata_job_request request = member(2, 1, 2);

	small_open("fifo", "easy", 1, 0);
	small_submit(member(1, 1, 2), 0);
	request.begin_ns = 30 * SECOND;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_TEXT(small_state(1), "queued, gang");
	CHECK_TEXT(small_state(2), "queued, begin_time");
	CHECK_TEXT(small_pass(30), "1 2");
	small_close();
}

TEST(what_no_cluster_can_hold_at_a_time_is_impossible)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(member(1, 5, 2), 0);
	small_submit(member(2, 5, 2), 0);
	small_submit(small_request(3, 1, 10), 0);
	CHECK_TEXT(small_pass(0), "3");
	CHECK_TEXT(small_state(1), "queued, impossible");
	small_close();
}

TEST(cancelling_one_before_the_start_cancels_all)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(member(1, 1, 3), 0);
	small_submit(member(2, 1, 3), 0);
	CHECK_OK(strata_cluster_cancel(small, 2, 0, &err));
	CHECK_TEXT(small_pass(0), "ended:1");
	CHECK_TEXT(small_state(1), "cancelled, gang");
	small_close();
}

TEST(a_gang_that_loses_one_comes_back_as_one)
{
	struct strata_job_request request = member(1, 8, 2);

	small_open("fifo", "easy", 2, 0);
	request.requeue = true;
	small_submit(request, 0);
	request.id = 2;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_DOWN, SECOND, &err));
	CHECK_TEXT(small_pass(1), "lost:2 lost:1");
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_UP, 2 * SECOND, &err));
	CHECK_TEXT(small_pass(2), "1 2");
	small_report(1, STRATA_OUTCOME_START_FAILED, 3);
	CHECK_TEXT(small_pass(3), "lost:2 1 2"); /* the other is stopped and starts with it */
	small_close();
}

TEST(sizes_do_not_contradict_each_other)
{
	struct strata_job_request request = member(2, 1, 3);

	small_open("fifo", "easy", 1, 0);
	small_submit(member(1, 1, 2), 0);
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL,
		    "gang 5 was begun with 2");
	small_submit(member(3, 1, 2), 0);
	request.gang_size = 2;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL,
		    "gang 5 has all of its 2 jobs");
	request.gang_size = STRATA_GANG_SIZE_MAX + 1;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL,
		    "gang_size is 257; expected 1 to 256");
	small_close();
}
