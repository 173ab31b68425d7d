/* DELETE /api/v1/jobs/…: a job that waits has ended at once, one that runs is stopped; elements of
 * an array are cancelled in one round. */
#include "server/elements.h"
#include "server/route.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

static void parse_delete(struct request *request)
{
	struct elements *elements = strata_arena_get(&request->arena, sizeof(*elements));
	struct strata_error err = { 0 };

	request->parsed = elements;
	if (!elements)
		request_fail(request, strata_fail_memory(&err), &err);
	else
		elements_read(request, elements);
}

/* -ESTALE: it was cancelled with its gang, which the effects of the pass tell of. */
static int cancel_part(struct decider *decider, const struct request *request,
		       const struct part *part, struct notice *notice, struct strata_error *err)
{
	int64_t now_ns = decider_now_ns(decider);
	uint64_t first = (uint64_t)part->first;
	struct strata_job_view view;
	int rc = strata_cluster_job(decider->cluster, (uint64_t)part->first, &view, err);

	if (rc == 0 && strata_job_ended(view.state))
		return strata_fail(err, -ESTALE, "job %lld has ended (%s)", (long long)part->first,
				   strata_job_state_name(view.state));
	struct live *live = live_take(decider, part->first, part->last);
	bool placed = view.piece_count > 0;

	if (rc == 0)
		rc = placed ? strata_cluster_stop(decider->cluster, first, STRATA_STOP_CANCEL,
						  now_ns, err)
			    : strata_cluster_cancel_range(decider->cluster, first,
							  (uint32_t)job_elements(&live->job),
							  now_ns, err);
	if (rc)
		return rc;
	live_update(decider, live);
	free((char *)live->job.cancelled_by);
	live->job.cancelled_by = strdup(request->who.user);
	if (!placed)
		live_ended(decider, live, NULL);
	notice_add(decider, notice, live, placed ? "job.cancelling" : "job.ended",
		   json_pack("{s:s,s:s}", "by", request->who.user, "state",
			     strata_job_state_name(live->job.state)));
	return 0;
}

static int cancel_parts(struct decider *decider, const struct request *request,
			const struct chosen *chosen, struct tally *tally, struct strata_error *err)
{
	struct notice notice = { 0 };

	for (size_t i = 0; i < chosen->count; i++) {
		const struct part *part = &chosen->parts[i];
		int rc = cancel_part(decider, request, part, &notice, err);

		if (rc && (rc != -ESTALE || !chosen->array)) {
			if (tally->jobs)
				batch_need(NULL); /* as in change_parts */
			return rc;
		}
		tally_add(tally, part);
		if (rc == 0 && live_get(decider, part->first)->job.completed_ns == 0)
			tally->stopping++;
	}
	notice_flush(decider, &notice);
	return 0;
}

static void delete_job(struct decider *decider, struct request *request)
{
	struct chosen chosen = elements_choose(decider, request, request->parsed);
	struct strata_error err = { 0 };
	struct tally tally = { 0 };

	if (request->answered)
		return;
	int rc = part_refuse_ended(&chosen.parts[0], &err);

	if (rc == 0)
		rc = cancel_parts(decider, request, &chosen, &tally, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	enum strata_job_state state = live_get(decider, tally.first)->job.state;
	json_t *json = json_pack(
		"{s:I,s:s,s:b}", "id", (json_int_t)(chosen.array ? chosen.array : tally.first),
		"state",
		strata_job_state_name(tally.stopping && chosen.array ? STRATA_JOB_RUNNING : state),
		"stopping", tally.stopping > 0);

	if (json && chosen.array) {
		json_object_set_new(json, "jobs", json_integer(tally.jobs));
		json_object_set_new(json, "cancelled", json_integer(tally.jobs - tally.stopping));
	}
	request->durable = true;
	request_answer(request, tally.stopping ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK, json);
}

/* ---- routes ---- */

const struct route api_cancel_routes[] = {
	{ .method = "DELETE",
	  .path = "/api/v1/jobs/*",
	  .summary = "cancel",
	  .role = ROLE_USER,
	  .parse = parse_delete,
	  .decide = delete_job,
	  .query = &elements_query,
	  .answer = "id state",
	  .also = 202 },
	{ 0 },
};
