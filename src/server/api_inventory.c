/* What there is: the topology, single GPUs, and what others have reserved of them. */
#include "machine/inventory.h"
#include "server/advances.h"
#include "server/decider.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/reservation.h"
#include "server/route.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

/* ---- topology and GPUs ---- */

static json_t *view_gpu(const struct node_about *node, uint32_t index)
{
	const struct inventory_gpu *gpu = &node->about->gpus[index];

	return json_pack("{s:i,s:s,s:s?,s:I,s:i,s:i}", "index", (int)(node->gpu_first + index),
			 "type", gpu->type, "uuid", gpu->uuid, "memory_bytes",
			 (json_int_t)gpu->memory_bytes, "numa", (int)gpu->numa, "group",
			 (int)gpu->group);
}

static void get_topology(struct decider *decider, struct request *request)
{
	json_t *nodes = json_array();

	for (uint32_t row = 0; row < decider->node_count; row++) {
		const struct node_about *node = &decider->nodes[row];
		json_t *gpus = json_array();

		for (uint32_t i = 0; i < node->about->gpu_count; i++)
			json_array_append_new(gpus, view_gpu(node, i));
		json_array_append_new(
			nodes,
			json_pack("{s:s,s:s,s:i,s:i,s:i,s:I,s:o,s:s?,s:s?}", "name", node->name,
				  "state", nodes_state_name(node->state), "cpus",
				  (int)node->about->cpus, "cores", (int)node->about->cores, "numa",
				  (int)node->about->numa_count, "memory_bytes",
				  (json_int_t)node->about->memory_bytes, "gpus", gpus, "features",
				  node->about->features, "partitions", node->about->partitions));
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "nodes", nodes));
}

/* GPUs as JSON, found by node and number. */
struct gpu_list {
	json_t *list;
	size_t *first; /* of each node */
};

static void add_holder(const struct gpu_list *gpus, const struct strata_piece *pieces,
		       uint32_t count, const char *key, json_t *holder)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t gpu = 0; gpu < STRATA_NODE_GPUS_MAX; gpu++)
			if (pieces[i].gpu_mask >> gpu & 1) {
				json_t *json = json_array_get(gpus->list,
							      gpus->first[pieces[i].node] + gpu);

				json_array_append(json_object_get(json, key), holder);
			}
	json_decref(holder);
}

/* Those who have them: our jobs, and others' reservations. */
static void set_holders(struct decider *decider, const struct gpu_list *gpus)
{
	struct strata_job_view view;

	for (const struct live *live = live_first(decider); live; live = live_next(live))
		if (live->job.place &&
		    strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL) == 0)
			add_holder(gpus, view.pieces, view.piece_count, "jobs",
				   json_integer((json_int_t)live->job.id));
	for (const struct reservation *at = decider->reservations; at; at = at->next)
		add_holder(gpus, at->pieces, at->piece_count, "reservations",
			   json_string(at->name));
}

static void get_gpus(struct decider *decider, struct request *request)
{
	struct gpu_list gpus = { json_array(),
				 strata_arena_array(&request->arena, decider->node_count,
						    sizeof(*gpus.first)) };

	for (uint32_t row = 0; gpus.first && row < decider->node_count; row++) {
		const struct node_about *node = &decider->nodes[row];
		struct strata_room room;

		gpus.first[row] = json_array_size(gpus.list);
		strata_cluster_room(decider->cluster, row, &room);
		for (uint32_t i = 0; i < node->about->gpu_count; i++) {
			json_t *json = view_gpu(node, i);

			json_object_set_new(json, "node", json_string(node->name));
			json_object_set_new(json, "free", json_real(room.gpu_milli[i] / 1000.0));
			json_object_set_new(json, "jobs", json_array());
			json_object_set_new(json, "reservations", json_array());
			json_array_append_new(gpus.list, json);
		}
	}
	if (gpus.first)
		set_holders(decider, &gpus);
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "gpus", gpus.list));
}

/* ---- reservations ---- */

struct piece_request {
	const char *node;
	struct strata_list gpu_ids; /* of int64_t */
	double cpus;
	int64_t memory_bytes;
};
struct reservation_request {
	const char *job_id, *node, *gpu_type;
	int64_t gpus, memory_bytes, expires_ns;
	double cpus;
	struct strata_list pieces; /* of struct piece_request */
};

#define PIECE(field) offsetof(struct piece_request, field)
#define FIELD(field) offsetof(struct reservation_request, field)
static const struct strata_option gpu_id = { .type = STRATA_INT, .integer = { 0, 0, 65535 } };
static const struct strata_option piece_options[] = {
	{ "node", STRATA_TEXT, PIECE(node), .flags = STRATA_REQUIRED, .help = "where" },
	{ "gpu_ids", STRATA_LIST, PIECE(gpu_ids), .list = { &gpu_id, STRATA_NODE_GPUS_MAX },
	  .help = "which GPUs, by their index" },
	{ "cpus", STRATA_REAL, PIECE(cpus), .real = { 0, 0, 1e6 }, .help = "cores" },
	{ "memory", STRATA_BYTES, PIECE(memory_bytes), .help = "memory" },
	{ 0 }
};
static const struct strata_schema piece_schema = { "piece", NULL, sizeof(struct piece_request),
						   piece_options };
static const struct strata_option piece_item = { .type = STRATA_TABLE, .table = &piece_schema };
static const struct strata_option reservation_options[] = {
	{ "job_id", STRATA_TEXT, FIELD(job_id), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .flags = STRATA_REQUIRED, .help = "the caller's own name for what it is for" },
	{ "gpus", STRATA_INT, FIELD(gpus), .integer = { 0, 0, STRATA_NODE_GPUS_MAX },
	  .help = "so many, of one node" },
	{ "gpu_type", STRATA_TEXT, FIELD(gpu_type), .help = "of this type" },
	{ "node", STRATA_TEXT, FIELD(node), .help = "there and nowhere else" },
	{ "cpus", STRATA_REAL, FIELD(cpus), .real = { 0, 0, 1e6 }, .help = "cores" },
	{ "memory", STRATA_BYTES, FIELD(memory_bytes), .help = "memory" },
	{ "pieces", STRATA_LIST, FIELD(pieces), .list = { &piece_item, 4096 },
	  .help = "or exactly these, on one node or several" },
	{ "expires_in", STRATA_DURATION, FIELD(expires_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "given back after so long; 0: when it is deleted" },
	{ 0 }
};
static const struct strata_schema reservation_schema = { "reservation", "GPUs to reserve",
							 sizeof(struct reservation_request),
							 reservation_options };

static void parse_reservation(struct request *request)
{
	request_read(request, &reservation_schema);
}

static json_t *view_reservation(const struct decider *decider, const struct reservation *own)
{
	json_t *pieces = json_array();

	for (uint32_t i = 0; i < own->piece_count; i++) {
		const struct strata_piece *piece = &own->pieces[i];
		const struct node_about *node = &decider->nodes[piece->node];
		json_t *ids = json_array();

		for (uint32_t gpu = 0; gpu < STRATA_NODE_GPUS_MAX; gpu++)
			if (piece->gpu_mask >> gpu & 1)
				json_array_append_new(ids, json_integer(node->gpu_first + gpu));
		json_array_append_new(pieces,
				      json_pack("{s:s,s:o,s:f,s:I}", "node", node->name, "gpu_ids",
						ids, "cpus", (double)piece->cpu_milli / 1000,
						"memory_bytes", (json_int_t)piece->memory_bytes));
	}
	return json_pack("{s:s,s:s,s:o,s:o,s:o}", "job_id", own->name, "user", own->user, "since",
			 view_time(own->begin_ns), "until", view_time(own->end_ns), "pieces",
			 pieces);
}

static int read_piece(const struct decider *decider, const struct piece_request *from,
		      struct strata_piece *to, struct strata_error *err)
{
	const struct node_about *node = nodes_find(decider, from->node);
	const int64_t *ids = from->gpu_ids.items;

	if (!node)
		return strata_fail_at(err, -ENOENT, "node",
				      "there is no node '%.60s'; `strata nodes` lists them",
				      from->node);
	*to = (struct strata_piece){ .node = (uint32_t)(node - decider->nodes),
				     .tasks = 1,
				     .cpu_milli = (int64_t)(from->cpus * 1000 + 0.5),
				     .memory_bytes = from->memory_bytes,
				     .gpu_milli = from->gpu_ids.count ? 1000 : 0 };
	for (size_t i = 0; i < from->gpu_ids.count; i++) {
		int64_t index = ids[i] - node->gpu_first;

		if (index < 0 || index >= (int64_t)node->conf.gpu_count)
			return strata_fail_at(err, -ENOENT, "gpu_ids", "node %s has no GPU %lld",
					      node->name, (long long)ids[i]);
		to->gpu_mask |= (uint16_t)(1u << index);
	}
	return 0;
}

static int fill(struct decider *decider, const struct reservation_request *body,
		struct strata_arena *arena, struct reservation *like, struct strata_error *err)
{
	const struct piece_request *pieces = body->pieces.items;
	size_t count = body->pieces.count ? body->pieces.count : 1;
	int rc = 0;

	like->pieces = strata_arena_array(arena, count, sizeof(*like->pieces));
	if (!like->pieces)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < body->pieces.count; i++) {
		rc = read_piece(decider, &pieces[i], &like->pieces[i], err);
		if (rc)
			return strata_fail_under(err, rc, "pieces[%zu]", i);
	}
	if (body->pieces.count == 0) {
		like->pieces[0] = (struct strata_piece){
			.tasks = 1,
			.cpu_milli = (int64_t)(body->cpus * 1000 + 0.5),
			.memory_bytes = body->memory_bytes,
		};
		rc = reservation_find_room(decider, body->node, body->gpu_type,
					   (uint32_t)body->gpus, like->pieces, err);
	}
	like->piece_count = (uint32_t)count;
	return rc;
}

/* The same again gives the same answer again, so that a caller that did not hear it can ask once
 * more. */
static void post_reservation(struct decider *decider, struct request *request)
{
	const struct reservation_request *body = request->parsed;
	const struct reservation *own = reservation_at(decider, body->job_id);
	struct strata_error err = { 0 };
	int64_t now_ns = decider_now_ns(decider);
	struct reservation like = { .name = body->job_id,
				    .user = request->who.user,
				    .begin_ns = now_ns,
				    .end_ns = body->expires_ns ? now_ns + body->expires_ns : 0 };
	int rc = 0, status = own ? MHD_HTTP_OK : MHD_HTTP_CREATED;

	if (advance_find(decider, body->job_id))
		rc = strata_fail_at(&err, -EEXIST, "job_id", "%.60s is reserved for others",
				    body->job_id);
	else if (!own)
		rc = fill(decider, body, &request->arena, &like, &err);
	if (rc == 0 && !own) {
		rc = reservation_take(decider, &like, &own, &err);
		if (rc == 0)
			batch_event(decider, 0, "reservation.made",
				    json_pack("{s:s,s:s}", "job_id", own->name, "by", own->user));
	}
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, status, view_reservation(decider, own));
}

static void get_reservations(struct decider *decider, struct request *request)
{
	json_t *list = json_array();

	for (const struct reservation *at = decider->reservations; at; at = at->next)
		json_array_append_new(list, view_reservation(decider, at));
	for (const struct advance_about *at = decider->advances; at; at = at->next)
		json_array_append_new(list, advance_view(decider, at));
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", "reservations", list));
}

static void delete_advance(struct decider *decider, struct request *request,
			   const struct advance_about *own)
{
	json_t *json = advance_view(decider, own);

	batch_event(decider, 0, "reservation.deleted",
		    json_pack("{s:s,s:s}", "name", own->name, "by", request->who.user));
	advance_remove(decider, own);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json);
}

static void delete_reservation(struct decider *decider, struct request *request)
{
	const struct reservation *own = reservation_at(decider, request->segments[0]);
	const struct advance_about *advance = advance_find(decider, request->segments[0]);

	if (advance) {
		delete_advance(decider, request, advance);
		return;
	}
	if (!own) {
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found",
			       "there is no reservation %.60s", request->segments[0]);
		return;
	}
	batch_event(decider, 0, "reservation.given_back",
		    json_pack("{s:s,s:s}", "job_id", own->name, "by", request->who.user));
	json_t *json = view_reservation(decider, own);

	reservation_give(decider, own);
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json);
}

/* ---- routes ---- */

const struct route api_inventory_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/topology",
	  .summary = "what nodes are made of",
	  .role = ROLE_READER,
	  .decide = get_topology,
	  .answer = "nodes" },
	{ .method = "GET",
	  .path = "/api/v1/gpus",
	  .summary = "GPUs and who has them",
	  .role = ROLE_READER,
	  .decide = get_gpus,
	  .answer = "gpus" },
	{ .method = "GET",
	  .path = "/api/v1/reservations",
	  .summary = "what is reserved, and for whom",
	  .role = ROLE_READER,
	  .decide = get_reservations,
	  .answer = "reservations" },
	{ .method = "POST",
	  .path = "/api/v1/reservations",
	  .summary = "reserve GPUs",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_reservation,
	  .decide = post_reservation,
	  .body = &reservation_schema,
	  .answer = "job_id pieces",
	  .also = 201 },
	{ .method = "DELETE",
	  .path = "/api/v1/reservations/*",
	  .summary = "delete a reservation",
	  .role = ROLE_OPERATOR,
	  .decide = delete_reservation,
	  .answer = "job_id pieces" },
	{ 0 },
};
