#include "small_cluster.h"

#include <errno.h>

TEST(a_job_goes_through_its_life)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 60), 5);
	CHECK_INT(small_job(1).state, STRATA_JOB_QUEUED);
	CHECK_INT(small_job(1).submit_ns, 5 * SECOND);
	const struct strata_effect *effects;
	size_t count;

	CHECK_OK(strata_cluster_pass(small, 6 * SECOND, &small_arena, &effects, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(effects[0].kind, STRATA_EFFECT_START);
	CHECK_INT(effects[0].attempt, 1);
	CHECK_INT(small_job(1).state, STRATA_JOB_SCHEDULED);
	CHECK_INT(small_job(1).expected_end_ns, 66 * SECOND);
	CHECK_OK(strata_cluster_started(small, 1, 7 * SECOND, &err));
	CHECK_INT(small_job(1).state, STRATA_JOB_RUNNING);
	CHECK_ERROR(strata_cluster_started(small, 1, 7 * SECOND, &err), -ESTALE,
		    "job 1 is running; expected scheduled");
	small_end(1, 20);
	CHECK_INT(small_job(1).state, STRATA_JOB_COMPLETED);
	CHECK_INT(small_job(1).end_ns, 20 * SECOND);
	CHECK_ERROR(strata_cluster_ended(small, 1, STRATA_OUTCOME_FAILED, 0, &err), -ESTALE,
		    "is completed");
	CHECK_ERROR(strata_cluster_cancel(small, 1, 0, &err), -ESTALE, "is completed");
	CHECK_OK(strata_cluster_forget(small, 1, &err));
	CHECK_ERROR(strata_cluster_forget(small, 1, &err), -ESRCH, "there is no job 1");
	small_close();
}

TEST(outcomes_have_reasons)
{
	small_open("fifo", "easy", 1, 0);
	for (uint64_t id = 1; id <= 2; id++)
		small_submit(small_request(id, 1, 60), 0);
	small_pass(0);
	CHECK_OK(strata_cluster_ended(small, 1, STRATA_OUTCOME_FAILED, SECOND, &err));
	CHECK_OK(strata_cluster_ended(small, 2, STRATA_OUTCOME_TIME_LIMIT, SECOND, &err));
	CHECK_INT(small_job(1).reason, STRATA_REASON_EXIT_CODE);
	CHECK_INT(small_job(2).reason, STRATA_REASON_TIME_LIMIT);
	CHECK_INT(small_job(2).state, STRATA_JOB_FAILED);
	small_close();
}

TEST(an_id_is_used_once)
{
	struct strata_job_request request = small_request(7, 1, 60);

	small_open("fifo", "easy", 1, 0);
	small_submit(request, 0);
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EEXIST,
		    "there is a job 7 already");
	small_close();
}

TEST(a_cancelled_job_frees_what_it_held)
{
	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 8, 60), 0);
	small_submit(small_request(2, 8, 60), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_cancel(small, 1, SECOND, &err));
	CHECK_TEXT(small_pass(1), "2");
	small_close();
}

TEST(a_held_job_waits_until_released)
{
	struct strata_job_request request = small_request(1, 1, 60);

	small_open("fifo", "easy", 1, 0);
	request.held = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_INT(small_job(1).reason, STRATA_REASON_HELD);
	CHECK_OK(strata_cluster_hold(small, 1, false, SECOND, &err));
	CHECK_OK(strata_cluster_hold(small, 1, true, SECOND, &err));
	CHECK_TEXT(small_pass(1), "");
	CHECK_OK(strata_cluster_hold(small, 1, false, SECOND, &err));
	CHECK_TEXT(small_pass(2), "1");
	CHECK_ERROR(strata_cluster_hold(small, 1, true, SECOND, &err), -ESTALE, "expected queued");
	small_close();
}

TEST(a_dead_node_loses_its_jobs_and_a_drained_one_keeps_them)
{
	struct strata_job_request request = small_request(2, 4, 60);

	small_open("fifo", "easy", 2, 0);
	small_submit(small_request(1, 4, 60), 0);
	request.requeue = true;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2"); /* both on n0: best fit */
	CHECK_OK(strata_cluster_set_node(small, 1, STRATA_NODE_DRAINED, SECOND, &err));
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_DOWN, SECOND, &err));
	CHECK_INT(small_job(1).state, STRATA_JOB_FAILED);
	CHECK_INT(small_job(1).reason, STRATA_REASON_NODE_FAILURE);
	CHECK_INT(small_job(2).state, STRATA_JOB_QUEUED);
	const char *lost = small_pass(1);

	CHECK(strstr(lost, "lost:1") && strstr(lost, "lost:2"));
	CHECK_TEXT(small_pass(2), "");
	CHECK_OK(strata_cluster_set_node(small, 1, STRATA_NODE_UP, 3 * SECOND, &err));
	CHECK_TEXT(small_pass(3), "2");
	CHECK_INT(small_job(2).attempt, 2);
	CHECK_ERROR(strata_cluster_set_node(small, 9, STRATA_NODE_UP, 0, &err), -ENOENT,
		    "no node 9");
	small_close();
}

TEST(time_does_not_go_back)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 60), 100);
	small_submit(small_request(2, 1, 60), 50);
	CHECK_INT(small_job(2).submit_ns, 100 * SECOND);
	CHECK_TEXT(small_pass(10), "1 2");
	CHECK_INT(small_job(1).start_ns, 100 * SECOND);
	small_close();
}

TEST(counts_add_up)
{
	struct strata_cluster_metrics metrics;

	small_open("fifo", "easy", 2, 8);
	for (uint64_t id = 1; id <= 10; id++)
		small_submit(small_request(id, 3, 60), 0);
	small_pass(0);
	strata_cluster_metrics(small, &metrics);
	CHECK_INT(metrics.jobs[STRATA_JOB_RUNNING], 4);
	CHECK_INT(metrics.jobs[STRATA_JOB_QUEUED], 6);
	CHECK_INT(metrics.cpu_milli_free, 16000 - 12000);
	CHECK_INT(metrics.gpu_milli_free, 16000);
	CHECK_INT(metrics.job_groups, 1);
	small_close();
}

TEST(nodes_come_before_jobs)
{
	struct strata_node_conf node = { .name = "late", .cpu_milli = 1000 };

	small_open("fifo", "easy", 1, 0);
	node.gpu_count = STRATA_NODE_GPUS_MAX + 1;
	CHECK_ERROR(strata_cluster_add_node(small, &node, NULL, &err), -ERANGE,
		    "17 GPUs; expected at most 16");
	small_submit(small_request(1, 1, 60), 0);
	node.gpu_count = 0;
	CHECK_ERROR(strata_cluster_add_node(small, &node, NULL, &err), -EBUSY,
		    "after the first job");
	small_close();
}
