#include "small_cluster.h"

#include <errno.h>

TEST(everything_can_be_told_as_an_event)
{
	struct strata_job_request request = small_request(1, 1, 100);
	struct strata_event events[] = {
		{ .kind = STRATA_EVENT_SUBMIT, .request = &request },
		{ .kind = STRATA_EVENT_HOLD, .job = 1 },
		{ .kind = STRATA_EVENT_RELEASE, .job = 1 },
		{ .kind = STRATA_EVENT_CHANGE,
		  .job = 1,
		  .change = { .what = STRATA_CHANGE_PRIORITY, .priority = 5 } },
		{ .kind = STRATA_EVENT_PASS },
		{ .kind = STRATA_EVENT_STARTED, .job = 1 },
		{ .kind = STRATA_EVENT_CHECKPOINT, .job = 1, .checkpoint = { "/a", 1, 1, 1 } },
		{ .kind = STRATA_EVENT_DROP_CHECKPOINTS, .job = 1 },
		{ .kind = STRATA_EVENT_STOP, .job = 1, .mode = STRATA_STOP_REQUEUE },
		{ .kind = STRATA_EVENT_ENDED, .job = 1, .outcome = STRATA_OUTCOME_STOPPED },
		{ .kind = STRATA_EVENT_CANCEL, .job = 1 },
		{ .kind = STRATA_EVENT_PASS },
		{ .kind = STRATA_EVENT_FORGET, .job = 1 },
		{ .kind = STRATA_EVENT_NODE, .node = 0, .state = STRATA_NODE_DRAINED },
	};
	const struct strata_effect *effects;
	size_t count;

	small_open("fifo", "easy", 1, 0);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		events[i].now_ns = (int64_t)i * SECOND;
		CHECK_OK(strata_cluster_apply(small, &events[i], &small_arena, &effects, &count,
					      &err));
		CHECK(strcmp(strata_event_name(events[i].kind), "unknown") != 0);
		if (i == 4)
			CHECK(count == 1 && effects[0].kind == STRATA_EFFECT_START);
	}
	events[0].kind = (enum strata_event_kind)99;
	CHECK_ERROR(strata_cluster_apply(small, &events[0], &small_arena, NULL, NULL, &err),
		    -EINVAL, "there is no event of kind 99");
	small_close();
}

/* ---- a second cluster that does what the first is told ---- */

static struct strata_cluster *twin;
static size_t heard[STRATA_EVENT_KIND_COUNT];

static void do_likewise(void *context, const struct strata_event *event)
{
	const struct strata_effect *effects;
	size_t count;

	CHECK(context == &twin);
	heard[event->kind]++;
	if (strata_cluster_apply(twin, event, &small_arena, &effects, &count, NULL))
		return;
	CHECK_INT(count, event->effect_count);
	for (size_t i = 0; i < count; i++)
		CHECK(effects[i].kind == event->effects[i].kind &&
		      effects[i].job == event->effects[i].job);
}

static void tell_people(void)
{
	struct strata_limits limits = { .jobs = 2 };

	CHECK_OK(strata_cluster_set_account(small, "lab", NULL, 2, &limits, &err));
	CHECK_OK(strata_cluster_set_user(small, "ann", "lab", 3, NULL, &err));
	CHECK_OK(strata_cluster_set_qos(small, "fast", 10, 2, NULL, &err));
	CHECK_OK(strata_cluster_set_partition(small, "debug", 5, STRATA_PARTITION_DRAIN, &err));
	CHECK_OK(strata_cluster_set_qos(small, "slow", -1, 2, &limits, &err));
	CHECK_OK(strata_cluster_remove_entity(small, STRATA_ENTITY_QOS, "slow", &err));
	CHECK_OK(strata_cluster_add_usage(small, "ann", NULL, 7.25, 1 * SECOND, &err));
	strata_cluster_set_checkpoint_max(small, 1000);
	strata_cluster_set_jobs_max(small, 100);
}

static void tell_jobs(void)
{
	struct strata_piece piece = { .node = 1, .tasks = 1, .cpu_milli = 1000 };
	struct strata_checkpoint checkpoint = { "/a", 1, 1, 1 };
	struct strata_job_change change = { .what = STRATA_CHANGE_PRIORITY, .priority = 5 };
	struct strata_usage_view view;

	for (uint64_t id = 1; id <= 4; id++)
		small_submit(small_request(id, 1, 100), 2);
	CHECK_OK(strata_cluster_remember(small, 2, &(struct strata_job_past){ 3, 1, false }, &err));
	CHECK_OK(strata_cluster_adopt(small, 1, 1, 1 * SECOND, &piece, 1, &err));
	CHECK_OK(strata_cluster_hold(small, 3, true, 3 * SECOND, &err));
	CHECK_OK(strata_cluster_change(small, 3, &change, 3 * SECOND, &err));
	CHECK_TEXT(small_pass(4), "2");
	CHECK_OK(strata_cluster_hold(small, 3, false, 5 * SECOND, &err));
	CHECK_OK(strata_cluster_checkpoint(small, 2, &checkpoint, 5 * SECOND, &err));
	CHECK_OK(strata_cluster_drop_checkpoints(small, 2, 6 * SECOND, &err));
	CHECK_OK(strata_cluster_stop(small, 2, STRATA_STOP_CANCEL, 6 * SECOND, &err));
	strata_cluster_user(small, "ann", &view);
	CHECK_TEXT(small_pass(7), "stop:2 delete:2");
	small_report(2, STRATA_OUTCOME_STOPPED, 8);
	CHECK_OK(strata_cluster_forget(small, 2, &err));
	CHECK_OK(strata_cluster_cancel(small, 4, 9 * SECOND, &err));
	CHECK_OK(strata_cluster_set_node(small, 0, STRATA_NODE_DOWN, 9 * SECOND, &err));
	CHECK_ERROR(strata_cluster_cancel(small, 99, 11 * SECOND, &err), -ESRCH, "no job 99");
	CHECK_TEXT(small_pass(10), "3");
	small_submit(small_request(5, 1, 100), 10);
	CHECK_OK(strata_cluster_withdraw(small, 5, &err));
	CHECK_ERROR(strata_cluster_limit_array(small, 9, 1, &err), -ESRCH, "no array 9");
	CHECK_OK(
		strata_cluster_reserve(small,
				       &(struct strata_advance){ .name = "maintenance",
								 .begin_ns = 15 * SECOND,
								 .end_ns = 30 * SECOND,
								 .kept = &(struct strata_kept){ 0 },
								 .kept_count = 1 },
				       &err));
	CHECK(strata_cluster_digest(small) == strata_cluster_digest(twin));
	CHECK_OK(strata_cluster_unreserve(small, "maintenance", &err));
	CHECK_OK(strata_cluster_ended_after(small, 3, STRATA_OUTCOME_FAILED, 90 * SECOND,
					    20 * SECOND, &err));
}

TEST(who_does_what_a_cluster_is_told_has_the_same_cluster)
{
	small_open("fair_share", "easy", 0, 0);
	twin = small;
	small = NULL;
	small_conf = (struct strata_cluster_conf){ .told = do_likewise, .told_context = &twin };
	/* small_open would empty the arena that the twin's specs are in */
	struct strata_cluster_conf conf = small_conf;

	conf.order = small_spec(&strata_order_kind, "fair_share");
	CHECK_OK(strata_cluster_new(&conf, &small_memory, &small, &err));
	for (uint32_t i = 0; i < 2; i++)
		CHECK_OK(strata_cluster_add_node(
			small,
			&(struct strata_node_conf){ .name = i ? "n1" : "n0", .cpu_milli = 8000 },
			NULL, &err));
	tell_people();
	tell_jobs();
	CHECK(strata_cluster_digest(small) == strata_cluster_digest(twin));
	for (size_t i = 0; i < STRATA_EVENT_KIND_COUNT; i++)
		CHECK(heard[i] > 0); /* each kind is told by somebody */
	strata_cluster_free(twin);
	small_conf = (struct strata_cluster_conf){ 0 };
	small_close();
}
