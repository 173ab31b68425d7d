/* /api/v1/jobs: the history, and what can be asked of one job. */
#include "server/people.h"
#include "server/route.h"

#include "formats/slurm.h"

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
	const char *user, *account, *since;
	int64_t limit, after;
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
	{ "limit", STRATA_INT, OF(limit), .integer = { 100, 1, 1000 }, .help = "at most so many" },
	{ "after", STRATA_INT, OF(after), .integer = { 0, 0, INT64_MAX },
	  .help = "older than this job: the next of the page before" },
	{ 0 }
};
#undef OF
const struct strata_schema api_jobs_query = { "the query", NULL, sizeof(struct list_query),
					      list_options };

void api_jobs_list(struct request *request)
{
	const struct list_query *asked = request->query;
	const int *numbers = asked->states.items;
	const char *states[STRATA_STORE_STATES_MAX];
	struct store_query query = { .states = states,
				     .state_count = asked->states.count,
				     .user = asked->user,
				     .account = asked->account,
				     .after = asked->after,
				     .limit = (size_t)asked->limit,
				     .descending = true };
	struct strata_error err = { 0 };
	struct store *store;

	for (size_t i = 0; i < query.state_count; i++)
		states[i] = strata_job_state_name((enum strata_job_state)numbers[i]);
	if (asked->since &&
	    strata_time_parse(asked->since, STRATA_TEXT_NUL, server_now_ns(request->server), 0,
			      &query.since_ns, &err)) {
		strata_fail_under(&err, -EINVAL, "since");
		request_fail(request, -EINVAL, &err);
		return;
	}
	json_t *jobs = json_array();
	int rc = store_readers_take(request->server->readers, INT64_C(5000000000), &store, &err);

	if (rc == 0) {
		rc = store_jobs_page(store, &query, add_row, jobs, &err);
		store_readers_give(request->server->readers, store);
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

bool api_job_may(struct request *request, const struct store_job *row)
{
	const struct identity *who = &request->who;

	if (who->job && (who->job != row->id || who->attempt != row->attempt || !row->place)) {
		request_refuse(
			request, MHD_HTTP_FORBIDDEN, "forbidden",
			"this token is of run %lld of job %lld, and good for it while it runs",
			(long long)who->attempt, (long long)who->job);
		return false;
	}
	if (row->uid == (int64_t)who->uid || who->role >= ROLE_OPERATOR)
		return true;
	request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden", "job %lld is %s's; you are %s",
		       (long long)row->id, row->user, who->user);
	return false;
}

bool api_job_find(struct server *server, struct request *request, bool own, struct live **ret_live)
{
	struct live *live = live_find(server, request->segments[0]);

	*ret_live = live;
	return !live || !own || api_job_may(request, &live->row);
}

struct live *api_job_find_live(struct server *server, struct request *request, bool own)
{
	struct live *live;

	if (api_job_find(server, request, own, &live) && !live)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "there is no live job %.40s (strata show finds ended ones)",
			       request->segments[0]);
	return request->answered ? NULL : live;
}

size_t api_job_forecast(struct server *server, const struct live *live, json_t *json,
			const struct strata_forecast **ret_list, size_t *ret_count)
{
	if (strata_cluster_forecast(server->cluster, SERVER_FORESEEN_MAX, &server->scratch,
				    ret_list, ret_count, NULL))
		return 0;
	for (size_t i = 0; i < *ret_count; i++) {
		const struct strata_forecast *forecast = &(*ret_list)[i];

		if (forecast->job != (uint64_t)live->row.id)
			continue;
		json_object_set_new(json, "expected_start_at", view_time(forecast->start_ns));
		json_object_set_new(json, "expected_node",
				    json_string(server->nodes[forecast->node].name));
		json_object_set_new(json, "promised", json_boolean(forecast->promised));
		json_object_set_new(json, "position", json_integer((json_int_t)i + 1));
		return i + 1;
	}
	return 0;
}

void api_job_show(struct server *server, struct request *request)
{
	struct live *live;

	if (!api_job_find(server, request, false, &live) || !live)
		return; /* the history is looked at then */
	json_t *json = view_job(server, live);
	const struct strata_forecast *list;
	size_t count;

	if (json && live->row.completed_ns == 0)
		api_job_forecast(server, live, json, &list, &count);
	request_answer(request, MHD_HTTP_OK, json);
}

bool api_job_read(struct request *request, struct store_job *ret_row)
{
	const char *id = request->segments[0];
	struct strata_error err = { 0 };
	struct store *store;
	int64_t number;
	int rc;

	if (request->answered)
		return false;
	rc = store_readers_take(request->server->readers, INT64_C(5000000000), &store, &err);
	if (rc == 0) {
		if (strata_int_parse(id, STRATA_TEXT_NUL, 1, INT64_MAX, &number, NULL) == 0)
			rc = store_job_get(store, number, &request->arena, ret_row, &err);
		else
			rc = store_job_find(store, id, &request->arena, ret_row, &err);
		store_readers_give(request->server->readers, store);
	}
	if (rc == -ENOENT)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no job %.40s",
			       id);
	else if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}

void api_job_history(struct request *request)
{
	struct store_job row;

	if (api_job_read(request, &row))
		request_answer(request, MHD_HTTP_OK, view_row(&row));
}

/* ---- changes ---- */

struct change {
	int hold, requeue, suspend; /* -1: not asked for */
	struct exec_ask signal;     /* signal 0: none */
	struct strata_job_change change;
	json_t *json;
};

struct change_conf {
	int priority;
	int64_t nice, time_limit_ns, begin_ns;
	bool hold, requeue, suspend;
	const char *signal;
	int signal_to;
};

static const struct strata_choice bands[] = { { "low", STRATA_BAND_LOW, NULL },
					      { "normal", STRATA_BAND_NORMAL, NULL },
					      { "high", STRATA_BAND_HIGH, NULL },
					      { 0 } };
static const struct strata_choice receivers[] = { { "all", EXEC_TO_ALL, NULL },
						  { "batch", EXEC_TO_BATCH, NULL },
						  { "steps", EXEC_TO_STEPS, NULL },
						  { 0 } };
static const struct strata_option change_options[] = {
	{ "hold", STRATA_BOOL, offsetof(struct change_conf, hold), .help = "keep it waiting" },
	{ "requeue", STRATA_BOOL, offsetof(struct change_conf, requeue),
	  .help = "stop it and queue it again" },
	{ "suspend", STRATA_BOOL, offsetof(struct change_conf, suspend), .help = "freeze it" },
	{ "priority", STRATA_ENUM, offsetof(struct change_conf, priority),
	  .choice = { bands, STRATA_BAND_NORMAL }, .help = "band" },
	{ "nice", STRATA_INT, offsetof(struct change_conf, nice),
	  .integer = { 0, -2147483645, 2147483645 }, .help = "later among equals" },
	{ "time_limit", STRATA_DURATION, offsetof(struct change_conf, time_limit_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s", .help = "time limit" },
	{ "begin", STRATA_TIME, offsetof(struct change_conf, begin_ns), .help = "not before" },
	{ "signal", STRATA_TEXT, offsetof(struct change_conf, signal), .text = { NULL, 20 },
	  .help = "send it a signal: USR1" },
	{ "signal_to", STRATA_ENUM, offsetof(struct change_conf, signal_to),
	  .choice = { receivers, EXEC_TO_ALL }, .help = "which of its processes" },
	{ 0 }
};
const struct strata_schema api_job_change_schema = { "job change", NULL, sizeof(struct change_conf),
						     change_options };

static int read_signal(const struct change_conf *conf, struct exec_ask *ret_ask,
		       struct strata_error *err)
{
	struct strata_sbatch_signal signal;

	if (strpbrk(conf->signal, ":@") || !slurm_signal_parse(conf->signal, &signal))
		return strata_fail_at(err, -EINVAL, "signal",
				      "signal is '%.20s'; expected a number or a name such as USR1",
				      conf->signal);
	*ret_ask = (struct exec_ask){ .type = EXEC_SIGNAL,
				      .signal = signal.number,
				      .to = (enum exec_to)conf->signal_to };
	return 0;
}

/* Each of them may be refused on its own, and a request is done as a whole or not at all. */
static int check_actions(const struct change *change, struct strata_error *err)
{
	bool together = change->hold > 0 && change->requeue > 0;
	int count = (change->hold >= 0 && !together) + (change->requeue > 0) +
		    (change->suspend >= 0) + (change->signal.signal != 0);

	return count > 1 ? strata_fail(err, -EINVAL,
				       "expected one of hold, requeue, suspend and signal; only "
				       "hold=true and requeue=true go together")
			 : 0;
}

void api_job_change_parse(struct request *request)
{
	struct change *change = strata_arena_get(&request->arena, sizeof(*change));
	struct change_conf conf = { 0 };
	struct strata_error err = { 0 };
	json_t *json = request_json(request);

	if (!json)
		return;
	int rc = strata_schema_read_json(&api_job_change_schema, request->body,
					 request->body_length, &request->arena, &conf, &err);

	if (rc == 0 && !change)
		rc = strata_fail_memory(&err);
	if (rc == 0) {
		change->hold = json_object_get(json, "hold") ? conf.hold : -1;
		change->requeue = json_object_get(json, "requeue") ? conf.requeue : -1;
		change->suspend = json_object_get(json, "suspend") ? conf.suspend : -1;
		change->change = (struct strata_job_change){
			.what = (json_object_get(json, "priority") ? STRATA_CHANGE_BAND : 0u) |
				(json_object_get(json, "nice") ? STRATA_CHANGE_PRIORITY : 0u) |
				(json_object_get(json, "time_limit") ? STRATA_CHANGE_TIME_LIMIT
								     : 0u) |
				(json_object_get(json, "begin") ? STRATA_CHANGE_BEGIN : 0u),
			.band = (enum strata_band)conf.priority,
			.priority = -conf.nice,
			.time_limit_ns = conf.time_limit_ns,
			.begin_ns = conf.begin_ns,
		};
	}
	if (rc == 0 && conf.signal)
		rc = read_signal(&conf, &change->signal, &err);
	if (rc == 0)
		rc = check_actions(change, &err);
	json_decref(json);
	request->parsed = change;
	if (rc)
		request_fail(request, rc, &err);
}

static void keep_hold(struct server *server, struct live *live, bool hold, enum role role)
{
	json_t *spec = json_loads(live->row.spec, 0, NULL);

	if (!spec)
		return;
	json_object_set_new(spec, "hold", json_boolean(hold));
	if (hold)
		json_object_set_new(spec, "held_by",
				    json_string(role < ROLE_OPERATOR ? "owner" : "operator"));
	else
		json_object_del(spec, "held_by");
	live_set_spec(server, live, spec);
	json_decref(spec);
}

static int set_hold(struct server *server, struct live *live, bool hold, enum role role,
		    int64_t now_ns, struct strata_error *err)
{
	int rc = strata_cluster_hold(server->cluster, (uint64_t)live->row.id, hold, now_ns, err);

	if (rc == 0)
		keep_hold(server, live, hold, role);
	return rc;
}

static int send_signal(struct server *server, const struct live *live, const struct exec_ask *ask,
		       struct strata_error *err)
{
	struct exec_key key = { (uint64_t)live->row.id, (uint32_t)live->row.attempt };

	if (!live->ordered)
		return strata_fail_at(err, -ESTALE, "signal", "job %lld does not run",
				      (long long)live->row.id);
	return server->exec->cls->ask(server->exec, key, ask, err);
}

/* A job that must not run twice does so only when its owner says so. */
static int check_requeue(struct server *server, const struct live *live,
			 const struct change *change, const struct identity *who,
			 struct strata_error *err)
{
	struct strata_job_view view;
	int rc = strata_cluster_job(server->cluster, (uint64_t)live->row.id, &view, err);

	if (rc)
		return rc;
	if (change->requeue > 0 && !view.requeue && strcmp(who->user, live->row.user) != 0)
		return strata_fail_at(
			err, -EPERM, "requeue",
			"job %lld was submitted with requeue=false: only %s may have it "
			"run a second time",
			(long long)live->row.id, live->row.user);
	return 0;
}

/* What an operator holds or has suspended waits for an operator. */
static int check_hold(const struct live *live, const struct change *change,
		      const struct identity *who, struct strata_error *err)
{
	if ((change->hold < 0 && change->suspend < 0) || who->role >= ROLE_OPERATOR)
		return 0;
	json_t *spec = json_loads(live->row.spec, 0, NULL);
	const char *by = json_string_value(json_object_get(spec, "held_by"));
	bool operators = by && strcmp(by, "operator") == 0;

	json_decref(spec);
	return operators ? strata_fail_at(err, -EPERM, change->hold >= 0 ? "hold" : "suspend",
					  "job %lld is held by an operator; only operators "
					  "release it",
					  (long long)live->row.id)
			 : 0;
}

/* The one action of the request, if it has any. */
static int act(struct server *server, struct live *live, const struct change *change,
	       enum role role, struct strata_error *err)
{
	uint64_t id = (uint64_t)live->row.id;
	int64_t now_ns = server_now_ns(server);
	int rc = 0;
	bool later = change->hold > 0 && change->requeue > 0; /* once it is back */

	if (change->hold >= 0 && !later)
		rc = set_hold(server, live, change->hold, role, now_ns, err);
	if (rc == 0 && change->requeue > 0)
		rc = strata_cluster_stop(server->cluster, id, STRATA_STOP_REQUEUE, now_ns, err);
	if (rc == 0 && later) {
		live->hold = true;
		keep_hold(server, live, true, role);
	}
	if (rc == 0 && change->suspend > 0)
		rc = strata_cluster_stop(server->cluster, id, STRATA_STOP_SUSPEND, now_ns, err);
	if (rc == 0 && change->suspend > 0)
		keep_hold(server, live, true, role); /* until it is let go */
	if (rc == 0 && change->suspend == 0)
		rc = set_hold(server, live, false, role, now_ns, err);
	if (rc == 0 && change->signal.signal)
		rc = send_signal(server, live, &change->signal, err);
	return rc;
}

/* The changed numbers are put back when the action that came with them cannot be done. */
static int apply_change(struct server *server, struct live *live, const struct change *change,
			const struct identity *who, struct strata_error *err)
{
	const struct strata_job_change old = { .what = change->change.what,
					       .band = (enum strata_band)live->row.band,
					       .priority = live->row.priority,
					       .time_limit_ns = live->row.time_limit_ns,
					       .begin_ns = live->row.eligible_ns };
	uint64_t id = (uint64_t)live->row.id;
	int64_t now_ns = server_now_ns(server);
	int rc = old.what ? strata_cluster_change(server->cluster, id, &change->change, now_ns, err)
			  : 0;

	if (rc)
		return rc;
	rc = act(server, live, change, who->role, err);
	if (rc && old.what)
		strata_cluster_change(server->cluster, id, &old, now_ns, NULL);
	if (rc)
		return rc;
	if (change->change.what & STRATA_CHANGE_BAND)
		live->row.band = change->change.band;
	if (change->change.what & STRATA_CHANGE_PRIORITY)
		live->row.priority = change->change.priority;
	if (change->change.what & STRATA_CHANGE_TIME_LIMIT)
		live->row.time_limit_ns = change->change.time_limit_ns;
	if (change->change.what & STRATA_CHANGE_BEGIN)
		live->row.eligible_ns = change->change.begin_ns;
	if ((change->change.what & STRATA_CHANGE_TIME_LIMIT) && live->ordered) {
		struct exec_key key = { id, (uint32_t)live->row.attempt };
		struct exec_ask ask = { .type = EXEC_LIMIT, .limit_ns = live->row.time_limit_ns };

		server->exec->cls->ask(server->exec, key, &ask, NULL);
	}
	return 0;
}

static json_t *changed_json(const struct store_job *row, unsigned what)
{
	json_t *json = json_object();

	if (what & STRATA_CHANGE_BAND)
		json_object_set_new(json, "priority",
				    json_string(strata_band_name((enum strata_band)row->band)));
	if (what & STRATA_CHANGE_PRIORITY)
		json_object_set_new(json, "nice", json_integer(-row->priority));
	if (what & STRATA_CHANGE_TIME_LIMIT)
		json_object_set_new(json, "time_limit_s",
				    json_integer(row->time_limit_ns / STRATA_SECOND_NS));
	if (what & STRATA_CHANGE_BEGIN)
		json_object_set_new(json, "begin", view_time(row->eligible_ns));
	return json;
}

/* Who changed what, from what to what. */
static void note_change(struct server *server, const struct store_job *old, const struct live *live,
			const struct strata_job_change *change, const char *by)
{
	batch_event(server, live->row.id, "job.changed",
		    json_pack("{s:s,s:o,s:o}", "by", by, "from", changed_json(old, change->what),
			      "to", changed_json(&live->row, change->what)));
}

void api_job_change(struct server *server, struct request *request)
{
	struct strata_error err = { 0 };
	struct live *live = api_job_find_live(server, request, true);

	if (!live)
		return;
	const struct change *change = request->parsed;
	struct store_job old = live->row; /* its numbers */
	int rc = check_requeue(server, live, change, &request->who, &err);

	if (rc == 0)
		rc = check_hold(live, change, &request->who, &err);
	if (rc == 0)
		rc = admit_change(server, &request->who, live, &change->change, &err);
	if (rc == 0)
		rc = apply_change(server, live, change, &request->who, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	live_update(server, live);
	note_change(server, &old, live, &change->change, request->who.user);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_job(server, live));
}

void api_job_cancel(struct server *server, struct request *request)
{
	int64_t now_ns = server_now_ns(server);
	struct strata_error err = { 0 };
	struct strata_job_view view;
	struct live *live = api_job_find_live(server, request, true);
	int rc;

	if (!live)
		return;
	rc = strata_cluster_job(server->cluster, (uint64_t)live->row.id, &view, &err);
	bool placed = rc == 0 && view.piece_count > 0;

	if (rc == 0)
		rc = placed ? strata_cluster_stop(server->cluster, (uint64_t)live->row.id,
						  STRATA_STOP_CANCEL, now_ns, &err)
			    : strata_cluster_cancel(server->cluster, (uint64_t)live->row.id, now_ns,
						    &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	live_update(server, live);
	free((char *)live->row.cancelled_by);
	live->row.cancelled_by = strdup(request->who.user);
	if (!placed)
		live_ended(server, live, NULL);
	batch_event(server, live->row.id, placed ? "job.cancelling" : "job.ended",
		    json_pack("{s:s,s:s}", "by", request->who.user, "state", live->row.state));
	request->durable = true;
	request_answer(request, placed ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK,
		       json_pack("{s:I,s:s,s:b}", "id", (json_int_t)live->row.id, "state",
				 live->row.state, "stopping", placed));
}
