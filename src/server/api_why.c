/*
 * GET /api/v1/jobs/…/why: in sentences, why a job waits, for whom or what, and what can be done
 * about it. Each reason has its own: what the cluster decided by is told with its numbers.
 */
#include "server/advances.h"
#include "server/api_jobs.h"
#include "server/decider.h"
#include "server/descriptors.h"
#include "server/impossible_text.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/entities.h"
#include "server/route.h"
#include "server/victims_text.h"
#include "server/view.h"
#include "server/why_apart.h"

#include <strata/slurm.h>
#include <strata/text.h>

#include <inttypes.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMED_MAX = 5 }; /* jobs or nodes that are named one by one */

struct why {
	struct decider *decider;
	const struct live *live;
	const struct job *job;
	json_t *sentences;
	json_t *before; /* the first jobs that go before it */
};

static void say(struct why *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct why *why, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(why->sentences, json_string(text));
}

/* ---- what it waits for ---- */

static void say_begin(struct why *why)
{
	char time[STRATA_FORM_BYTES];

	if (why->job->failure) /* put off: it was not its wish */
		say(why, "It is tried again in a few seconds; nothing has to be done for that.");
	else if (why->job->eligible_ns)
		say(why, "It may start from %s on.",
		    strata_time_print(why->job->eligible_ns -
					      why->job->eligible_ns % STRATA_SECOND_NS,
				      time));
}

static const char *wish_of(enum strata_slurm_dependency_kind kind)
{
	switch (kind) {
	case STRATA_SLURM_AFTER:
		return "has started";
	case STRATA_SLURM_AFTERANY:
		return "has ended";
	case STRATA_SLURM_AFTERNOTOK:
		return "has failed";
	default:
		return "has completed";
	}
}

static void say_dependencies(struct why *why)
{
	const char *text = why->live->spec->spec.dependencies;
	struct strata_slurm_dependencies list;
	size_t named = 0;

	if (text && strata_slurm_dependencies_parse(text, STRATA_TEXT_NUL, &why->decider->scratch,
						    &list, NULL) == 0)
		for (size_t i = 0; i < list.count && named < NAMED_MAX; i++) {
			const struct live *other = live_get(why->decider, list.items[i].job);

			if (list.items[i].kind == STRATA_SLURM_SINGLETON) {
				say(why, "It waits until earlier jobs of %s called %s have ended.",
				    why->job->user, why->job->name);
				named++;
			} else if (other) {
				say(why, "It waits until job %" PRId64 " (%s) %s; that one is %s.",
				    list.items[i].job,
				    other->job.name ? other->job.name : "no name",
				    wish_of(list.items[i].kind),
				    strata_job_state_name(other->job.state));
				named++;
			}
		}
}

static void say_never(struct why *why)
{
	say_dependencies(why);
	say(why,
	    "It can never start. Cancel it with `strata cancel %" PRId64 "` and submit it again.",
	    why->job->id);
}

/* "1 job in use; the limit is 2.", where there is one. */
static void say_limit(struct why *why, const json_t *limits, const char *key, const char *what,
		      double used)
{
	double limit = json_number_value(json_object_get(limits, key));

	if (limit > 0)
		say(why, "%g %s%s in use; the limit is %g.", used, what, used == 1 ? "" : "s",
		    limit);
}

static void say_limits(struct why *why, enum strata_entity_type kind, const char *name)
{
	const struct entity *entity = name ? entity_find(why->decider, kind, name) : NULL;
	const json_t *limits = entity ? json_object_get(entity->settings, "limits") : NULL;
	struct strata_usage_view view = { 0 };

	if (kind == STRATA_ENTITY_USER)
		strata_cluster_user(why->decider->cluster, name, &view);
	else if (kind == STRATA_ENTITY_ACCOUNT && name)
		strata_cluster_account(why->decider->cluster, name, &view);
	if (!limits)
		return;
	say(why, "The %s %s has limits:", strata_entity_type_name(kind), name);
	if (kind == STRATA_ENTITY_QOS) { /* whose use is not kept apart */
		const char *key;
		json_t *value;

		json_object_foreach((json_t *)limits, key, value)
			say(why, "%s: %g.", key, json_number_value(value));
		return;
	}
	say_limit(why, limits, "jobs", "job", view.jobs);
	say_limit(why, limits, "gpus", "GPU", (double)view.gpu_milli / 1000);
	say_limit(why, limits, "gpu_hours", "GPU hour", view.gpu_hours);
}

/* The accounts above count as well. */
static void say_account(struct why *why)
{
	const struct entity *user = entity_find(why->decider, STRATA_ENTITY_USER, why->job->user);
	const char *name = why->job->account;

	if (!name && user)
		name = json_string_value(json_object_get(user->settings, "account"));
	for (int depth = 0; name && depth < STRATA_SHARE_DEPTH_MAX; depth++) {
		const struct entity *account =
			entity_find(why->decider, STRATA_ENTITY_ACCOUNT, name);

		say_limits(why, STRATA_ENTITY_ACCOUNT, name);
		name = account ? json_string_value(json_object_get(account->settings, "parent"))
			       : NULL;
	}
}

static void say_partition(struct why *why)
{
	const char *name = why->job->partition;
	const struct entity *partition =
		name ? entity_find(why->decider, STRATA_ENTITY_PARTITION, name) : NULL;

	if (partition)
		say(why,
		    "The partition %s is %s; it starts when an administrator says `strata "
		    "partitions set %s --state up`.",
		    name, strata_partition_state_name(partition->rule.state), name);
}

static void say_array(struct why *why)
{
	size_t running = 0;

	for (const struct live *live = live_first(why->decider); live; live = live_next(live)) {
		const struct job *job = &live->job;

		running += job->array_id == why->job->array_id && job->place;
	}
	say(why,
	    "%zu of its array run%s now, as many as were asked for at a time; `strata update "
	    "%" PRId64 " --throttle N` changes that.",
	    running, running == 1 ? "s" : "", why->job->array_id);
}

static void say_gang(struct why *why)
{
	size_t count = 0;

	for (const struct live *live = live_first(why->decider); live; live = live_next(live)) {
		const struct job *job = &live->job;

		if (job->gang_id && job->gang_id == why->job->gang_id)
			count += (size_t)job_elements(job);
	}
	say(why, "%zu of the %lld jobs of its gang %s submitted; all of them start together.",
	    count, (long long)why->live->spec->spec.gang_size, count == 1 ? "is" : "are");
}

static void say_nodes_down(struct why *why)
{
	size_t named = 0;

	for (uint32_t i = 0; i < why->decider->node_count && named < NAMED_MAX; i++) {
		const struct node_about *node = &why->decider->nodes[i];

		if (node->state == STRATA_NODE_UP)
			continue;
		say(why, "Node %s is %s%s%s; `strata nodes resume %s` brings it back.", node->name,
		    nodes_state_name(node->state), node->reason ? ": " : "",
		    node->reason ? node->reason : "", node->name);
		named++;
	}
}

/* "n1, n2 and 3 more", "GPUs of n1". */
static void name_kept(const struct why *why, const struct advance_about *advance, char *text,
		      size_t size)
{
	size_t length = 0;

	for (uint32_t i = 0; i < advance->kept_count && i < NAMED_MAX; i++) {
		int added = snprintf(text + length, size - length, "%s%s%.40s", i ? ", " : "",
				     advance->kept[i].gpu_mask ? "GPUs of " : "",
				     why->decider->nodes[advance->kept[i].node].name);

		length += added > 0 && (size_t)added < size - length ? (size_t)added : 0;
	}
	if (advance->kept_count > NAMED_MAX)
		snprintf(text + length, size - length, " and %u more",
			 advance->kept_count - NAMED_MAX);
}

/* What is reserved for others before it would end, and what would help. */
static void say_reserved(struct why *why)
{
	const char *names[NAMED_MAX];
	size_t count = strata_cluster_kept_from(why->decider->cluster, (uint64_t)why->job->id,
						names, NAMED_MAX);
	int64_t now_ns = decider_now_ns(why->decider), first_ns = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct advance_about *advance = advance_find(why->decider, names[i]);
		char from[STRATA_FORM_BYTES], to[STRATA_FORM_BYTES], kept[256] = "";

		if (!advance)
			continue;
		name_kept(why, advance, kept, sizeof(kept));
		say(why, "The reservation %s keeps %s from %s to %s%s%s.", advance->name, kept,
		    strata_time_print(advance->begin_ns - advance->begin_ns % STRATA_SECOND_NS,
				      from),
		    strata_time_print(advance->end_ns - advance->end_ns % STRATA_SECOND_NS, to),
		    advance->reason ? ": " : "", advance->reason ? advance->reason : "");
		if (advance->begin_ns < first_ns)
			first_ns = advance->begin_ns;
	}
	if (count && first_ns - now_ns >= 60 * STRATA_SECOND_NS) {
		char limit[STRATA_FORM_BYTES];
		int64_t minute_ns = 60 * STRATA_SECOND_NS;

		say(why,
		    "It asks for more time than is left before that; with a time limit of %s it "
		    "could be done by then (`strata update %" PRId64 " --time …`).",
		    strata_duration_print((first_ns - now_ns) / minute_ns * minute_ns, limit),
		    why->job->id);
	}
}

static void say_impossible(struct why *why)
{
	json_t *sentences =
		impossible_sentences(why->decider, why->job->id, &why->live->spec->spec);

	json_array_extend(why->sentences, sentences);
	json_decref(sentences);
	say(why, "It waits until such a node is there. `strata cancel %" PRId64 "` takes it back.",
	    why->job->id);
}

static bool is_empty(const struct why *why, uint32_t row)
{
	const struct node_about *node = &why->decider->nodes[row];
	struct strata_room room;

	strata_cluster_room(why->decider->cluster, row, &room);
	for (uint32_t gpu = 0; gpu < node->conf.gpu_count; gpu++)
		if (room.gpu_milli[gpu] != 1000)
			return false;
	return node->state == STRATA_NODE_UP && room.cpu_milli == node->conf.cpu_milli &&
	       room.memory_bytes == node->conf.memory_bytes;
}

/* Of one that wants nodes to itself: it is not the cores and GPUs that it asks for. */
static void say_whole_nodes(struct why *why)
{
	const struct job_spec *spec = &why->live->spec->spec;
	long long wanted = spec->nodes > 0 ? (long long)spec->nodes : 1;
	size_t empty = 0;

	for (uint32_t i = 0; i < why->decider->node_count; i++)
		empty += is_empty(why, i);
	say(why,
	    "It asks for %lld whole node%s (--exclusive); %zu of %u %s nothing running on %s now.",
	    wanted, wanted == 1 ? "" : "s", empty, why->decider->node_count,
	    empty == 1 ? "has" : "have", empty == 1 ? "it" : "them");
}

/* What it asks for, and where most of that is. */
static void say_resources(struct why *why)
{
	const struct job_spec *spec = &why->live->spec->spec;

	if (spec->node_list && *spec->node_list)
		say(why, "It may run only on %.200s (--node-list).", spec->node_list);
	if (spec->exclusive) {
		say_whole_nodes(why);
		return;
	}
	struct strata_cluster_metrics metrics;
	char memory[STRATA_FORM_BYTES];
	const struct node_about *best = NULL;
	double best_free = -1;

	strata_cluster_metrics(why->decider->cluster, &metrics);
	say(why,
	    "It asks for %" PRId64 " GPU%s, %" PRId64 " core%s%s%s; %g GPUs and %g cores are "
	    "free now, on all nodes.",
	    why->job->gpu_count, why->job->gpu_count == 1 ? "" : "s", why->job->cpu_cores,
	    why->job->cpu_cores == 1 ? "" : "s", why->job->memory_bytes ? " and " : "",
	    why->job->memory_bytes ? strata_size_print_short(why->job->memory_bytes, memory) : "",
	    (double)metrics.gpu_milli_free / 1000, (double)metrics.cpu_milli_free / 1000);
	for (uint32_t i = 0; why->job->gpu_count && i < why->decider->node_count; i++) {
		const struct node_about *node = &why->decider->nodes[i];
		struct strata_room room;
		double whole = 0;

		strata_cluster_room(why->decider->cluster, i, &room);
		for (uint32_t gpu = 0; gpu < node->conf.gpu_count; gpu++)
			whole += room.gpu_milli[gpu] == 1000;
		if (node->state == STRATA_NODE_UP && whole > best_free) {
			best = node;
			best_free = whole;
		}
	}
	if (best && best_free == 0)
		say(why, "No node has a whole GPU free.");
	else if (best)
		say(why, "The most on one node: %g whole GPU%s on %s.", best_free,
		    best_free == 1 ? "" : "s", best->name);
}

static json_t *view_before(const struct why *why, const struct strata_forecast *forecast)
{
	const struct live *live = live_get(why->decider, (int64_t)forecast->job);

	return json_pack("{s:I,s:s?,s:s?,s:o,s:b}", "id", (json_int_t)forecast->job, "user",
			 live ? live->job.user : NULL, "name", live ? live->job.name : NULL,
			 "expected_start_at", view_time(forecast->start_ns), "promised",
			 forecast->promised);
}

/* Those that go before it, as far as the queue is foreseen. */
static void say_queue(struct why *why, json_t *json, enum strata_reason reason)
{
	const struct strata_forecast *list = NULL;
	size_t count = 0, at = 0;
	char before[NAMED_MAX * 24] = "";

	size_t found = api_job_forecast(why->decider, why->live, json, &list, &count);

	if (!found && list)
		why_apart_unknown(why->decider, why->live, reason, list, count, why->sentences);
	if (!found || list[found - 1].apart)
		return;
	while (list[at].job != (uint64_t)why->job->id)
		at++;
	for (size_t i = 0; i < at && i < NAMED_MAX; i++)
		snprintf(before + strlen(before), sizeof(before) - strlen(before), "%s%" PRIu64,
			 i ? ", " : "", list[i].job);
	for (size_t i = 0; i < at && i < NAMED_MAX; i++)
		json_array_append_new(why->before, view_before(why, &list[i]));
	json_object_set_new(json, "before_count", json_integer((json_int_t)at));
	if (at == 0)
		say(why, "It is first in the queue.");
	else if (at <= NAMED_MAX)
		say(why, "It is number %zu in the queue; before it: %s.", at + 1, before);
	else
		say(why, "It is number %zu in the queue; before it: %s and %zu more.", at + 1,
		    before, at - NAMED_MAX);
}

/* ---- fair share ---- */

struct shares {
	struct decider *decider;
	double own;
	size_t waiting, before; /* users with waiting jobs; of them, those with a larger share */
};

static void count_user(void *context, const char *name)
{
	struct shares *shares = context;
	struct strata_usage_view view;

	strata_cluster_user(shares->decider->cluster, name, &view);
	shares->waiting += view.waiting > 0;
	shares->before += view.waiting > 0 && view.share > shares->own;
}

/* What fair share goes by, also where the order does not. */
static json_t *view_share(const struct why *why)
{
	struct strata_usage_view view;

	strata_cluster_user(why->decider->cluster, why->job->user, &view);
	struct shares shares = { why->decider, view.share, 0, 0 };

	strata_cluster_each_user(why->decider->cluster, count_user, &shares);
	return json_pack("{s:f,s:f,s:f,s:f,s:I,s:I}", "weight", view.weight, "gpu_hours",
			 view.gpu_hours, "share", view.share, "factor", view.factor,
			 "users_waiting", (json_int_t)shares.waiting, "users_before",
			 (json_int_t)shares.before);
}

static void say_share(struct why *why, const json_t *share)
{
	json_int_t before = json_integer_value(json_object_get(share, "users_before"));

	if (before && strstr(why->decider->conf->order, "fair_share"))
		say(why,
		    "By fair share %lld user%s with waiting jobs go%s first: %s has used %.1f GPU "
		    "hours lately, with weight %g.",
		    (long long)before, before == 1 ? "" : "s", before == 1 ? "es" : "",
		    why->job->user, json_number_value(json_object_get(share, "gpu_hours")),
		    json_number_value(json_object_get(share, "weight")));
}

/* ---- all of it ---- */

static const char *operators_only(const struct why *why)
{
	return why->live->held == JOB_HELD_BY_OPERATOR ? "; only an operator may" : "";
}

/* One that is frozen has its nodes still, and the reason why it does not go on. */
static void say_frozen(struct why *why)
{
	if (why->live->held != JOB_NOT_HELD)
		say(why, "`strata resume %" PRId64 "` lets it go on%s.", why->job->id,
		    operators_only(why));
	else
		say(why, "It goes on where it is, once what it had is free again.");
}

static void say_reason(struct why *why, enum strata_reason reason)
{
	switch (reason) {
	case STRATA_REASON_BEGIN_TIME:
		say_begin(why);
		break;
	case STRATA_REASON_HELD:
		say(why, "`strata release %" PRId64 "` lets it start%s.", why->job->id,
		    operators_only(why));
		break;
	case STRATA_REASON_DEPENDENCY:
		say_dependencies(why);
		break;
	case STRATA_REASON_DEPENDENCY_NEVER:
		say_never(why);
		break;
	case STRATA_REASON_USER_LIMIT:
		say_limits(why, STRATA_ENTITY_USER, why->job->user);
		break;
	case STRATA_REASON_ACCOUNT_LIMIT:
		say_account(why);
		break;
	case STRATA_REASON_QOS_LIMIT:
		say_limits(why, STRATA_ENTITY_QOS, why->job->qos);
		break;
	case STRATA_REASON_PARTITION_DOWN:
		say_partition(why);
		break;
	case STRATA_REASON_SERVICE_LIMIT:
		say(why,
		    "The service may have %u jobs placed at a time: each needs one of its open "
		    "files. An operator can raise its limit (LimitNOFILE of the unit, `ulimit "
		    "-n`).",
		    descriptors_own().jobs);
		break;
	case STRATA_REASON_ARRAY_LIMIT:
		say_array(why);
		break;
	case STRATA_REASON_GANG:
		say_gang(why);
		break;
	case STRATA_REASON_NODE_DOWN:
		say_nodes_down(why);
		break;
	case STRATA_REASON_IMPOSSIBLE:
		say_impossible(why);
		break;
	case STRATA_REASON_RESERVED:
		say_reserved(why);
		break;
	default:
		say_resources(why);
		victims_sentences(why->decider, why->live, why->sentences);
		say_reserved(why);
		break;
	}
}

/* "Job 7 is queued: others are before it.", "Job 7 failed: its exit status was not 0." A job that
 * is frozen is called what `strata queue` calls it. */
static void say_state(struct why *why, enum strata_job_state state, bool frozen, const char *words)
{
	const char *verb = state == STRATA_JOB_CANCELLED ? "was "
			   : strata_job_ended(state)     ? ""
							 : "is ";
	bool more = words && *words;

	say(why, "Job %" PRId64 " %s%s%s%s.", why->job->id, verb,
	    frozen ? "suspended" : strata_job_state_name(state), more ? ": " : "",
	    more ? words : "");
}

static void get_why(struct decider *decider, struct request *request)
{
	struct strata_job_view view = { 0 };
	const struct live *live;

	if (!api_job_find(decider, request, false, &live) || !live)
		return;
	json_t *json = view_live(decider, live);
	struct why why = { decider, live, &live->job, json_array(), json_array() };
	bool known = live->job.completed_ns == 0 &&
		     strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL) == 0;
	bool frozen = known && live->job.state == STRATA_JOB_PREEMPTED && view.piece_count;

	say_state(&why, live->job.state, frozen,
		  json_string_value(json_object_get(json, "reason_text")));
	if (live->job.completed_ns == 0 && decider->batch.held)
		say(&why, "The store is away (%s): nothing starts until it is back.",
		    decider->batch.held_why);
	if (frozen)
		say_frozen(&why);
	if (known && !view.piece_count) {
		say_reason(&why, view.reason);
		say_queue(&why, json, view.reason);
		json_t *share = view_share(&why);

		say_share(&why, share);
		json_object_set_new(json, "fair_share", share);
	}
	json_object_set_new(json, "before", why.before);
	json_object_set_new(json, "sentences", why.sentences);
	request_answer(request, MHD_HTTP_OK, json);
}

/* One that ended a while ago. */
static void get_past_why(struct request *request)
{
	struct job job;

	if (!api_job_read(request, &job))
		return;
	json_t *json = view_job(&job);
	struct why why = { .job = &job, .sentences = json_array() };

	say_state(&why, job.state, false, json_string_value(json_object_get(json, "reason_text")));
	json_object_set_new(json, "sentences", why.sentences);
	request_answer(request, MHD_HTTP_OK, json);
}

/* ---- routes ---- */

const struct route api_why_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/jobs/*/why",
	  .summary = "why it waits",
	  .role = ROLE_READER,
	  .decide = get_why,
	  .finish = get_past_why,
	  .answer = "id state sentences" },
	{ 0 },
};
