#include "small_cluster.h"

#include <errno.h>

TEST(waiting_jobs_can_be_changed)
{
	struct strata_job_change change = { .what = STRATA_CHANGE_BAND, .band = STRATA_BAND_HIGH };

	small_open("fifo", "none", 1, 0);
	for (uint64_t id = 1; id <= 3; id++)
		small_submit(small_request(id, 8, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_change(small, 3, &change, 0, &err));
	small_end(1, 1);
	CHECK_TEXT(small_pass(1), "3");
	change = (struct strata_job_change){ .what = STRATA_CHANGE_BEGIN, .begin_ns = 50 * SECOND };
	CHECK_OK(strata_cluster_change(small, 2, &change, 2 * SECOND, &err));
	small_end(3, 3);
	CHECK_TEXT(small_pass(3), "");
	CHECK_TEXT(small_state(2), "queued, begin_time");
	CHECK_TEXT(small_pass(50), "2");
	small_close();
}

TEST(of_a_running_job_only_the_limit_can_change)
{
	struct strata_job_change change = { .what = STRATA_CHANGE_TIME_LIMIT,
					    .time_limit_ns = 500 * SECOND };

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 8, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_change(small, 1, &change, SECOND, &err));
	CHECK_INT(small_job(1).expected_end_ns, 500 * SECOND);
	change.what |= STRATA_CHANGE_PRIORITY;
	CHECK_ERROR(strata_cluster_change(small, 1, &change, SECOND, &err), -ESTALE,
		    "job 1 is running; expected a waiting one, of which more than the time limit "
		    "can change");
	change = (struct strata_job_change){ .what = STRATA_CHANGE_TIME_LIMIT };
	CHECK_ERROR(strata_cluster_change(small, 1, &change, SECOND, &err), -EINVAL,
		    "the time limit is not above 0");
	small_close();
}

TEST(every_node_gets_what_was_asked_for_it)
{
	struct strata_job_request request = small_request(1, 1, 100);

	small_open("fifo", "easy", 2, 8);
	request.tasks = 3;
	request.nodes = 2;
	request.gpus_per_node = 3;
	request.memory_per_node_bytes = INT64_C(10) << 30;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	struct strata_job_view view = small_job(1);

	CHECK_INT(view.piece_count, 2);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(__builtin_popcount(view.pieces[i].gpu_mask), 3);
		CHECK_INT(view.pieces[i].memory_bytes, INT64_C(10) << 30);
		CHECK_INT(view.pieces[i].cpu_milli, view.pieces[i].tasks * 1000);
	}
	request.id = 2;
	request.nodes = 0;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL,
		    "gpus_per_node goes with a number of nodes and without GPUs of tasks");
	small_close();
}

static int everything(struct strata_memory *memory, void *context, struct strata_error *error)
{
	static const struct strata_dependency dependency = { STRATA_AFTER_OK, 1, false, 0 };
	struct strata_cluster_conf conf = { 0 };
	struct strata_node_conf node = { .name = "n", .cpu_milli = 8000 };
	struct strata_job_request request = small_request(1, 2, 100);
	struct strata_checkpoint checkpoint = { "/a", 1, 1, 1 };
	struct strata_arena arena;
	struct strata_cluster *cluster;
	const struct strata_effect *effects;
	size_t count;
	int rc = strata_cluster_new(&conf, memory, &cluster, error);

	(void)context;
	if (rc)
		return rc;
	strata_arena_init(&arena, memory, 0);
	request.name = "x";
	request.account = "lab";
	request.qos = "high";
	request.checkpoint_ns = SECOND;
	rc = strata_cluster_add_node(cluster, &node, NULL, error);
	if (rc == 0)
		rc = strata_cluster_submit(cluster, &request, 0, error);
	for (uint64_t id = 2; rc == 0 && id <= 5; id++) {
		request.id = id;
		request.array = id == 2 ? 9 : 0;
		request.gang = id > 3 ? 8 : 0;
		request.gang_size = 2;
		request.dependencies = &dependency;
		request.dependency_count = id == 3;
		rc = strata_cluster_submit(cluster, &request, 0, error);
	}
	for (int i = 0; rc == 0 && i < 3; i++)
		rc = strata_cluster_pass(cluster, 0, &arena, &effects, &count, error);
	if (rc == 0)
		rc = strata_cluster_started(cluster, 1, 0, error);
	if (rc == 0)
		rc = strata_cluster_checkpoint(cluster, 1, &checkpoint, 0, error);
	if (rc == 0)
		rc = strata_cluster_ended(cluster, 1, STRATA_OUTCOME_COMPLETED, 1, error);
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = strata_cluster_pass(cluster, 1, &arena, &effects, &count, error);
	small_result(cluster, 5);
	strata_cluster_free(cluster);
	strata_arena_fini(&arena);
	return rc == -ESTALE ? -ENOMEM : rc; /* a start that memory was lacking for */
}

TEST(running_out_of_memory_loses_nothing)
{
	test_every_allocation(everything, NULL);
}

TEST(a_lost_job_runs_again_only_if_it_asked_for_that)
{
	struct strata_job_request again = small_request(1, 1, 100);

	small_open("fifo", "easy", 1, 0);
	again.requeue = true;
	small_submit(again, 0);
	small_submit(small_request(2, 1, 100), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_report(1, STRATA_OUTCOME_LOST, 10);
	small_report(2, STRATA_OUTCOME_LOST, 10);
	CHECK_TEXT(small_state(1), "queued, node_failure");
	CHECK_TEXT(small_state(2), "failed, node_failure");
	CHECK_TEXT(small_pass(20), "1");
	small_close();
}

TEST(a_job_ends_for_the_reason_that_is_reported)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	small_submit(small_request(2, 1, 100), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	small_report(1, STRATA_OUTCOME_NOT_STARTED, 10);
	small_report(2, STRATA_OUTCOME_OUT_OF_MEMORY, 10);
	CHECK_TEXT(small_state(1), "failed, start_failed");
	CHECK_TEXT(small_state(2), "failed, out_of_memory");
	small_close();
}

TEST(a_submission_that_is_withdrawn_leaves_nothing_behind)
{
	struct strata_job_request element = small_request(2, 1, 100),
				  member = small_request(4, 1, 100);

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	element.array = 2;
	element.array_limit = 1;
	small_submit(element, 0);
	element.id = 3;
	element.array_index = 1;
	small_submit(element, 0);
	member.gang = 4;
	member.gang_size = 2;
	small_submit(member, 0);
	member.id = 5;
	small_submit(member, 0);
	for (uint64_t id = 5; id != 4; id--)
		CHECK_OK(strata_cluster_withdraw(small, id, &err));
	CHECK_OK(strata_cluster_withdraw(small, 3, &err));
	CHECK_OK(strata_cluster_withdraw(small, 2, &err));
	CHECK_ERROR(strata_cluster_withdraw(small, 2, &err), -ESRCH, "there is no job 2");
	CHECK_TEXT(small_pass(0), "1");
	CHECK_TEXT(small_state(4), "queued, gang"); /* the other one may still come */
	CHECK_ERROR(strata_cluster_withdraw(small, 1, &err), -ESTALE, "job 1 is running");
	element.array_limit = 7; /* nothing is known of the array any more */
	small_submit(element, 1);
	CHECK_TEXT(small_pass(1), "3");
	small_close();
}

TEST(no_more_jobs_are_placed_than_can_be_looked_after)
{
	struct strata_job_request free_of_charge = small_request(1, 0, 100);

	small_open("fifo", "easy", 2, 0);
	strata_cluster_set_jobs_max(small, 2);
	for (uint64_t id = 1; id <= 4; id++) {
		free_of_charge.id = id;
		small_submit(free_of_charge, 0);
	}
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_TEXT(small_state(3), "queued, service_limit");
	CHECK_TEXT(small_state(4), "queued, service_limit");
	small_end(1, 10);
	CHECK_TEXT(small_pass(10), "3");
	strata_cluster_set_jobs_max(small, 0);
	CHECK_TEXT(small_pass(20), "4");
	small_close();
}

TEST(outcomes_and_bands_that_do_not_exist_are_refused)
{
	struct strata_job_change change = { .what = STRATA_CHANGE_BAND,
					    .band = (enum strata_band)STRATA_BAND_COUNT };

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 8, 100), 0);
	small_submit(small_request(2, 8, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_ERROR(strata_cluster_ended(small, 1, (enum strata_outcome)STRATA_OUTCOME_COUNT,
					 SECOND, &err),
		    -EINVAL, "there is no such outcome");
	CHECK_TEXT(small_state(1), "running, none");
	CHECK_ERROR(strata_cluster_change(small, 2, &change, SECOND, &err), -EINVAL,
		    "there is no such band");
	CHECK_ERROR(strata_cluster_forget(small, 1, &err), -ESTALE, "expected a job that has ended");
	CHECK_ERROR(strata_cluster_ended(small, 1, STRATA_OUTCOME_STOPPED, SECOND, &err), -ESTALE,
		    "job 1 was not asked to stop");
	CHECK_ERROR(strata_cluster_ended(small, 2, STRATA_OUTCOME_COMPLETED, SECOND, &err), -ESTALE,
		    "expected scheduled or running");
	small_close();
}
