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
	CHECK_OK(strata_cluster_remember(small, 1, &(struct strata_job_past){ 4, 2, false }, &err));
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(small_job(1).attempt, 5);
	CHECK_INT(small_job(1).preempted, 2);
	CHECK_ERROR(
		strata_cluster_remember(small, 1, &(struct strata_job_past){ 4, 2, false }, &err),
		-ESTALE, "job 1 is running; expected waiting");
	small_close();
}

TEST(of_a_job_that_is_not_there_nothing_is_remembered)
{
	struct strata_job_past past = { 4, 2, true };

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	CHECK_ERROR(strata_cluster_remember(small, 2, &past, &err), -ESRCH, "no job 2");
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(small_job(1).attempt, 1);
	small_close();
}

TEST(what_a_store_knew_of_a_job_that_has_run_holds_for_those_who_wait_for_it)
{
	struct strata_job_request after = small_request(2, 1, 100);
	struct strata_dependency started = { .kind = STRATA_AFTER, .job = 1 };
	struct strata_checkpoint checkpoint = { "/c/7", 10, 3 * SECOND, 7 }, kept[2];

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	CHECK_OK(strata_cluster_hold(small, 1, true, 0, &err));
	after.dependencies = &started;
	after.dependency_count = 1;
	small_submit(after, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_ERROR(strata_cluster_checkpoint(small, 1, &checkpoint, 0, &err), -ESTALE,
		    "job 1 is queued; expected one that has run");
	CHECK_OK(strata_cluster_remember(small, 1, &(struct strata_job_past){ 1, 1, true }, &err));
	CHECK_TEXT(small_pass(1), "2");
	CHECK_OK(strata_cluster_checkpoint(small, 1, &checkpoint, 0, &err));
	CHECK_INT(strata_cluster_checkpoints(small, 1, kept), 1);
	CHECK_INT(kept[0].step, 7);
	small_close();
}

static double used(const char *user)
{
	struct strata_usage_view view;

	strata_cluster_user(small, user, &view);
	return view.gpu_hours;
}

/* One GPU and no fading to speak of. */
static void open_charging(void)
{
	small_conf.half_life_ns = INT64_C(1) << 60;
	small_open("fifo", "easy", 1, 4);
	small_conf = (struct strata_cluster_conf){ 0 };
}

static struct strata_job_request one_gpu(uint64_t id)
{
	struct strata_job_request request = small_request(id, 1, 100000);

	request.gpus = 1;
	return request;
}

TEST(a_job_that_ran_while_nobody_looked_is_charged_for_that_time)
{
	struct strata_piece piece = {
		.tasks = 1, .cpu_milli = 1000, .gpu_mask = 1, .gpu_milli = 1000
	};

	open_charging();
	/* the store had charged up to 3600 s; the job has run from 1800 s on, and it is 7200 s now */
	CHECK_OK(strata_cluster_add_usage(small, "ann", NULL, 2, 3600 * SECOND, &err));
	small_submit(one_gpu(1), 1000);
	small_submit(one_gpu(2), 7200);
	CHECK_OK(strata_cluster_adopt(small, 1, 1, 1800 * SECOND, &piece, 1, &err));
	CHECK_NEAR(used("ann"), 3, 1e-4);
	CHECK_NEAR(strata_cluster_association_usage(small, "ann", NULL), 3, 1e-4);
	CHECK_OK(strata_cluster_ended_after(small, 1, STRATA_OUTCOME_COMPLETED, 5400 * SECOND,
					    7200 * SECOND, &err));
	CHECK_NEAR(used("ann"), 3, 1e-4);
	small_close();
}

TEST(a_clock_that_jumps_changes_no_charge)
{
	open_charging();
	small_submit(one_gpu(1), 0);
	small_submit(one_gpu(2), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_NEAR(used("ann"), 0, 1e-6);
	/* an hour by its own clock, a year by the other */
	CHECK_OK(strata_cluster_ended_after(small, 1, STRATA_OUTCOME_COMPLETED, 3600 * SECOND,
					    INT64_C(31536000) * SECOND, &err));
	CHECK_OK(strata_cluster_ended_after(small, 2, STRATA_OUTCOME_COMPLETED, 3600 * SECOND,
					    INT64_C(31536000) * SECOND, &err));
	CHECK_NEAR(used("ann"), 2, 1e-3);
	small_submit(one_gpu(3), 100);
	CHECK_TEXT(small_pass(100),
		   "3"); /* the clock was set right, and stands still for the cluster */
	CHECK_OK(strata_cluster_ended_after(small, 3, STRATA_OUTCOME_COMPLETED, 3600 * SECOND,
					    3700 * SECOND, &err));
	CHECK_NEAR(used("ann"), 3, 1e-3);
	small_close();
}
