/*
 * PATCH /api/v1/jobs/…: hold, release, requeue, suspend, signal, other numbers, what it asks for.
 * Of one job, or of elements of an array: then every one of them is looked at before the first is
 * changed, and all of it is in one round's batch.
 */
#include "exec/exec.h"
#include "slurm/slurm_value.h"
#include "server/admit.h"
#include "server/array_limits.h"
#include "server/api_jobs.h"
#include "server/elements.h"
#include "server/entities.h"
#include "server/job_update.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

struct change {
	struct elements elements;
	int hold, requeue, suspend; /* -1: not asked for */
	struct exec_control signal; /* signal 0: none */
	struct strata_job_change change;
	int64_t throttle; /* of the array; -1: it stays */
	json_t *fields;   /* of what it asks for; NULL: none */
};

struct change_conf {
	int priority;
	int64_t nice, time_limit_ns, begin_ns;
	int64_t throttle;
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
	{ "array_throttle", STRATA_INT, offsetof(struct change_conf, throttle),
	  .integer = { 0, 0, STRATA_ARRAY_INDEX_MAX + 1 },
	  .help = "so many elements of its array run at a time; 0: any number" },
	{ "signal", STRATA_TEXT, offsetof(struct change_conf, signal), .text = { NULL, 20 },
	  .help = "send it a signal: USR1" },
	{ "signal_to", STRATA_ENUM, offsetof(struct change_conf, signal_to),
	  .choice = { receivers, EXEC_TO_ALL }, .help = "which of its processes" },
	{ 0 }
};
static const struct strata_schema change_schema = { "job change", NULL, sizeof(struct change_conf),
						    change_options };

static int read_signal(const struct change_conf *conf, struct exec_control *ret_ask,
		       struct strata_error *err)
{
	struct strata_sbatch_signal signal;

	if (strpbrk(conf->signal, ":@") || !slurm_signal_parse(conf->signal, &signal))
		return strata_fail_at(err, -EINVAL, "signal",
				      "signal is '%.20s'; expected a number or a name such as USR1",
				      conf->signal);
	*ret_ask = (struct exec_control){ .type = EXEC_SIGNAL,
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

	if (count && change->fields)
		return strata_fail(err, -EINVAL,
				   "what a job asks for cannot change together with hold, requeue, "
				   "suspend or signal; send two requests");
	if (change->throttle >= 0 && (count || change->fields || change->change.what))
		return strata_fail_at(err, -EINVAL, "array_throttle",
				      "array_throttle is of the whole array and is changed alone; "
				      "send two requests");
	return count > 1 ? strata_fail(err, -EINVAL,
				       "expected one of hold, requeue, suspend and signal; only "
				       "hold=true and requeue=true go together")
			 : 0;
}

static void release_change(struct request *request)
{
	json_decref(((struct change *)request->parsed)->fields);
}

static void parse_change(struct request *request)
{
	struct change *change = strata_arena_get(&request->arena, sizeof(*change));
	struct change_conf conf = { 0 };
	struct strata_error err = { 0 };
	json_t *json = request_json(request);

	if (!json)
		return;
	int rc = change ? job_update_read(json, &request->arena, &change->fields, &err)
			: strata_fail_memory(&err);

	if (rc == 0)
		rc = strata_schema_defaults(&change_schema, &request->arena, &conf, &err);
	if (rc == 0)
		rc = option_read_json(&change_schema, json, OPTION_PARTIAL, &request->arena, &conf,
				      &err);
	if (rc == 0) {
		change->hold = json_object_get(json, "hold") ? conf.hold : -1;
		change->requeue = json_object_get(json, "requeue") ? conf.requeue : -1;
		change->suspend = json_object_get(json, "suspend") ? conf.suspend : -1;
		change->throttle = json_object_get(json, "array_throttle") ? conf.throttle : -1;
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
	if (change)
		request->release = release_change;
	if (rc)
		request_fail(request, rc, &err);
	else
		elements_read(request, &change->elements);
}

static void keep_hold(struct decider *decider, struct live *live, bool hold, enum role role)
{
	live_set_held(decider, live,
		      !hold                  ? JOB_NOT_HELD
		      : role < ROLE_OPERATOR ? JOB_HELD_BY_OWNER
					     : JOB_HELD_BY_OPERATOR);
}

static int set_hold(struct decider *decider, struct live *live, bool hold, enum role role,
		    int64_t now_ns, struct strata_error *err)
{
	int rc = strata_cluster_hold_range(decider->cluster, (uint64_t)job_first_id(&live->job),
					   (uint32_t)job_elements(&live->job), hold, now_ns, err);

	if (rc == 0)
		keep_hold(decider, live, hold, role);
	return rc;
}

static int send_signal(struct decider *decider, const struct live *live,
		       const struct exec_control *ask, struct strata_error *err)
{
	struct exec_key key = { (uint64_t)live->job.id, (uint32_t)live->job.attempt };

	if (!live->ordered)
		return strata_fail_at(err, -ESTALE, "signal", "job %lld does not run",
				      (long long)live->job.id);
	return decider->exec->cls->control(decider->exec, key, ask, err);
}

/* A job that must not run twice does so only when its owner says so. */
static int check_requeue(struct decider *decider, const struct live *live,
			 const struct change *change, const struct identity *who,
			 struct strata_error *err)
{
	struct strata_job_view view;
	int rc = strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, err);

	if (rc)
		return rc;
	if (change->requeue > 0 && !view.requeue && strcmp(who->user, live->job.user) != 0)
		return strata_fail_at(
			err, -EPERM, "requeue",
			"job %lld was submitted with requeue=false: only %s may have it "
			"run a second time",
			(long long)live->job.id, live->job.user);
	return 0;
}

/* What an operator holds or has suspended waits for an operator. */
static int check_hold(const struct live *live, const struct change *change,
		      const struct identity *who, struct strata_error *err)
{
	if ((change->hold < 0 && change->suspend < 0) || who->role >= ROLE_OPERATOR)
		return 0;
	return live->held == JOB_HELD_BY_OPERATOR
		       ? strata_fail_at(err, -EPERM, change->hold >= 0 ? "hold" : "suspend",
					"job %lld is held by an operator; only operators "
					"release it",
					(long long)live->job.id)
		       : 0;
}

/* Some executors can end what runs, and nothing else. */
static int check_executor(struct decider *decider, const struct change *change,
			  struct strata_error *err)
{
	const struct exec_class *exec = (const struct exec_class *)decider->exec_spec.cls;
	const char *field = change->suspend > 0 ? "suspend" : "signal";

	if (!exec->only_stops || (change->suspend <= 0 && !change->signal.signal))
		return 0;
	return strata_fail_at(
		err, -ENOTSUP, field,
		"jobs run as pods of Kubernetes, which knows no way to %s one; cancel "
		"or requeue it",
		change->suspend > 0 ? "freeze" : "send a signal to");
}

/* The one action of the request, if it has any. */
static int act(struct decider *decider, struct live *live, const struct change *change,
	       enum role role, struct strata_error *err)
{
	uint64_t id = (uint64_t)live->job.id;
	int64_t now_ns = decider_now_ns(decider);
	int rc = check_executor(decider, change, err);
	bool later = change->hold > 0 && change->requeue > 0; /* once it is back */

	if (rc == 0 && change->hold >= 0 && !later)
		rc = set_hold(decider, live, change->hold, role, now_ns, err);
	if (rc == 0 && change->requeue > 0)
		rc = strata_cluster_stop(decider->cluster, id, STRATA_STOP_REQUEUE, now_ns, err);
	if (rc == 0 && later) {
		live->hold = true;
		keep_hold(decider, live, true, role);
	}
	if (rc == 0 && change->suspend > 0)
		rc = strata_cluster_stop(decider->cluster, id, STRATA_STOP_SUSPEND, now_ns, err);
	if (rc == 0 && change->suspend > 0)
		keep_hold(decider, live, true, role); /* until it is let go */
	if (rc == 0 && change->suspend == 0)
		rc = set_hold(decider, live, false, role, now_ns, err);
	if (rc == 0 && change->signal.signal)
		rc = send_signal(decider, live, &change->signal, err);
	return rc;
}

static struct job_update_ask update_ask(const struct change *change, enum role role)
{
	bool limit = change->change.what & STRATA_CHANGE_TIME_LIMIT;

	return (struct job_update_ask){ .fields = change->fields,
					.time_limit_ns = limit ? change->change.time_limit_ns : 0,
					.role = role };
}

/* What it asks for, and numbers beside it, at once. */
static int update(struct decider *decider, struct live *live, const struct change *change,
		  enum role role, struct strata_error *err)
{
	struct strata_job_change both = change->change;
	struct job_update_ask ask = update_ask(change, role);
	struct job_update update;
	int rc = job_update_plan(decider, live, &ask, &decider->scratch, &update, err);

	if (rc)
		return rc;
	both.what |= update.what;
	both.request = &update.request;
	if (both.what)
		rc = strata_cluster_change_range(
			decider->cluster, (uint64_t)job_first_id(&live->job),
			(uint32_t)job_elements(&live->job), &both, decider_now_ns(decider), err);
	if (rc == 0)
		job_update_apply(decider, live, &update);
	job_update_drop(&update);
	return rc;
}

/* The changed numbers are put back when the action that came with them cannot be done. */
static int apply_change(struct decider *decider, struct live *live, const struct change *change,
			const struct identity *who, struct strata_error *err)
{
	const struct strata_job_change old = { .what = change->change.what,
					       .band = (enum strata_band)live->job.band,
					       .priority = live->job.priority,
					       .time_limit_ns = live->job.time_limit_ns,
					       .begin_ns = live->job.eligible_ns };
	uint64_t first = (uint64_t)job_first_id(&live->job);
	uint32_t count = (uint32_t)job_elements(&live->job);
	int64_t now_ns = decider_now_ns(decider);
	int rc = change->fields ? update(decider, live, change, who->role, err)
		 : old.what     ? strata_cluster_change_range(decider->cluster, first, count,
							      &change->change, now_ns, err)
				: 0;

	if (rc)
		return rc;
	rc = act(decider, live, change, who->role, err);
	if (rc && old.what)
		strata_cluster_change_range(decider->cluster, first, count, &old, now_ns, NULL);
	if (rc)
		return rc;
	if (change->change.what & STRATA_CHANGE_BAND)
		live->job.band = change->change.band;
	if (change->change.what & STRATA_CHANGE_PRIORITY)
		live->job.priority = change->change.priority;
	if (change->change.what & STRATA_CHANGE_TIME_LIMIT)
		live->job.time_limit_ns = change->change.time_limit_ns;
	if (change->change.what & STRATA_CHANGE_BEGIN)
		live->job.eligible_ns = change->change.begin_ns;
	if ((change->change.what & STRATA_CHANGE_TIME_LIMIT) && live->ordered) {
		struct exec_key key = { first, (uint32_t)live->job.attempt };
		struct exec_control ask = { .type = EXEC_LIMIT,
					    .limit_ns = live->job.time_limit_ns };

		decider->exec->cls->control(decider->exec, key, &ask, NULL);
	}
	return 0;
}

static json_t *changed_json(const struct job *job, unsigned what)
{
	json_t *json = json_object();

	if (what & STRATA_CHANGE_BAND)
		json_object_set_new(json, "priority", json_string(strata_band_name(job->band)));
	if (what & STRATA_CHANGE_PRIORITY)
		json_object_set_new(json, "nice", json_integer(-job->priority));
	if (what & STRATA_CHANGE_TIME_LIMIT)
		json_object_set_new(json, "time_limit_s",
				    json_integer(job->time_limit_ns / STRATA_SECOND_NS));
	if (what & STRATA_CHANGE_BEGIN)
		json_object_set_new(json, "begin", view_time(job->eligible_ns));
	return json;
}

/* What is there: of an object without members nothing has to be said. */
static json_t *some(json_t *json)
{
	if (json && json_object_size(json))
		return json;
	json_decref(json);
	return NULL;
}

static json_t *with_fields(json_t *json, json_t *fields)
{
	if (json && fields)
		json_object_update(json, fields);
	return json;
}

/* ---- one job or several ---- */

/* Of an array a change is for those elements that are in a state for it. */
static bool is_for(const struct change *change, const struct live *live,
		   const struct strata_job_view *view)
{
	bool waits = view->state == STRATA_JOB_QUEUED || view->state == STRATA_JOB_PREEMPTED;
	bool placed = view->piece_count > 0, frozen = waits && placed;

	if (change->requeue > 0 && !placed)
		return false;
	if (change->hold >= 0 && change->requeue <= 0 && !waits)
		return false;
	if ((change->suspend > 0 && (!placed || frozen)) || (change->suspend == 0 && !frozen))
		return false;
	if (change->signal.signal && !live->ordered)
		return false;
	return waits ||
	       (!change->fields && !(change->change.what & ~(unsigned)STRATA_CHANGE_TIME_LIMIT));
}

/* Would it be taken? */
static int check_update(struct decider *decider, const struct live *live,
			const struct change *change, enum role role, struct strata_error *err)
{
	struct job_update_ask ask = update_ask(change, role);
	struct job_update update;
	int rc = change->fields
			 ? job_update_plan(decider, live, &ask, &decider->scratch, &update, err)
			 : 0;

	if (rc == 0 && change->fields)
		job_update_drop(&update);
	return rc;
}

/* A limit on waiting jobs may be reached in the midst of several ranges, and each job waits for
 * others of its own. */
static int check_several(const struct change *change, struct strata_error *err)
{
	static const char *const each[] = { "account", "qos", "dependencies" };

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		if (json_object_get(change->fields, each[i]))
			return strata_fail_at(err, -EBUSY, each[i],
					      "the elements that are meant do not wait alike; "
					      "change %s of those that do, as in 35_[3-9]",
					      each[i]);
	return 0;
}

static int check_part(struct decider *decider, const struct request *request,
		      const struct part *part, struct strata_error *err)
{
	const struct change *change = request->parsed;
	const struct live *live = live_element(decider, part->live, part->first);
	int rc = part_refuse_ended(part, err);

	if (rc == 0)
		rc = check_requeue(decider, live, change, &request->who, err);
	if (rc == 0)
		rc = check_hold(live, change, &request->who, err);
	if (rc == 0)
		rc = check_update(decider, live, change, request->who.role, err);
	return rc ? rc : admit_change(decider, &request->who, live, &change->change, err);
}

/* Leaves out those that are in no state for it; all others are checked before the first is
 * changed. */
static int check_parts(struct decider *decider, const struct request *request,
		       struct chosen *chosen, struct tally *tally, struct strata_error *err)
{
	size_t count = chosen->count;
	int rc = 0;

	chosen->count = 0;
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct part *part = &chosen->parts[i];
		struct strata_job_view view;

		rc = strata_cluster_job(decider->cluster, (uint64_t)part->first, &view, err);
		if (rc == 0 && chosen->array && !is_for(request->parsed, part->live, &view)) {
			tally->left += part->last - part->first + 1;
			continue;
		}
		if (rc == 0)
			rc = check_part(decider, request, part, err);
		chosen->parts[chosen->count++] = *part;
	}
	if (rc == 0 && chosen->count > 1)
		rc = check_several(request->parsed, err);
	if (rc == 0 && chosen->count == 0)
		rc = strata_fail(err, -ESTALE, "no element of array %lld is in a state for this",
				 (long long)chosen->array);
	return rc;
}

/* What was done to it, for the event; NULL: its numbers were changed. */
static const char *deed_of(const struct change *change)
{
	if (change->requeue > 0)
		return change->hold > 0 ? "requeue and hold" : "requeue";
	if (change->suspend >= 0)
		return change->suspend ? "suspend" : "resume";
	if (change->hold >= 0)
		return change->hold ? "hold" : "release";
	return change->signal.signal ? "signal" : NULL;
}

/* Who did what, and what was changed from what to what. */
static int change_part(struct decider *decider, const struct request *request,
		       const struct part *part, struct notice *notice, struct strata_error *err)
{
	const struct change *change = request->parsed;
	struct live *live = live_take(decider, part->first, part->last);
	struct job old = live->job; /* its numbers */
	int rc = apply_change(decider, live, change, &request->who, err);

	if (rc)
		return rc;
	live_update(decider, live);
	notice_add(decider, notice, live, "job.changed",
		   json_pack("{s:s,s:s*,s:o*,s:o*}", "by", request->who.user, "did",
			     deed_of(change), "from", some(changed_json(&old, change->change.what)),
			     "to",
			     some(with_fields(changed_json(&live->job, change->change.what),
					      change->fields))));
	return 0;
}

/* A signal that cannot be sent leaves one job as it is. All else was checked: only memory can lack,
 * which ends the program once something is changed. */
static int change_parts(struct decider *decider, const struct request *request,
			const struct chosen *chosen, struct tally *tally, struct strata_error *err)
{
	const struct change *change = request->parsed;
	struct notice notice = { 0 };
	int rc = 0;

	for (size_t i = 0; i < chosen->count; i++) {
		const struct part *part = &chosen->parts[i];

		rc = change_part(decider, request, part, &notice, err);
		if (rc == 0)
			tally_add(tally, part);
		else if (change->signal.signal)
			tally->left++;
		else if (tally->jobs)
			batch_need(NULL);
		else
			return rc;
	}
	notice_flush(decider, &notice);
	return tally->jobs ? 0 : rc;
}

/* How many of an array may run at a time: of all of it, whichever element was named. */
static void patch_throttle(struct decider *decider, struct request *request,
			   const struct chosen *chosen)
{
	const struct change *change = request->parsed;
	const struct live *live = chosen->parts[0].live;
	struct strata_error err = { 0 };
	int rc = part_refuse_ended(&chosen->parts[0], &err);

	if (rc == 0)
		rc = array_limit_set(decider, live, (uint32_t)change->throttle, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	batch_event(decider, live->job.id, "job.changed",
		    json_pack("{s:s,s:{s:I}}", "by", request->who.user, "to", "array_throttle",
			      (json_int_t)change->throttle));
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_live(decider, live));
}

static void patch_job(struct decider *decider, struct request *request)
{
	const struct change *change = request->parsed;
	struct chosen chosen = elements_choose(decider, request, &change->elements);
	struct strata_error err = { 0 };
	struct tally tally = { 0 };

	if (request->answered)
		return;
	if (change->throttle >= 0 && chosen.count) {
		patch_throttle(decider, request, &chosen);
		return;
	}
	int rc = check_parts(decider, request, &chosen, &tally, &err);

	if (rc == 0)
		rc = change_parts(decider, request, &chosen, &tally, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	const struct live *live =
		live_element(decider, live_get(decider, tally.first), tally.first);
	json_t *json = view_live(decider, live);

	if (json && chosen.array) {
		json_object_set_new(json, "jobs", json_integer(tally.jobs));
		json_object_set_new(json, "left", json_integer(tally.left));
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json);
}

/* ---- routes ---- */

const struct route api_change_routes[] = {
	{ .method = "PATCH",
	  .path = "/api/v1/jobs/*",
	  .summary = "hold, release, requeue, change",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_change,
	  .decide = patch_job,
	  .query = &elements_query,
	  .body = &change_schema,
	  .answer = "id state" },
	{ 0 },
};
