/* /api/v1/jobs: the history, one job, and what routes about one job have in common. */
#include "server/api_jobs.h"

#include "slurm/slurm_value.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/entities.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the history ---- */

static int add_row(void *context, const void *row, struct strata_error *err)
{
	return json_array_append_new(context, view_row(row)) ? strata_fail_memory(err) : 0;
}

const struct strata_choice api_job_states[] = {
	{ "queued", STRATA_JOB_QUEUED, NULL },       { "scheduled", STRATA_JOB_SCHEDULED, NULL },
	{ "running", STRATA_JOB_RUNNING, NULL },     { "preempted", STRATA_JOB_PREEMPTED, NULL },
	{ "completed", STRATA_JOB_COMPLETED, NULL }, { "failed", STRATA_JOB_FAILED, NULL },
	{ "cancelled", STRATA_JOB_CANCELLED, NULL }, { 0 },
};

struct list_query {
	struct strata_list states; /* of int */
	const char *user, *account, *partition, *name, *since, *until;
	int64_t limit, after, array;
};

#define OF(field) offsetof(struct list_query, field)
static const struct strata_option list_state = { .type = STRATA_ENUM,
						 .choice = { api_job_states } };
static const struct strata_option list_options[] = {
	{ "state", STRATA_LIST, OF(states), .list = { &list_state, STRATA_STORE_STATES_MAX },
	  .help = "in one of these states" },
	{ "user", STRATA_TEXT, OF(user), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this user" },
	{ "account", STRATA_TEXT, OF(account), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this account" },
	{ "since", STRATA_TEXT, OF(since), .text = { NULL, 100 },
	  .help = "submitted since then: a time, or now-2days" },
	{ "until", STRATA_TEXT, OF(until), .text = { NULL, 100 },
	  .help = "submitted before then" },
	{ "partition", STRATA_TEXT, OF(partition), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this partition" },
	{ "name", STRATA_TEXT, OF(name), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "of this name, in any case; * stands for any text" },
	{ "array", STRATA_INT, OF(array), .integer = { 0, 0, INT64_MAX },
	  .help = "elements of this array" },
	{ "limit", STRATA_INT, OF(limit), .integer = { 100, 1, 1000 }, .help = "at most so many" },
	{ "after", STRATA_INT, OF(after), .integer = { 0, 0, INT64_MAX },
	  .help = "older than this job: the next of the page before" },
	{ 0 }
};
#undef OF
static const struct strata_schema jobs_query = { "the query", NULL, sizeof(struct list_query),
						 list_options };

static void get_jobs(struct request *request)
{
	const struct list_query *asked = request->query;
	const int *numbers = asked->states.items;
	const char *states[STRATA_STORE_STATES_MAX];
	struct store_query query = { .states = states,
				     .state_count = asked->states.count,
				     .user = asked->user,
				     .account = asked->account,
				     .partition = asked->partition,
				     .name = asked->name,
				     .array_id = asked->array,
				     .after = asked->after,
				     .limit = (size_t)asked->limit,
				     .descending = true };
	struct strata_error err = { 0 };
	struct store *store;

	for (size_t i = 0; i < query.state_count; i++)
		states[i] = strata_job_state_name((enum strata_job_state)numbers[i]);
	if (request_read_time(request, "since", asked->since, &query.since_ns, &err) ||
	    request_read_time(request, "until", asked->until, &query.until_ns, &err)) {
		request_fail(request, -EINVAL, &err);
		return;
	}
	json_t *jobs = json_array();
	int rc = store_readers_take(request->front->readers, INT64_C(5000000000), &store, &err);

	if (rc == 0) {
		rc = store_jobs_page(store, &query, add_row, jobs, &err);
		store_readers_give(request->front->readers, store);
	}
	if (rc) {
		json_decref(jobs);
		request_fail(request, rc, &err);
		return;
	}
	json_t *last = json_array_get(jobs, json_array_size(jobs) - 1);
	json_t *next = json_array_size(jobs) == query.limit
			       ? json_incref(json_object_get(last, "id"))
			       : json_null();

	request_answer(request, MHD_HTTP_OK, json_pack("{s:o,s:o}", "jobs", jobs, "next", next));
}

/* ---- one job ---- */

bool api_job_may(struct request *request, const struct job *job)
{
	const struct identity *who = &request->who;

	if (who->job && (who->job != job->id || who->attempt != job->attempt || !job->place)) {
		request_refuse(
			request, MHD_HTTP_FORBIDDEN, "forbidden",
			"this token is of run %lld of job %lld, and good for it while it runs",
			(long long)who->attempt, (long long)who->job);
		return false;
	}
	if (job->uid == (int64_t)who->uid || who->role >= ROLE_OPERATOR)
		return true;
	request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden", "job %lld is %s's; you are %s",
		       (long long)job->id, job->user, who->user);
	return false;
}

bool api_job_find(struct decider *decider, struct request *request, bool own,
		  const struct live **ret_live)
{
	const struct live *live = live_find(decider, request->segments[0]);

	*ret_live = live;
	return !live || !own || api_job_may(request, &live->job);
}

const struct live *api_job_look_live(struct decider *decider, struct request *request, bool own)
{
	const struct live *live;

	if (api_job_find(decider, request, own, &live) && !live)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "no job %.40s waits or runs; `strata jobs` shows those that have ended",
			       request->segments[0]);
	return request->answered ? NULL : live;
}

struct live *api_job_find_live(struct decider *decider, struct request *request, bool own)
{
	const struct live *live = api_job_look_live(decider, request, own);

	return live ? live_own(decider, live->job.id) : NULL;
}

size_t api_job_forecast(struct decider *decider, const struct live *live, json_t *json,
			const struct strata_forecast **ret_list, size_t *ret_count)
{
	if (strata_cluster_forecast(decider->cluster, DECIDER_FORESEEN_MAX, &decider->scratch,
				    ret_list, ret_count, NULL))
		return 0;
	for (size_t i = 0; i < *ret_count; i++) {
		const struct strata_forecast *forecast = &(*ret_list)[i];

		if (forecast->job != (uint64_t)live->job.id)
			continue;
		json_object_set_new(json, "expected_start_at", view_time(forecast->start_ns));
		if (forecast->node_count)
			json_object_set_new(json, "expected_node",
					    json_string(decider->nodes[forecast->node].name));
		if (forecast->node_count > 1)
			json_object_set_new(json, "expected_node_count",
					    json_integer(forecast->node_count));
		json_object_set_new(json, "promised", json_boolean(forecast->promised));
		if (!forecast->apart)
			json_object_set_new(json, "position", json_integer((json_int_t)i + 1));
		return i + 1;
	}
	return 0;
}

static void get_job(struct decider *decider, struct request *request)
{
	const struct live *live;

	if (!api_job_find(decider, request, false, &live) || !live)
		return; /* the history is looked at then */
	json_t *json = view_live(decider, live);
	const struct strata_forecast *list;
	size_t count;

	if (json && live->job.completed_ns == 0)
		api_job_forecast(decider, live, json, &list, &count);
	request_answer(request, MHD_HTTP_OK, json);
}

bool api_job_read(struct request *request, struct job *ret_job)
{
	const char *id = request->segments[0];
	struct strata_error err = { 0 };
	struct store_job row;
	struct store *store;
	int64_t number;
	int rc;

	if (request->answered)
		return false;
	rc = store_readers_take(request->front->readers, INT64_C(5000000000), &store, &err);
	if (rc == 0) {
		if (strata_int_parse(id, STRATA_TEXT_NUL, 1, INT64_MAX, &number, NULL) == 0)
			rc = store_job_get(store, number, &request->arena, &row, &err);
		else
			rc = store_job_find(store, id, &request->arena, &row, &err);
		store_readers_give(request->front->readers, store);
	}
	if (rc == 0 && job_from_row(&row, &request->arena, ret_job))
		rc = strata_fail_memory(&err);
	if (rc == -ENOENT)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no job %.40s",
			       id);
	else if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}

static void get_past_job(struct request *request)
{
	struct job job;

	if (api_job_read(request, &job))
		request_answer(request, MHD_HTTP_OK, view_job(&job));
}

/* ---- routes ---- */

const struct route api_jobs_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs",
	  .summary = "the history",
	  .role = ROLE_READER,
	  .parse = get_jobs,
	  .query = &jobs_query,
	  .answer = "jobs next" },
	{ .method = "GET",
	  .path = "/api/v1/jobs/*",
	  .summary = "one job",
	  .role = ROLE_READER,
	  .decide = get_job,
	  .finish = get_past_job,
	  .answer = "id state user name" },
	{ 0 },
};
