/* Deadlines of deadlines.h. A time limit may have changed since a job was put into the heap, so its
 * last start is worked out anew when its turn comes. */
#include "server/deadlines.h"

#include "core/container.h"
#include "server/elements.h"

#include <strata/slurm.h>

#include <stdlib.h>
#include <string.h>

/* The last time it could start and end by its deadline. */
static int64_t last_start_ns(const struct live *live)
{
	int64_t ns;

	if (strata_begin_parse(live->spec->spec.deadline, STRATA_TEXT_NUL, live->job.created_ns, 0,
			       &ns, NULL))
		return INT64_MAX;
	return ns - live->job.time_limit_ns;
}

int deadlines_add(struct decider *decider, struct live *live)
{
	if (!live->spec->spec.deadline || live->job.completed_ns)
		return 0;
	return heap_push(&decider->deadlines, &live->by_deadline,
			 heap_key_time(last_start_ns(live)));
}

void deadlines_remove(struct decider *decider, struct live *live)
{
	if (live->by_deadline.position)
		heap_remove(&decider->deadlines, &live->by_deadline);
}

static bool waits(const struct live *live)
{
	return live->job.state == STRATA_JOB_QUEUED || live->job.state == STRATA_JOB_PREEMPTED;
}

static void cancel(struct decider *decider, struct live *live)
{
	static const char by[] = "deadline";
	struct notice notice = { 0 };
	int rc = strata_cluster_cancel_range(decider->cluster, (uint64_t)job_first_id(&live->job),
					     (uint32_t)job_elements(&live->job),
					     decider_now_ns(decider), NULL);

	if (rc)
		return; /* its gang took it along */
	live_update(decider, live);
	free((char *)live->job.cancelled_by);
	live->job.cancelled_by = strdup(by);
	live_ended(decider, live, NULL);
	notice_add(
		decider, &notice, live, "job.ended",
		json_pack("{s:s,s:s}", "by", by, "state", strata_job_state_name(live->job.state)));
	notice_flush(decider, &notice);
}

void deadlines_look(struct decider *decider)
{
	int64_t now_ns = decider_now_ns(decider);

	while (deadlines_due_ns(decider) < now_ns) {
		struct live *live =
			container_of(heap_pop(&decider->deadlines), struct live, by_deadline);
		int64_t last_ns = last_start_ns(live);

		if (!waits(live))
			continue;
		if (last_ns < now_ns)
			cancel(decider, live);
		else /* which has room: it was in there a moment ago */
			heap_push(&decider->deadlines, &live->by_deadline, heap_key_time(last_ns));
	}
}

int64_t deadlines_due_ns(const struct decider *decider)
{
	const struct heap *heap = &decider->deadlines;

	return heap->count ? (int64_t)(heap->entries[0].key ^ 1ull << 63) : INT64_MAX;
}
