#include "small_cluster.h"

#include <errno.h>

/* Elements first … first + count - 1, of indexes 0, 2, 4 … */
static struct strata_job_request range(uint64_t first, uint32_t count)
{
	struct strata_job_request request = small_request(first, 1, 100);

	request.array = first;
	request.array_count = count;
	request.array_step = 2;
	return request;
}

TEST(an_array_costs_what_a_job_costs_until_its_elements_start)
{
	struct strata_job_request all = range(1, 100000);
	struct strata_cluster_metrics metrics;

	small_open("fifo", "easy", 1, 0);
	small_submit(range(200000, 1), 0);
	size_t before = small_memory.used_bytes;

	all.held = true;
	small_submit(all, 0);
	CHECK(small_memory.used_bytes - before < 65536);
	strata_cluster_metrics(small, &metrics);
	CHECK_INT(metrics.jobs[STRATA_JOB_QUEUED], 100001);
	CHECK_TEXT(small_pass(0), "200000");
	CHECK_TEXT(small_state(1), "queued, held");
	CHECK_TEXT(small_state(100000), "queued, held");
	CHECK_ERROR(strata_cluster_hold(small, 100001, false, 0, &err), -ESRCH,
		    "there is no job 100001");
	small_close();
}

TEST(elements_start_one_by_one)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 20), 0);
	CHECK_TEXT(small_pass(0), "1 2 3 4 5 6 7 8");
	CHECK_TEXT(small_state(9), "queued, resources");
	CHECK_TEXT(small_state(10), "queued, priority");
	CHECK(small_job(9).promised_ns > 0);
	CHECK(small_job(10).promised_ns == STRATA_TIME_NONE); /* that was the first one's */
	CHECK_INT(small->jobs.count, 9);
	small_end(3, 1);
	CHECK_TEXT(small_pass(1), "9");
	small_close();
}

TEST(one_that_is_meant_is_a_job_of_its_own)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 10), 0);
	CHECK_OK(strata_cluster_cancel(small, 5, 0, &err));
	CHECK_TEXT(small_state(5), "cancelled, none");
	CHECK_OK(strata_cluster_hold(small, 2, true, 0, &err));
	CHECK_INT(small->jobs.count, 5); /* 1, 2, 3 to 4, 5, 6 to 10 */
	CHECK_TEXT(small_pass(0), "1 3 4 6 7 8 9 10");
	CHECK_OK(strata_cluster_hold(small, 2, false, 1, &err));
	small_end(1, 1);
	CHECK_TEXT(small_pass(1), "2");
	small_close();
}

TEST(elements_have_their_indexes)
{
	struct strata_job_request after = small_request(20, 1, 100), again = range(30, 1);
	struct strata_dependency partner = { .kind = STRATA_AFTER_CORR, .job = 1 };

	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 5), 0);
	after.array = 20;
	after.array_index = 6; /* the fourth's */
	after.dependencies = &partner;
	after.dependency_count = 1;
	small_submit(after, 0);
	again.array = 1;
	again.array_index = 8;
	CHECK_ERROR(strata_cluster_submit(small, &again, 0, &err), -EEXIST,
		    "array 1 has an element 8 already");
	again.array_index = 7;
	CHECK_OK(strata_cluster_submit(small, &again, 0, &err));
	CHECK_TEXT(small_pass(0), "1 2 3 4 5 30");
	small_end(3, 1);
	CHECK_TEXT(small_pass(1), "");
	small_end(4, 1);
	CHECK_TEXT(small_pass(1), "20");
	small_close();
}

TEST(what_a_range_waits_for_all_of_it_waits_for)
{
	struct strata_job_request all = range(2, 3);
	struct strata_dependency first = { .kind = STRATA_AFTER_OK, .job = 1 };

	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 100), 0);
	all.dependencies = &first;
	all.dependency_count = 1;
	all.cancel_if_never = true;
	small_submit(all, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_OK(strata_cluster_hold(small, 3, true, 0, &err));
	CHECK_OK(strata_cluster_hold(small, 3, false, 0, &err));
	CHECK_TEXT(small_state(3), "queued, dependency");
	small_report(1, STRATA_OUTCOME_FAILED, 1);
	CHECK_TEXT(small_pass(1), "ended:2 ended:3 ended:4");
	small_close();
}

TEST(what_was_submitted_at_once_is_withdrawn_at_once)
{
	struct strata_cluster_metrics metrics;

	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 5), 0);
	CHECK_OK(strata_cluster_withdraw(small, 4, &err));
	CHECK_ERROR(strata_cluster_withdraw(small, 1, &err), -ESRCH, "there is no job 1");
	strata_cluster_metrics(small, &metrics);
	CHECK_INT(metrics.jobs[STRATA_JOB_QUEUED] + metrics.jobs[STRATA_JOB_CANCELLED], 0);
	small_close();
}

TEST(a_range_is_cancelled_held_and_changed_as_one)
{
	struct strata_job_change later = { .what = STRATA_CHANGE_BEGIN, .begin_ns = 50 * SECOND };
	struct strata_cluster_metrics metrics;
	struct strata_usage_view usage;

	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 100000), 0);
	size_t before = small_memory.used_bytes;

	CHECK_OK(strata_cluster_hold_range(small, 1, 100000, true, 0, &err));
	CHECK_TEXT(small_state(77777), "queued, held");
	CHECK_TEXT(small_pass(0), "");
	CHECK_OK(strata_cluster_hold_range(small, 1, 100000, false, 1 * SECOND, &err));
	CHECK_OK(strata_cluster_change_range(small, 1, 100000, &later, 1 * SECOND, &err));
	CHECK_TEXT(small_state(100000), "queued, begin_time");
	CHECK_OK(strata_cluster_cancel_range(small, 1, 100000, 2 * SECOND, &err));
	CHECK_INT(small->jobs.count, 1);
	CHECK(small_memory.used_bytes - before < 65536);
	CHECK_TEXT(small_state(5), "cancelled, none");
	CHECK_INT(small_job(100000).end_ns, 2 * SECOND);
	strata_cluster_metrics(small, &metrics);
	CHECK_INT(metrics.jobs[STRATA_JOB_CANCELLED], 100000);
	strata_cluster_user(small, "ann", &usage);
	CHECK_INT(usage.waiting, 0);
	CHECK_TEXT(small_pass(60), "");
	CHECK_OK(strata_cluster_forget_range(small, 1, 100000, &err));
	CHECK_INT(small->jobs.count, 0);
	small_close();
}

TEST(a_part_of_a_range_is_cut_at_both_ends)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 20), 0);
	CHECK_OK(strata_cluster_hold_range(small, 5, 10, true, 0, &err));
	CHECK_INT(small->jobs.count, 3); /* 1 to 4, 5 to 14, 15 to 20 */
	CHECK_TEXT(small_pass(0), "1 2 3 4 15 16 17 18");
	CHECK_OK(strata_cluster_cancel_range(small, 19, 2, 1 * SECOND, &err));
	CHECK_OK(strata_cluster_cancel_range(small, 6, 1, 1 * SECOND, &err));
	CHECK_TEXT(small_state(5), "queued, held");
	CHECK_TEXT(small_state(6), "cancelled, none");
	CHECK_TEXT(small_state(7), "queued, held");
	CHECK_OK(strata_cluster_hold_range(small, 7, 8, false, 1 * SECOND, &err));
	for (uint64_t id = 1; id <= 4; id++)
		small_end(id, 1);
	CHECK_TEXT(small_pass(1), "7 8 9 10");
	small_close();
}

TEST(all_of_them_or_none)
{
	const struct strata_job_change change = { .what = STRATA_CHANGE_PRIORITY, .priority = 3 };

	small_open("fifo", "easy", 1, 0);
	small_submit(range(1, 12), 0);
	CHECK_TEXT(small_pass(0), "1 2 3 4 5 6 7 8");
	small_end(2, 1);
	CHECK_ERROR(strata_cluster_cancel_range(small, 1, 12, 1 * SECOND, &err), -ESTALE,
		    "job 2 is completed; expected a job that has not ended");
	CHECK_TEXT(small_state(1), "running, none");
	CHECK_ERROR(strata_cluster_hold_range(small, 8, 4, true, 1 * SECOND, &err), -ESTALE,
		    "job 8 is running; expected queued");
	CHECK_ERROR(strata_cluster_change_range(small, 8, 4, &change, 1 * SECOND, &err), -ESTALE,
		    "job 8 is running; expected a waiting one, of which more than the time limit "
		    "can change");
	CHECK_ERROR(strata_cluster_hold_range(small, 10, 4, true, 1 * SECOND, &err), -ESRCH,
		    "there is no job 13");
	CHECK_ERROR(strata_cluster_forget_range(small, 1, 2, &err), -ESTALE,
		    "job 1 is running; expected a job that has ended");
	CHECK_ERROR(strata_cluster_hold_range(small, 1, 0, true, 1 * SECOND, &err), -EINVAL,
		    "count is 0; expected at least 1");
	CHECK_TEXT(small_pass(1), "9");
	CHECK_TEXT(small_state(10), "queued, resources");
	small_close();
}

TEST(those_of_a_gang_are_cancelled_together)
{
	struct strata_job_request gang = range(1, 4), last = small_request(5, 1, 100);

	gang.gang = last.gang = 1;
	gang.gang_size = last.gang_size = 5;
	small_open("fifo", "easy", 1, 0);
	small_submit(gang, 0);
	small_submit(last, 0);
	CHECK_OK(strata_cluster_cancel_range(small, 1, 4, 0, &err));
	CHECK_TEXT(small_state(4), "cancelled, none");
	CHECK_TEXT(small_pass(0), "ended:5"); /* the others were meant */
	CHECK_OK(strata_cluster_forget_range(small, 1, 5, &err));
	small_close();
}

TEST(all_elements_are_taken_or_none)
{
	struct strata_limits limits = { .waiting = 5 };
	struct strata_dependency alone = { .kind = STRATA_SINGLETON };
	struct strata_job_request six = range(10, 6);
	struct strata_usage_view usage;

	small_open("fifo", "easy", 1, 0);
	CHECK_OK(strata_cluster_set_user(small, "ann", NULL, 1, &limits, &err));
	CHECK_ERROR(strata_cluster_submit(small, &six, 0, &err), -EDQUOT,
		    "user ann has 5 waiting jobs; the limit is 5");
	six.dependencies = &alone; /* which makes each of them a job of its own */
	six.dependency_count = 1;
	six.name = "x";
	CHECK_ERROR(strata_cluster_submit(small, &six, 0, &err), -EDQUOT,
		    "user ann has 5 waiting jobs; the limit is 5");
	strata_cluster_user(small, "ann", &usage);
	CHECK_INT(usage.waiting, 0);
	CHECK_INT(small->jobs.count, 0);
	six.array_count = 5;
	small_submit(six, 0);
	CHECK_TEXT(small_pass(0), "10"); /* of a series one at a time */
	small_close();
}

TEST(what_cannot_be_a_range_is_refused)
{
	struct strata_job_request request = range(1, STRATA_ARRAY_INDEX_MAX + 2);

	small_open("fifo", "easy", 1, 0);
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -ERANGE,
		    "array_count is 100002; expected at most 100001");
	request = range(1, STRATA_ARRAY_INDEX_MAX + 1);
	CHECK_OK(strata_cluster_submit(small, &request, 0, &err));
	request = range(200000, 2);
	request.array_step = 0;
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EINVAL,
		    "array_count is 2; expected an array and a step from index to index with it");
	request = range(100000, 3);
	CHECK_ERROR(strata_cluster_submit(small, &request, 0, &err), -EEXIST,
		    "there is a job 100000 already");
	small_close();
}

static int session(struct strata_memory *memory, void *context, struct strata_error *error)
{
	const struct strata_node_conf node = { .name = "n", .cpu_milli = 2000, .memory_bytes = 1 };
	struct strata_cluster_conf conf = *(const struct strata_cluster_conf *)context;
	struct strata_job_request all = range(1, 6), late = range(10, 4);
	struct strata_dependency first = { .kind = STRATA_AFTER_ANY, .job = 3 };
	const struct strata_effect *effects;
	struct strata_cluster *cluster = NULL;
	struct strata_arena arena;
	size_t count;

	late.begin_ns = 50 * SECOND;
	late.dependencies = &first;
	late.dependency_count = 1;
	strata_arena_init(&arena, memory, 0);
	int rc = strata_cluster_new(&conf, memory, &cluster, error);

	if (rc == 0)
		rc = strata_cluster_add_node(cluster, &node, NULL, error);
	if (rc == 0)
		rc = strata_cluster_submit(cluster, &all, 0, error);
	if (rc == 0)
		rc = strata_cluster_submit(cluster, &late, 0, error);
	if (rc == 0)
		rc = strata_cluster_hold(cluster, 11, true, 0, error);
	if (rc == 0)
		rc = strata_cluster_cancel(cluster, 3, 0, error);
	for (int i = 0; rc == 0 && i < 3; i++) /* what one could not start the next does */
		rc = strata_cluster_pass(cluster, SECOND, &arena, &effects, &count, error);
	if (rc == 0)
		rc = strata_cluster_cancel(cluster, 12, 2 * SECOND, error);
	if (rc == 0)
		rc = strata_cluster_hold_range(cluster, 5, 2, true, 2 * SECOND, error);
	if (rc == 0)
		rc = strata_cluster_cancel_range(cluster, 4, 2, 2 * SECOND, error);
	if (rc == 0)
		small_result(cluster, 13);
	strata_cluster_free(cluster);
	strata_arena_fini(&arena);
	return rc;
}

TEST(cutting_survives_every_failed_allocation)
{
	struct strata_cluster_conf conf = { 0 };

	strata_arena_init(&small_arena, &small_memory, 0);
	conf.backfill = small_spec(&strata_backfill_kind, "easy");
	CHECK(test_every_allocation(session, &conf) > 20);
	strata_arena_fini(&small_arena);
}
