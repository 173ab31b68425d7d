#include "small_cluster.h"

#include <errno.h>

static void one_running(void)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 8, 1000), 0);
	CHECK_TEXT(small_pass(0), "1");
}

static int stop(uint64_t id, enum strata_stop mode, int64_t now_s)
{
	return strata_cluster_stop(small, id, mode, now_s * SECOND, &err);
}

TEST(a_job_can_be_sent_back)
{
	one_running();
	CHECK_OK(stop(1, STRATA_STOP_REQUEUE, 5));
	CHECK_TEXT(small_pass(5), "stop:1");
	CHECK_TEXT(small_pass(6), ""); /* told once */
	small_report(1, STRATA_OUTCOME_STOPPED, 7);
	CHECK_TEXT(small_state(1), "queued, requeued");
	CHECK_TEXT(small_pass(7), "1");
	CHECK_INT(small_job(1).attempt, 2);
	CHECK_INT(small_job(1).preempted, 0);
	small_close();
}

TEST(a_job_can_be_frozen_and_is_let_go_when_there_is_room)
{
	one_running();
	CHECK_OK(stop(1, STRATA_STOP_SUSPEND, 5));
	CHECK_TEXT(small_pass(5), "stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 6);
	CHECK_OK(strata_cluster_hold(small, 1, true, 6 * SECOND, &err));
	CHECK_TEXT(small_pass(6), "");
	CHECK_OK(strata_cluster_hold(small, 1, false, 50 * SECOND, &err));
	CHECK_TEXT(small_pass(50), "resume:1");
	small_close();
}

TEST(a_frozen_job_does_not_lock_out_who_waits_for_its_memory)
{
	static const char *const backfills[] = { "none", "easy", "conservative" };
	struct strata_job_request request = small_request(1, 4, 1000),
				  whole = small_request(2, 1, 10);

	request.memory_bytes = INT64_C(40) << 30;
	whole.exclusive =
		true; /* an empty node, which there is not while the other keeps its memory */
	for (int i = 0; i < 3; i++) {
		small_open("fifo", backfills[i], 1, 0);
		small_submit(request, 0);
		CHECK_TEXT(small_pass(0), "1");
		CHECK_OK(stop(1, STRATA_STOP_SUSPEND, 5));
		CHECK_TEXT(small_pass(5), "stop:1");
		small_report(1, STRATA_OUTCOME_STOPPED, 6);
		CHECK_OK(strata_cluster_hold(small, 1, true, 6 * SECOND, &err));
		whole.band = STRATA_BAND_HIGH;
		small_submit(whole, 7);
		CHECK_TEXT(small_pass(7), "");
		CHECK_OK(strata_cluster_hold(small, 1, false, 8 * SECOND, &err));
		CHECK_TEXT(small_pass(8), "resume:1");
		small_end(1, 20);
		CHECK_TEXT(small_pass(20), "2");
		small_close();
	}
}

TEST(an_end_for_good_counts_more_than_what_was_asked_before)
{
	one_running();
	CHECK_OK(stop(1, STRATA_STOP_REQUEUE, 5));
	CHECK_OK(stop(1, STRATA_STOP_CANCEL, 5));
	CHECK_OK(stop(1, STRATA_STOP_SUSPEND, 5));
	CHECK_TEXT(small_pass(5), "stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 6);
	CHECK_TEXT(small_state(1), "cancelled, none");
	CHECK_INT(small_job(1).end_ns, 6 * SECOND);
	small_close();
}

TEST(a_cancelled_job_ends_when_it_has_left_or_at_once_where_it_waits)
{
	one_running();
	small_submit(small_request(7, 1, 100), 2);
	CHECK_OK(strata_cluster_hold(small, 7, true, 2 * SECOND, &err));
	CHECK_OK(strata_cluster_cancel(small, 7, 3 * SECOND, &err));
	CHECK_TEXT(small_state(7), "cancelled, none");
	CHECK_INT(small_job(7).end_ns, 3 * SECOND);
	CHECK_OK(stop(1, STRATA_STOP_CANCEL, 4));
	CHECK(small_job(1).end_ns == STRATA_TIME_NONE);
	CHECK_TEXT(small_pass(5), "stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 9);
	CHECK_INT(small_job(1).end_ns, 9 * SECOND);
	small_close();
}

TEST(a_job_may_end_by_itself_before)
{
	one_running();
	CHECK_OK(stop(1, STRATA_STOP_REQUEUE, 5));
	small_end(1, 5);
	CHECK_TEXT(small_pass(6), "");
	CHECK_TEXT(small_state(1), "completed, none");
	CHECK_ERROR(stop(1, STRATA_STOP_CANCEL, 7), -ESTALE,
		    "job 1 is completed; expected one that is running");
	small_close();
}

TEST(who_was_not_asked_did_not_stop)
{
	one_running();
	CHECK_ERROR(strata_cluster_ended(small, 1, STRATA_OUTCOME_STOPPED, 0, &err), -ESTALE,
		    "job 1 was not asked to stop");
	small_close();
}
