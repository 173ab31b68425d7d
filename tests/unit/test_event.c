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
