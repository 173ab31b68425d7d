/*
 * POST /api/v1/trial: what would become of jobs if they were submitted now, each by itself. A job
 * is taken in as a submission is, by the same door and with the same refusals; the queue is planned
 * with it; and it is taken back before anybody has heard of it, in the same round. Nothing is
 * stored and no number is used up.
 */
#include "server/decider.h"
#include "server/impossible_text.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/route.h"
#include "server/submit.h"
#include "server/view.h"

#include <strata/limits.h>

#include <errno.h>
#include <microhttpd.h>

struct trial {
	struct submission submission;
	struct strata_error err; /* what is wrong with it */
	int rc;
	bool read; /* the submission has a reference */
};

struct trials {
	struct trial *list;
	size_t count;
};

static void release(struct request *request)
{
	struct trials *trials = request->parsed;

	for (size_t i = 0; i < trials->count; i++)
		if (trials->list[i].read)
			json_decref(trials->list[i].submission.json);
}

static void read_trial(struct request *request, json_t *job, struct trial *trial)
{
	trial->rc = json_is_object(job)
			    ? submission_read(job, &request->arena, &trial->submission, &trial->err)
			    : strata_fail(&trial->err, -EINVAL, "it is not an object");
	trial->read = trial->rc == 0;
	if (trial->read) {
		json_incref(job);
		trial->submission.spec.request_key = NULL;
		trial->submission.spec.gang = NULL; /* whose number would be kept */
		trial->submission.spec.gang_size = 0;
	}
}

static void parse_trials(struct request *request)
{
	json_t *json = request_json(request), *jobs = json_object_get(json, "jobs"), *job;
	struct trials *trials = strata_arena_get(&request->arena, sizeof(*trials));
	size_t index;

	if (!json)
		return;
	size_t count = json_array_size(jobs);

	if (!json_is_array(jobs) || count == 0 || count > STRATA_TRIALS_MAX) {
		json_decref(json);
		request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid",
			       "jobs is not a list of 1 to %d jobs", STRATA_TRIALS_MAX);
		return;
	}
	if (trials)
		trials->list = strata_arena_array(&request->arena, count, sizeof(*trials->list));
	if (!trials || !trials->list) {
		json_decref(json);
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out_of_memory",
			       "out of memory");
		return;
	}
	trials->count = count;
	request->parsed = trials;
	request->release = release;
	json_array_foreach(jobs, index, job)
		read_trial(request, job, &trials->list[index]);
	json_decref(json);
}

static json_t *view_error(const struct trial *trial)
{
	const struct strata_error_kind *kind = strata_error_kind(trial->rc);

	return json_pack("{s:{s:s,s:s,s:s?}}", "error", "code", kind->name, "message",
			 trial->err.text, "field", *trial->err.field ? trial->err.field : NULL);
}

/* Where in the plan of the queue the job is; NULL: its turn cannot be foreseen. */
static const struct strata_forecast *foresee(struct decider *decider, int64_t id, size_t *ret_ahead)
{
	const struct strata_forecast *list;
	size_t count;

	if (strata_cluster_forecast(decider->cluster, DECIDER_FORESEEN_MAX, &decider->scratch,
				    &list, &count, NULL))
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (list[i].job == (uint64_t)id) {
			*ret_ahead = i;
			return &list[i];
		}
	return NULL;
}

static json_t *view_trial(struct decider *decider, int64_t id)
{
	const struct live *live = live_get(decider, id);
	size_t ahead = 0;
	const struct strata_forecast *forecast = foresee(decider, id, &ahead);

	return json_pack("{s:o,s:s?,s:o,s:I}", "start_at",
			 view_time(forecast ? forecast->start_ns : 0), "node",
			 forecast && forecast->node_count ? decider->nodes[forecast->node].name
							  : NULL,
			 "ahead",
			 forecast && !forecast->apart ? json_integer((json_int_t)ahead)
						      : json_null(),
			 "time_limit_s",
			 (json_int_t)(live->job.time_limit_ns / 1000000000));
}

static json_t *try_one(struct decider *decider, struct request *request, struct trial *trial)
{
	if (trial->rc)
		return view_error(trial);
	struct submit_mark mark = submit_begin(decider);

	trial->rc = submit_take(decider, &trial->submission, &request->who, &request->arena,
				&trial->err);
	if (trial->rc == 0)
		trial->rc = impossible_refuse(decider, mark.first_id, &trial->submission.spec,
					      &request->arena, &trial->err);
	json_t *json = trial->rc ? view_error(trial) : view_trial(decider, mark.first_id);

	submit_undo(decider, &mark);
	return json;
}

static void post_trial(struct decider *decider, struct request *request)
{
	struct trials *trials = request->parsed;
	json_t *list = json_array();

	for (size_t i = 0; i < trials->count; i++)
		json_array_append_new(list, try_one(decider, request, &trials->list[i]));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "trials", list));
}

/* ---- routes ---- */

const struct route api_trial_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/trial",
	  .summary = "when jobs would start, without submitting them",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_SERVER_BODY_BYTES_MAX,
	  .parse = parse_trials,
	  .decide = post_trial,
	  .answer = "trials" },
	{ 0 },
};
