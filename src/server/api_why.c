/*
 * GET /api/v1/jobs/…/why: in sentences, why a job waits, for whom or what, and what can be done about it. Each reason has its own: what the cluster decided
 * by is told with its numbers.
 */
#include "server/descriptors.h"
#include "server/people.h"
#include "server/route.h"

#include <strata/slurm.h>
#include <strata/text.h>

#include <inttypes.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAMED_MAX = 5 }; /* jobs or nodes that are named one by one */

struct why {
	struct server *server;
	const struct live *live;
	const struct store_job *row;
	json_t *sentences;
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

	if (why->row->eligible_ns)
		say(why, "It may start from %s on.",
		    strata_time_print(why->row->eligible_ns -
					      why->row->eligible_ns % STRATA_SECOND_NS,
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
	json_t *spec = json_loads(why->row->spec, 0, NULL);
	const char *text = json_string_value(json_object_get(spec, "dependencies"));
	struct strata_slurm_dependencies list;
	size_t named = 0;

	if (text && strata_slurm_dependencies_parse(text, STRATA_TEXT_NUL, &why->server->scratch,
						    &list, NULL) == 0)
		for (size_t i = 0; i < list.count && named < NAMED_MAX; i++) {
			const struct live *other =
				map_u64_get(&why->server->jobs, (uint64_t)list.items[i].job);

			if (list.items[i].kind == STRATA_SLURM_SINGLETON) {
				say(why, "It waits until earlier jobs of %s called %s have ended.",
				    why->row->user, why->row->name);
				named++;
			} else if (other) {
				say(why, "It waits until job %" PRId64 " (%s) %s; that one is %s.",
				    other->row.id, other->row.name ? other->row.name : "no name",
				    wish_of(list.items[i].kind), other->row.state);
				named++;
			}
		}
	json_decref(spec);
}

static void say_never(struct why *why)
{
	say_dependencies(why);
	say(why, "That will not happen any more: `strata cancel %" PRId64 "`, and submit it anew.",
	    why->row->id);
}

/* "2 of 2 jobs", where there is a limit. */
static void say_limit(struct why *why, const json_t *limits, const char *key, const char *what,
		      double used)
{
	double limit = json_number_value(json_object_get(limits, key));

	if (limit > 0)
		say(why, "%g %s in use; the limit is %g.", used, what, limit);
}

static void say_limits(struct why *why, enum strata_party kind, const char *name)
{
	const struct person *person = name ? person_find(why->server, kind, name) : NULL;
	const json_t *limits = person ? json_object_get(person->settings, "limits") : NULL;
	struct strata_usage_view view = { 0 };

	if (kind == STRATA_PARTY_USER)
		strata_cluster_user(why->server->cluster, name, &view);
	else if (kind == STRATA_PARTY_ACCOUNT && name)
		strata_cluster_account(why->server->cluster, name, &view);
	if (!limits)
		return;
	say(why, "The %s %s has limits:", strata_party_name(kind), name);
	if (kind == STRATA_PARTY_QOS) { /* whose use is not kept apart */
		const char *key;
		json_t *value;

		json_object_foreach((json_t *)limits, key, value)
			say(why, "%s: %g.", key, json_number_value(value));
		return;
	}
	say_limit(why, limits, "jobs", "jobs", view.jobs);
	say_limit(why, limits, "gpus", "GPUs", (double)view.gpu_milli / 1000);
	say_limit(why, limits, "gpu_hours", "GPU hours", view.gpu_hours);
}

/* The accounts above count as well. */
static void say_account(struct why *why)
{
	const struct person *user = person_find(why->server, STRATA_PARTY_USER, why->row->user);
	const char *name = why->row->account;

	if (!name && user)
		name = json_string_value(json_object_get(user->settings, "account"));
	for (int depth = 0; name && depth < STRATA_SHARE_DEPTH_MAX; depth++) {
		const struct person *account = person_find(why->server, STRATA_PARTY_ACCOUNT, name);

		say_limits(why, STRATA_PARTY_ACCOUNT, name);
		name = account ? json_string_value(json_object_get(account->settings, "parent"))
			       : NULL;
	}
}

static void say_partition(struct why *why)
{
	const char *name = why->row->partition;
	const struct person *partition =
		name ? person_find(why->server, STRATA_PARTY_PARTITION, name) : NULL;

	if (partition)
		say(why,
		    "The partition %s is %s; it starts when an administrator says `strata "
		    "partitions set %s --state up`.",
		    name, strata_partition_state_name(partition->rule.state), name);
}

static void say_array(struct why *why)
{
	size_t running = 0;
	const struct map_u64_entry *entry;

	for (entry = map_u64_next(&why->server->jobs, NULL); entry;
	     entry = map_u64_next(&why->server->jobs, entry)) {
		const struct store_job *row = &((const struct live *)entry->value)->row;

		running += row->array_id == why->row->array_id && row->place;
	}
	say(why, "%zu of its array run now, as many as were asked for at a time.", running);
}

static void say_gang(struct why *why)
{
	size_t count = 0;
	const struct map_u64_entry *entry;

	for (entry = map_u64_next(&why->server->jobs, NULL); entry;
	     entry = map_u64_next(&why->server->jobs, entry)) {
		const struct store_job *row = &((const struct live *)entry->value)->row;

		count += row->gang_id && row->gang_id == why->row->gang_id;
	}
	say(why, "%zu jobs of its gang are submitted; all of them start together.", count);
}

static void say_nodes_down(struct why *why)
{
	size_t named = 0;

	for (uint32_t i = 0; i < why->server->node_count && named < NAMED_MAX; i++) {
		const struct node_about *node = &why->server->nodes[i];

		if (node->state == STRATA_NODE_UP)
			continue;
		say(why, "Node %s is %s%s%s; `strata nodes resume %s` brings it back.", node->name,
		    nodes_state_name(node->state), node->reason ? ": " : "",
		    node->reason ? node->reason : "", node->name);
		named++;
	}
}

static void say_largest(struct why *why)
{
	uint32_t gpus = 0;
	int64_t cpu_milli = 0, memory_bytes = 0;
	char memory[STRATA_FORM_BYTES];

	for (uint32_t i = 0; i < why->server->node_count; i++) {
		const struct strata_node_conf *conf = &why->server->nodes[i].conf;

		gpus = conf->gpu_count > gpus ? conf->gpu_count : gpus;
		cpu_milli = conf->cpu_milli > cpu_milli ? conf->cpu_milli : cpu_milli;
		memory_bytes = conf->memory_bytes > memory_bytes ? conf->memory_bytes
								 : memory_bytes;
	}
	say(why, "The largest nodes have %u GPUs, %" PRId64 " cores, %s.", gpus, cpu_milli / 1000,
	    strata_size_print_short(memory_bytes, memory));
	say(why,
	    "`strata nodes` shows types, features and partitions; it waits until such a node is "
	    "there. `strata cancel %" PRId64 "` takes it back.",
	    why->row->id);
}

/* What it asks for, and where most of that is. */
static void say_resources(struct why *why)
{
	struct strata_cluster_stats stats;
	char memory[STRATA_FORM_BYTES];
	const struct node_about *best = NULL;
	double best_free = -1;

	strata_cluster_stats(why->server->cluster, &stats);
	say(why,
	    "It asks for %" PRId64 " GPU%s, %" PRId64 " core%s%s%s; %g GPUs and %g cores are "
	    "free now, on all nodes.",
	    why->row->gpu_count, why->row->gpu_count == 1 ? "" : "s", why->row->cpu_cores,
	    why->row->cpu_cores == 1 ? "" : "s", why->row->memory_bytes ? " and " : "",
	    why->row->memory_bytes ? strata_size_print_short(why->row->memory_bytes, memory) : "",
	    (double)stats.gpu_milli_free / 1000, (double)stats.cpu_milli_free / 1000);
	for (uint32_t i = 0; why->row->gpu_count && i < why->server->node_count; i++) {
		const struct node_about *node = &why->server->nodes[i];
		struct strata_room room;
		double whole = 0;

		strata_cluster_room(why->server->cluster, i, &room);
		for (uint32_t gpu = 0; gpu < node->conf.gpu_count; gpu++)
			whole += room.gpu_milli[gpu] == 1000;
		if (node->state == STRATA_NODE_UP && whole > best_free) {
			best = node;
			best_free = whole;
		}
	}
	if (best)
		say(why, "The most on one node: %g whole GPUs on %s.", best_free, best->name);
}

/* Those that go before it, as far as the queue is foreseen. */
static void say_queue(struct why *why, json_t *json)
{
	const struct strata_forecast *list;
	size_t count, at = 0;
	char before[NAMED_MAX * 24] = "";

	if (api_job_forecast(why->server, why->live, json, &list, &count) == 0)
		return;
	while (list[at].job != (uint64_t)why->row->id)
		at++;
	for (size_t i = 0; i < at && i < NAMED_MAX; i++)
		snprintf(before + strlen(before), sizeof(before) - strlen(before), "%s%" PRIu64,
			 i ? ", " : "", list[i].job);
	if (at == 0)
		say(why, "It is first in the queue.");
	else if (at <= NAMED_MAX)
		say(why, "It is number %zu in the queue; before it: %s.", at + 1, before);
	else
		say(why, "It is number %zu in the queue; before it: %s and %zu more.", at + 1,
		    before, at - NAMED_MAX);
}

/* ---- all of it ---- */

static void say_reason(struct why *why, enum strata_reason reason)
{
	switch (reason) {
	case STRATA_REASON_BEGIN_TIME:
		say_begin(why);
		break;
	case STRATA_REASON_HELD:
	case STRATA_REASON_SUSPENDED:
		say(why, "`strata release %" PRId64 "` lets it go.", why->row->id);
		break;
	case STRATA_REASON_DEPENDENCY:
		say_dependencies(why);
		break;
	case STRATA_REASON_DEPENDENCY_NEVER:
		say_never(why);
		break;
	case STRATA_REASON_USER_LIMIT:
		say_limits(why, STRATA_PARTY_USER, why->row->user);
		break;
	case STRATA_REASON_ACCOUNT_LIMIT:
		say_account(why);
		break;
	case STRATA_REASON_QOS_LIMIT:
		say_limits(why, STRATA_PARTY_QOS, why->row->qos);
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
		say_largest(why);
		break;
	default:
		say_resources(why);
		break;
	}
}

static void say_state(struct why *why, const char *state, const char *words)
{
	if (words && *words)
		say(why, "Job %" PRId64 " is %s: %s.", why->row->id, state, words);
	else
		say(why, "Job %" PRId64 " is %s.", why->row->id, state);
}

void api_job_why(struct server *server, struct request *request)
{
	struct strata_job_view view;
	struct live *live;

	if (!api_job_find(server, request, false, &live) || !live)
		return;
	json_t *json = view_job(server, live);
	struct why why = { server, live, &live->row, json_array() };

	say_state(&why, json_string_value(json_object_get(json, "state")),
		  json_string_value(json_object_get(json, "reason_text")));
	if (live->row.completed_ns == 0 &&
	    strata_cluster_job(server->cluster, (uint64_t)live->row.id, &view, NULL) == 0 &&
	    !view.piece_count) {
		say_reason(&why, view.reason);
		say_queue(&why, json);
	}
	json_object_set_new(json, "sentences", why.sentences);
	request_answer(request, MHD_HTTP_OK, json);
}

/* One that ended a while ago. */
void api_job_why_history(struct request *request)
{
	struct store_job row;

	if (!api_job_read(request, &row))
		return;
	json_t *json = view_row(&row);
	struct why why = { request->server, NULL, &row, json_array() };

	say_state(&why, row.state, json_string_value(json_object_get(json, "reason_text")));
	json_object_set_new(json, "sentences", why.sentences);
	request_answer(request, MHD_HTTP_OK, json);
}
