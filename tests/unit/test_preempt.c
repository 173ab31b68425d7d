#include "small_cluster.h"

/* Two nodes of 8 cores; low jobs that may be stopped. */
static void open_with(const char *victims)
{
	small_victims = victims;
	small_open("fifo", "easy", 2, 0);
	small_victims = NULL;
}

static struct strata_job_request low(uint64_t id, int64_t cpus)
{
	struct strata_job_request request = small_request(id, cpus, 10000);

	request.band = STRATA_BAND_LOW;
	request.preemptible = request.requeue = true;
	return request;
}

static struct strata_job_request high(uint64_t id, int64_t cpus)
{
	struct strata_job_request request = small_request(id, cpus, 1000);

	request.band = STRATA_BAND_HIGH;
	return request;
}

TEST(the_place_is_given_up_and_taken_back)
{
	open_with("least_lost:grace=30:protect=0");
	small_submit(low(1, 8), 0);
	small_submit(low(2, 8), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_submit(high(3, 8), 100);
	CHECK_TEXT(small_pass(100), "stop:2"); /* they lose the same: the later one */
	CHECK(small_job(2).stopping);
	CHECK_TEXT(small_pass(110), ""); /* nobody is stopped twice for one need */
	small_report(2, STRATA_OUTCOME_STOPPED, 120);
	CHECK_TEXT(small_state(2), "preempted, preempted");
	small_submit(low(4, 8), 120);
	CHECK_TEXT(small_pass(120), "3");
	small_end(3, 200);
	CHECK_TEXT(small_pass(200), "2"); /* before 4, which came later */
	CHECK_INT(small_job(2).attempt, 2);
	CHECK_INT(small_job(2).preempted, 1);
	small_close();
}

TEST(who_loses_least_goes)
{
	struct strata_checkpoint checkpoint = { "/a", 1, 90 * SECOND, 1 };

	open_with("least_lost:grace=30:protect=0");
	small_submit(low(1, 8), 0);
	small_submit(low(2, 8), 50);
	CHECK_TEXT(small_pass(50), "1 2");
	CHECK_OK(strata_cluster_checkpoint(small, 1, &checkpoint, 90 * SECOND, &err));
	small_submit(high(3, 8), 100);
	CHECK_TEXT(small_pass(100), "stop:1"); /* 10 s against 50 s */
	small_close();
	open_with("youngest:grace=30:protect=0");
	small_submit(low(1, 8), 0);
	CHECK_TEXT(small_pass(0), "1");
	small_submit(low(2, 8), 50);
	CHECK_TEXT(small_pass(50), "2");
	CHECK_OK(strata_cluster_checkpoint(small, 1, &checkpoint, 90 * SECOND, &err));
	small_submit(high(3, 8), 100);
	CHECK_TEXT(small_pass(100), "stop:2");
	small_close();
}

TEST(nobody_is_stopped_who_need_not_be)
{
	open_with("least_lost:grace=30:protect=0");
	small_submit(low(1, 2), 0);
	small_submit(low(2, 6), 1);
	small_submit(low(3, 8), 2);
	CHECK_TEXT(small_pass(2), "1 2 3");
	small_submit(high(4, 6), 10);
	CHECK_TEXT(small_pass(10),
		   "stop:2"); /* 1 is cheaper, but not enough, and then not needed */
	small_close();
}

TEST(several_nodes_are_freed_for_one_job)
{
	struct strata_job_request wide = high(3, 8);

	open_with("least_lost:grace=30:protect=0");
	small_submit(low(1, 8), 0);
	small_submit(low(2, 8), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	wide.tasks = wide.nodes = 2;
	small_submit(wide, 10);
	CHECK_TEXT(small_pass(10), "stop:2 stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 20);
	CHECK_TEXT(small_pass(20), "");
	small_report(2, STRATA_OUTCOME_STOPPED, 30);
	CHECK_TEXT(small_pass(30), "3");
	small_close();
}

TEST(only_lower_bands_that_allow_it_are_stopped)
{
	struct strata_job_request request = low(1, 8);

	open_with("least_lost:grace=30:protect=0");
	request.preemptible = false;
	small_submit(request, 0);
	request = low(2, 8);
	request.band = STRATA_BAND_HIGH;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "2 1");
	small_submit(high(3, 8), 10);
	CHECK_TEXT(small_pass(10), "");
	small_close();
}

TEST(a_job_is_left_alone_for_a_while_and_not_for_ever)
{
	open_with("least_lost:grace=10:protect=60:times=1");
	small_submit(low(1, 8), 0);
	CHECK_TEXT(small_pass(0), "1");
	struct strata_job_request other = small_request(2, 8, 10000);

	small_submit(other, 0);
	CHECK_TEXT(small_pass(0), "2");
	small_submit(high(3, 8), 10);
	CHECK_TEXT(small_pass(10), "");
	CHECK_INT(strata_cluster_next_ns(small), 60 * SECOND);
	CHECK_TEXT(small_pass(60), "stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 65);
	CHECK_TEXT(small_pass(65), "3");
	small_end(3, 70);
	CHECK_TEXT(small_pass(70), "1");
	small_submit(high(4, 8), 500);
	CHECK_TEXT(small_pass(500), ""); /* once is enough */
	small_close();
}

TEST(frozen_jobs_keep_their_memory_and_go_on)
{
	struct strata_job_request request = low(1, 8);

	open_with("least_lost:grace=0:protect=0:mode=suspend");
	CHECK_OK(strata_cluster_set_node(small, 1, STRATA_NODE_DOWN, 0, &err));
	request.memory_bytes = INT64_C(40) << 30;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	request = high(2, 4);
	request.memory_bytes = INT64_C(30) << 30; /* there are 64 GiB, and 40 stay taken */
	small_submit(request, 10);
	CHECK_TEXT(small_pass(10), "");
	small_submit(high(3, 4), 20);
	CHECK_TEXT(small_pass(20), "stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 20);
	CHECK_TEXT(small_state(1), "preempted, suspended");
	CHECK_TEXT(small_pass(20), "3");
	CHECK_OK(strata_cluster_cancel(small, 2, 30 * SECOND, &err));
	small_end(3, 100);
	CHECK_TEXT(small_pass(100), "resume:1");
	CHECK_INT(small_job(1).attempt, 1);
	CHECK_INT(small_job(1).start_ns, 80 * SECOND); /* its clock stood still */
	small_close();
}

TEST(cancelled_ones_do_not_come_back)
{
	open_with("lowest:grace=5:protect=0:mode=cancel");
	small_submit(low(1, 8), 0);
	small_submit(low(2, 8), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_submit(high(3, 8), 10);
	CHECK_TEXT(small_pass(10), "stop:2");
	small_report(2, STRATA_OUTCOME_STOPPED, 12);
	CHECK_TEXT(small_state(2), "cancelled, preempted");
	CHECK_TEXT(small_pass(12), "3");
	small_close();
}

TEST(who_must_not_run_twice_is_cancelled_instead_of_queued_again)
{
	struct strata_job_request once = low(1, 8);

	open_with("least_lost:grace=30:protect=0");
	once.requeue = false;
	once.nodes = 2;
	once.tasks = 2;
	small_submit(once, 0);
	CHECK_TEXT(small_pass(0), "1");
	small_submit(high(2, 8), 100);
	CHECK_TEXT(small_pass(100), "stop:1");
	small_report(1, STRATA_OUTCOME_STOPPED, 110);
	CHECK_TEXT(small_state(1), "cancelled, preempted");
	CHECK_TEXT(small_pass(110), "2");
	small_close();
}
