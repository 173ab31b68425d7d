#include "small_cluster.h"

#include <errno.h>

TEST(strict_order_waits_for_the_head)
{
	small_open("fifo", "none", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	small_submit(small_request(2, 6, 100), 0);
	small_submit(small_request(3, 1, 10), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(small_job(2).reason, STRATA_REASON_RESOURCES);
	CHECK_INT(small_job(3).reason, STRATA_REASON_PRIORITY);
	small_end(1, 50);
	CHECK_TEXT(small_pass(50), "2 3");
	small_close();
}

TEST(times_that_there_are_not_are_told_from_0)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	small_submit(small_request(2, 6, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(small_job(1).start_ns, 0);
	CHECK(small_job(1).end_ns == STRATA_TIME_NONE);
	CHECK(small_job(1).promised_ns == STRATA_TIME_NONE);
	CHECK(small_job(2).start_ns == STRATA_TIME_NONE);
	CHECK(small_job(2).expected_end_ns == STRATA_TIME_NONE);
	CHECK_OK(strata_cluster_cancel(small, 2, 0, &err));
	CHECK_INT(small_job(2).end_ns, 0);
	small_close();
}

TEST(easy_starts_what_does_not_delay_the_head)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	small_submit(small_request(2, 7, 100), 0); /* promised at 100 */
	small_submit(small_request(3, 2, 100), 0); /* ends at 100: fits in front */
	small_submit(small_request(4, 2, 101), 0); /* would stay: 8 − 7 = 1 is left for it */
	small_submit(small_request(5, 1, 999),
		     0);                  /* stays, and there is room for it beside job 2 … */
	CHECK_TEXT(small_pass(0), "1 3"); /* … but none is free now */
	CHECK_INT(small_job(2).promised_ns, 100 * SECOND);
	small_end(3, 10);
	CHECK_TEXT(small_pass(10), "5");
	small_end(1, 20);
	CHECK_TEXT(small_pass(20), "2");
	small_close();
}

TEST(a_new_job_behind_a_standing_shadow_is_tried_alone)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	small_submit(small_request(2, 7, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	small_submit(small_request(3, 2, 95), 5);
	CHECK_TEXT(small_pass(5), "3"); /* until 100 */
	small_submit(small_request(4, 1, 10), 6);
	CHECK_TEXT(small_pass(6), ""); /* nothing is free */
	small_end(3, 7);
	CHECK_TEXT(small_pass(7), "4");
	small_submit(small_request(5, 1, 94), 8);
	CHECK_TEXT(small_pass(8), "5"); /* until 102, on the core that job 2 does not need */
	small_close();
}

TEST(shortest_first_when_asked_for)
{
	small_open("fifo", "easy_sjbf", 1, 0);
	small_submit(small_request(1, 6, 1000), 0);
	small_submit(small_request(2, 8, 100), 0);
	small_submit(small_request(3, 2, 500), 0);
	small_submit(small_request(4, 2, 50), 0);
	CHECK_TEXT(small_pass(0), "1 4");
	small_close();
}

TEST(a_band_can_be_kept_from_going_first)
{
	struct strata_job_request request = small_request(3, 1, 10);

	small_open("fifo", "easy:low=false", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	small_submit(small_request(2, 7, 100), 0);
	request.band = STRATA_BAND_LOW;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	small_submit(small_request(4, 1, 10), 0);
	CHECK_TEXT(small_pass(0), "4");
	small_close();
}

/* Ann's jobs ask for 1000 s and take 10; she is known for it. */
static void teach_short(void)
{
	for (uint64_t id = 1; id <= 30; id++) {
		small_submit(small_request(id, 2, 1000), 0);
		small_pass(0);
		small_end(id, 10);
	}
}

TEST(only_waiting_jobs_are_predicted_when_nothing_is_corrected)
{
	small_open_predicting("learned", "fifo", "easy", 1, 0);
	teach_short();
	small_submit(small_request(100, 2, 1000), 100);
	CHECK_TEXT(small_pass(100), "100");
	CHECK_INT(small_job(100).expected_end_ns, 1100 * SECOND);
	CHECK_INT(strata_cluster_next_ns(small), INT64_MAX);
	small_close();
}

TEST(who_goes_first_on_a_prediction_does_not_open_the_door_to_others)
{
	struct strata_job_request other = small_request(100, 6, 100);

	small_open_predicting("learned", "fifo", "easy_sjbf", 1, 0);
	teach_short();
	other.user = "bob";
	small_submit(other, 100);
	other.id = 101, other.cpu_milli = 8000;
	small_submit(other, 100); /* promised at 200 */
	small_submit(small_request(102, 1, 1000), 100);
	other.id = 103, other.cpu_milli = 1000, other.time_limit_ns = 9000 * SECOND;
	small_submit(other, 100); /* nothing says that it will be gone by then */
	CHECK_TEXT(small_pass(100), "100 102");
	small_close();
}

TEST(the_head_is_patient_and_then_no_more)
{
	struct strata_job_request other = small_request(100, 6, 100);

	small_open_predicting("learned", "fifo", "easy_sjbf:patience=2", 1, 0);
	teach_short();
	other.user = "bob";
	small_submit(other, 100);
	other.id = 101, other.cpu_milli = 8000;
	small_submit(other, 100); /* promised at 200, and may run for 100 */
	small_submit(small_request(102, 2, 1000), 100);
	CHECK_TEXT(small_pass(100), "100 102"); /* 102 is taken to be gone by 200, and stays */
	CHECK_INT(small_job(101).promised_ns, 200 * SECOND);
	small_end(100, 200);
	small_submit(small_request(103, 2, 1000), 399);
	CHECK_TEXT(small_pass(399), "103");
	CHECK_INT(small_job(101).promised_ns, 1100 * SECOND);
	small_submit(small_request(104, 2, 1000), 400);
	CHECK_TEXT(small_pass(400), ""); /* 200 + 2 x 100: limits count */
	small_submit(small_request(105, 2, 1000), 401);
	small_submit(small_request(106, 2, 699), 401);
	CHECK_TEXT(small_pass(401), "106"); /* its limit is over when the head starts, at 1100 */
	small_close();
}

TEST(several_nodes_or_none)
{
	struct strata_job_request request = small_request(10, 8, 60);

	small_open("fifo", "easy", 4, 0);
	small_submit(small_request(1, 1, 100), 0);
	CHECK_TEXT(small_pass(0), "1");
	request.tasks = request.nodes = 4;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_INT(small_job(10).piece_count, 0);
	CHECK_INT(small_job(10).promised_ns, 100 * SECOND);
	small_end(1, 5);
	CHECK_TEXT(small_pass(5), "10");
	CHECK_INT(small_job(10).piece_count, 4);
	small_close();
}

TEST(as_few_nodes_as_will_do)
{
	struct strata_job_request request = small_request(1, 1, 60);

	small_open("fifo", "easy", 4, 8);
	request.tasks = 8;
	request.gpus = 1;
	request.cpu_milli = 1000;
	small_submit(request, 0);
	request.id = 2, request.tasks = 12;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_INT(small_job(1).piece_count, 1);
	CHECK_INT(small_job(2).piece_count, 2);
	small_close();
}

TEST(gpus_of_one_numa_domain_stay_together)
{
	struct strata_job_request request = small_request(1, 1, 60);
	const struct strata_effect *effects;
	size_t count;

	small_open("fifo", "easy", 1, 8);
	request.gpus = 1;
	small_submit(request, 0);
	request.id = 2, request.gpus = 4;
	small_submit(request, 0);
	CHECK_OK(strata_cluster_pass(small, 0, &small_arena, &effects, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(effects[0].pieces[0].gpu_mask, 0x01);
	CHECK_INT(effects[1].pieces[0].gpu_mask, 0xF0); /* domain 0 has three left */
	small_close();
}

TEST(shares_of_a_gpu_are_packed)
{
	struct strata_job_request request = small_request(0, 1, 60);
	const struct strata_effect *effects;
	size_t count;

	small_open("fifo", "easy", 1, 8);
	request.gpu_milli = 400;
	for (request.id = 1; request.id <= 3; request.id++)
		small_submit(request, 0);
	CHECK_OK(strata_cluster_pass(small, 0, &small_arena, &effects, &count, &err));
	CHECK_INT(count, 3);
	CHECK_INT(effects[0].pieces[0].gpu_mask, 1);
	CHECK_INT(effects[1].pieces[0].gpu_mask, 1);
	CHECK_INT(effects[2].pieces[0].gpu_mask, 2);
	CHECK_INT(effects[2].pieces[0].gpu_milli, 400);
	small_close();
}

TEST(a_begin_time_is_waited_for)
{
	struct strata_job_request request = small_request(1, 1, 60);

	small_open("fifo", "easy", 1, 0);
	request.begin_ns = 100 * SECOND;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "");
	CHECK_INT(small_job(1).reason, STRATA_REASON_BEGIN_TIME);
	CHECK_INT(strata_cluster_next_ns(small), 100 * SECOND);
	CHECK_TEXT(small_pass(99), "");
	CHECK_TEXT(small_pass(100), "1");
	small_close();
}

TEST(what_can_never_run_does_not_stand_in_the_way)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 9, 60), 0);
	small_submit(small_request(2, 8, 60), 0);
	CHECK_TEXT(small_pass(0), "2");
	CHECK_INT(small_job(1).reason, STRATA_REASON_IMPOSSIBLE);
	small_close();
}

TEST(conservative_promises_everybody_and_keeps_it)
{
	small_open("fifo", "conservative", 1, 0);
	small_submit(small_request(1, 6, 100), 0);
	small_submit(small_request(2, 8, 100), 0);
	small_submit(small_request(3, 2, 100), 0); /* fits in front of job 2 */
	small_submit(small_request(4, 2, 150), 0); /* does not: behind it */
	CHECK_TEXT(small_pass(0), "1 3");
	CHECK_INT(small_job(2).promised_ns, 100 * SECOND);
	CHECK_INT(small_job(4).promised_ns, 200 * SECOND);
	CHECK_INT(strata_cluster_next_ns(small), 100 * SECOND);
	small_end(3, 10); /* room for two cores until 100: job 4 is too long for that */
	CHECK_TEXT(small_pass(10), "");
	small_end(1, 20);
	CHECK_TEXT(small_pass(20), "2");
	CHECK_INT(small_job(4).promised_ns, 120 * SECOND);
	small_close();
}

TEST(conservative_plans_anew_when_a_node_goes)
{
	small_open("fifo", "conservative", 2, 0);
	small_submit(small_request(1, 8, 100), 0);
	small_submit(small_request(2, 8, 100), 0);
	small_submit(small_request(3, 8, 100), 0);
	CHECK_TEXT(small_pass(0), "1 2");
	CHECK_INT(small_job(3).promised_ns, 100 * SECOND);
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_DOWN, 10 * SECOND, &err));
	CHECK_TEXT(small_pass(10), "lost:1");
	CHECK_INT(small_job(3).promised_ns, 100 * SECOND); /* behind job 2 */
	small_end(2, 50);
	CHECK_TEXT(small_pass(50), "3");
	small_close();
}

struct run_context {
	const char *backfill;
};

/* A small session in a memory that fails: every call either works or leaves things as they were. */
static int session(struct strata_memory *memory, void *context, struct strata_error *error)
{
	const struct run_context *run = context;
	struct strata_arena arena;
	struct strata_spec spec = { 0 };
	struct strata_registry *registry = NULL;
	struct strata_cluster *cluster = NULL;
	const struct strata_effect *effects;
	size_t count;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_registry_new(&strata_backfill_kind, memory, &registry, error);

	if (rc == 0)
		rc = strata_spec_read(registry, run->backfill, strlen(run->backfill), &arena, &spec,
				      error);
	struct strata_cluster_conf conf = { .backfill = spec };

	if (rc == 0)
		rc = strata_cluster_new(&conf, memory, &cluster, error);
	struct strata_node_conf node = {
		.name = "n", .cpu_milli = 4000, .gpu_count = 2, .gpu_type = "x"
	};

	if (rc == 0)
		rc = strata_cluster_add_node(cluster, &node, NULL, error);
	for (uint64_t id = 1; rc == 0 && id <= 4; id++) {
		struct strata_job_request request =
			small_request(id, (int64_t)id, 10 * (int64_t)id);

		rc = strata_cluster_submit(cluster, &request, 0, error);
	}
	if (rc == 0)
		rc = strata_cluster_pass(cluster, 0, &arena, &effects, &count, error);
	if (rc == 0)
		rc = strata_cluster_ended(cluster, 1, STRATA_OUTCOME_COMPLETED, SECOND, error);
	if (rc ==
	    -ESTALE) /* the first job could not be started for lack of memory: that is told by the pass next time */
		rc = strata_fail_memory(error);
	if (rc == 0)
		rc = strata_cluster_pass(cluster, SECOND, &arena, &effects, &count, error);
	if (rc == 0)
		small_result(cluster, 4);
	strata_cluster_free(cluster);
	strata_registry_free(registry);
	strata_arena_fini(&arena);
	return rc;
}

TEST(a_pass_survives_lack_of_memory)
{
	CHECK(test_every_allocation(session, &(struct run_context){ "none" }) > 20);
	CHECK(test_every_allocation(session, &(struct run_context){ "easy" }) > 20);
	CHECK(test_every_allocation(session, &(struct run_context){ "easy_sjbf" }) > 20);
	CHECK(test_every_allocation(session, &(struct run_context){ "conservative" }) > 20);
}
