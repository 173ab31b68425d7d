/* Nodes. */
#include "server/advances.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

/* ---- nodes ---- */

/* For each node the numbers of the jobs that have a place on it, by one walk over those that are
 * live: every open page asks for the nodes, and jobs are many. */
static json_t **jobs_of_nodes(struct decider *decider, struct strata_arena *arena)
{
	json_t **jobs = strata_arena_array(arena, decider->node_count, sizeof(*jobs));

	for (uint32_t row = 0; jobs && row < decider->node_count; row++)
		jobs[row] = json_array();
	for (const struct live *live = jobs ? live_first(decider) : NULL; live;
	     live = live_next(live)) {
		struct strata_job_view view;

		if (!live->job.place ||
		    strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL))
			continue;
		for (uint32_t i = 0; i < view.piece_count; i++)
			json_array_append_new(jobs[view.pieces[i].node],
					      json_integer((json_int_t)live->job.id));
	}
	return jobs;
}

/* The list of its jobs is taken over. */
static json_t *view_node(struct decider *decider, uint32_t row, json_t *jobs)
{
	const struct node_about *node = &decider->nodes[row];
	struct strata_room room;
	json_t *gpus = json_array();
	double gpus_free = 0;

	strata_cluster_room(decider->cluster, row, &room);
	for (uint32_t i = 0; i < node->conf.gpu_count; i++) {
		json_array_append_new(gpus, json_real(room.gpu_milli[i] / 1000.0));
		gpus_free += room.gpu_milli[i] / 1000.0;
	}
	return json_pack(
		"{s:s,s:s,s:s?,s:o,s:f,s:f,s:I,s:I,s:i,s:f,s:s?,s:o,s:o,s:o,s:o,s:o}", "name",
		node->name, "state", nodes_state_name(node->state), "reason", node->reason, "since",
		view_time(node->since_ns), "cpus", (double)node->conf.cpu_milli / 1000, "cpus_free",
		(double)room.cpu_milli / 1000, "memory_bytes", (json_int_t)node->conf.memory_bytes,
		"memory_free_bytes", (json_int_t)room.memory_bytes, "gpus",
		(int)node->conf.gpu_count, "gpus_free", gpus_free, "gpu_type", node->conf.gpu_type,
		"gpu_free", gpus, "features", view_words(node->conf.features), "partitions",
		view_words(node->conf.partitions), "jobs", jobs, "reservations",
		advances_of_node(decider, row));
}

static void get_nodes(struct decider *decider, struct request *request)
{
	json_t **jobs = jobs_of_nodes(decider, &request->arena);
	json_t *list = jobs ? json_array() : NULL;

	for (uint32_t row = 0; list && row < decider->node_count; row++)
		json_array_append_new(list, view_node(decider, row, jobs[row]));
	request_answer(request, MHD_HTTP_OK, list ? json_pack("{s:o}", "nodes", list) : NULL);
}

/* One of them, with its jobs. */
static json_t *view_one(struct decider *decider, struct request *request, uint32_t row)
{
	json_t **jobs = jobs_of_nodes(decider, &request->arena);

	for (uint32_t other = 0; jobs && other < decider->node_count; other++)
		if (other != row)
			json_decref(jobs[other]);
	return view_node(decider, row, jobs ? jobs[row] : NULL);
}

struct node_change {
	int state;
	const char *reason;
};
static const struct strata_choice node_states[] = { { "up", STRATA_NODE_UP, NULL },
						    { "drained", STRATA_NODE_DRAINED, NULL },
						    { "down", STRATA_NODE_DOWN, NULL },
						    { 0 } };
static const struct strata_option node_change_options[] = {
	{ "state", STRATA_ENUM, offsetof(struct node_change, state),
	  .choice = { node_states, STRATA_NODE_UP }, .flags = STRATA_REQUIRED,
	  .help = "what it is to be" },
	{ "reason", STRATA_TEXT, offsetof(struct node_change, reason), .text = { NULL, 256 },
	  .help = "why" },
	{ 0 }
};
static const struct strata_schema node_schema = { "node change", NULL, sizeof(struct node_change),
						  node_change_options };

static void parse_node(struct request *request)
{
	struct node_change *change = strata_arena_get(&request->arena, sizeof(*change));
	struct strata_error err = { 0 };
	int rc = change ? strata_schema_read_json(&node_schema, request->body ? request->body : "",
						  request->body_length, &request->arena, change,
						  &err)
			: strata_fail_memory(&err);

	request->parsed = change;
	if (rc)
		request_fail(request, rc, &err);
}

static void patch_node(struct decider *decider, struct request *request)
{
	const struct node_change *change = request->parsed;
	struct node_about *node = nodes_find(decider, request->segments[0]);
	struct strata_error err = { 0 };

	if (!node) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "there is no node '%.40s'; `strata nodes` lists them",
			       request->segments[0]);
		return;
	}
	uint32_t row = (uint32_t)(node - decider->nodes);
	int rc = strata_cluster_set_node(decider->cluster, row,
					 (enum strata_node_state)change->state,
					 decider_now_ns(decider), &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	nodes_set(decider, row, (enum strata_node_state)change->state, change->reason,
		  decider_now_ns(decider));
	struct store_node stored = { .name = node->name,
				     .state = node_states[change->state].name,
				     .reason = node->reason,
				     .since_ns = node->since_ns };

	batch_put(decider, STORE_PUT(&stored));
	batch_event(decider, 0, "node.changed",
		    json_pack("{s:s,s:s,s:s}", "node", node->name, "state", stored.state, "by",
			      request->who.user));
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_one(decider, request, row));
}

/* ---- routes ---- */

const struct route api_cluster_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/nodes",
	  .summary = "nodes",
	  .role = ROLE_READER,
	  .decide = get_nodes,
	  .answer = "nodes" },
	{ .method = "PATCH",
	  .path = "/api/v1/nodes/*",
	  .summary = "drain, resume",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_node,
	  .decide = patch_node,
	  .body = &node_schema,
	  .answer = "name state" },
	{ 0 },
};
