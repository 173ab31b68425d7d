/* Reservations: see reservation.h. */
#include "server/reservation.h"

#include "server/advances.h"
#include "server/nodes.h"
#include "core/env_log.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ID (UINT64_C(1) << 62)

/* ---- memory ---- */

static struct reservation *copy(const struct reservation *like)
{
	size_t name = strlen(like->name) + 1, user = strlen(like->user) + 1;
	size_t pieces = like->piece_count * sizeof(*like->pieces);
	struct reservation *own = calloc(1, sizeof(*own) + pieces + name + user);

	if (!own)
		return NULL;
	*own = *like;
	own->pieces = memcpy(own + 1, like->pieces, pieces);
	own->name = memcpy((char *)(own + 1) + pieces, like->name, name);
	own->user = memcpy((char *)(own + 1) + pieces + name, like->user, user);
	return own;
}

void reservations_free(struct decider *decider)
{
	while (decider->reservations) {
		struct reservation *own = decider->reservations;

		decider->reservations = own->next;
		free(own);
	}
}

const struct reservation *reservation_at(const struct decider *decider, const char *name)
{
	const struct reservation *at = decider->reservations;

	while (at && strcmp(at->name, name) != 0)
		at = at->next;
	return at;
}

/* ---- the cluster ---- */

static int tell_cluster(struct decider *decider, const struct reservation *own,
			struct strata_error *err)
{
	struct strata_job_request request = { .id = own->id,
					      .user = own->user,
					      .name = "reservation",
					      .band = STRATA_BAND_HIGH,
					      .tasks = own->piece_count,
					      .nodes = own->piece_count,
					      .cpu_milli = own->pieces[0].cpu_milli,
					      .time_limit_ns = own->end_ns
								       ? own->end_ns - own->begin_ns
								       : STRATA_DURATION_NS_MAX,
					      .held = true };
	int64_t now_ns = decider_now_ns(decider);
	int rc = strata_cluster_submit(decider->cluster, &request, now_ns, err);

	if (rc)
		return rc;
	rc = strata_cluster_adopt(decider->cluster, own->id, 1, own->begin_ns, own->pieces,
				  own->piece_count, err);
	if (rc) {
		strata_cluster_cancel(decider->cluster, own->id, now_ns, NULL);
		strata_cluster_forget(decider->cluster, own->id, NULL);
	}
	return rc;
}

static bool has_room(const struct strata_room *room, const struct node_about *node,
		     const char *gpu_type, uint32_t gpus, struct strata_piece *piece,
		     uint32_t *ret_left)
{
	uint32_t taken = 0, left = 0;

	if (node->state != STRATA_NODE_UP || room->cpu_milli < piece->cpu_milli ||
	    room->memory_bytes < piece->memory_bytes ||
	    (gpus && gpu_type &&
	     (!node->conf.gpu_type || strcmp(gpu_type, node->conf.gpu_type) != 0)))
		return false;
	piece->gpu_mask = 0;
	for (uint32_t i = 0; i < node->conf.gpu_count; i++) {
		if (room->gpu_milli[i] < 1000)
			continue;
		if (taken < gpus)
			piece->gpu_mask |= (uint16_t)(1u << i), taken++;
		else
			left++;
	}
	*ret_left = left;
	return taken == gpus;
}

int reservation_find_room(const struct decider *decider, const char *node, const char *gpu_type,
			  uint32_t gpus, struct strata_piece *piece, struct strata_error *err)
{
	struct strata_piece best = { 0 };
	uint32_t best_left = UINT32_MAX;

	for (uint32_t row = 0; row < decider->node_count; row++) {
		struct strata_piece here = *piece;
		struct strata_room room;
		uint32_t left;

		if (node && strcmp(node, decider->nodes[row].name) != 0)
			continue;
		strata_cluster_room(decider->cluster, row, &room);
		if (!has_room(&room, &decider->nodes[row], gpu_type, gpus, &here, &left) ||
		    left >= best_left)
			continue;
		here.node = row;
		best = here;
		best_left = left;
	}
	if (best_left == UINT32_MAX)
		return strata_fail(err, -EBUSY, "%s%s has so much free now",
				   node ? "node " : "no node", node ? node : "");
	best.gpu_milli = gpus ? 1000 : 0;
	*piece = best;
	return 0;
}

/* ---- the store ---- */

static void put(struct decider *decider, const struct reservation *own)
{
	json_t *pieces = json_array(), *json;
	char *text;

	for (uint32_t i = 0; i < own->piece_count; i++) {
		const struct strata_piece *piece = &own->pieces[i];

		json_array_append_new(pieces,
				      json_pack("{s:s,s:i,s:I,s:I}", "node",
						decider->nodes[piece->node].name, "gpu_mask",
						(int)piece->gpu_mask, "cpu_milli",
						(json_int_t)piece->cpu_milli, "memory_bytes",
						(json_int_t)piece->memory_bytes));
	}
	json = json_pack("{s:s,s:o}", "user", own->user, "pieces", pieces);
	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	struct store_reservation row = { .name = own->name,
					 .begin_ns = own->begin_ns,
					 .end_ns = own->end_ns,
					 .settings = text ? text : "{}" };

	batch_put(decider, STORE_PUT(&row));
	json_decref(json);
	free(text);
}

static int read_pieces(const struct decider *decider, const json_t *list,
		       struct strata_arena *arena, struct reservation *into)
{
	json_t *json;
	size_t index;

	into->pieces = strata_arena_array(arena, json_array_size(list) + 1, sizeof(*into->pieces));
	if (!into->pieces)
		return -ENOMEM;
	json_array_foreach(list, index, json)
	{
		const char *name = json_string_value(json_object_get(json, "node"));
		const struct node_about *node = name ? nodes_find(decider, name) : NULL;
		int64_t mask = json_integer_value(json_object_get(json, "gpu_mask"));

		if (!node)
			return -ENODEV;
		into->pieces[into->piece_count++] = (struct strata_piece){
			.node = (uint32_t)(node - decider->nodes),
			.tasks = 1,
			.cpu_milli = json_integer_value(json_object_get(json, "cpu_milli")),
			.memory_bytes = json_integer_value(json_object_get(json, "memory_bytes")),
			.gpu_mask = (uint16_t)mask,
			.gpu_milli = mask ? 1000 : 0,
		};
	}
	return into->piece_count ? 0 : -ENODEV;
}

/* ---- taking and giving ---- */

static int add(struct decider *decider, const struct reservation *like,
	       const struct reservation **ret_reservation, struct strata_error *err)
{
	struct reservation *own = copy(like);
	int rc;

	if (!own)
		return strata_fail_memory(err);
	own->id = FIRST_ID + decider->reservation_count++;
	rc = tell_cluster(decider, own, err);
	if (rc) {
		free(own);
		return rc;
	}
	own->next = decider->reservations;
	decider->reservations = own;
	*ret_reservation = own;
	return 0;
}

int reservation_take(struct decider *decider, const struct reservation *like,
		     const struct reservation **ret_reservation, struct strata_error *err)
{
	if (reservation_at(decider, like->name))
		return strata_fail_at(err, -EEXIST, "job_id", "%.60s has a reservation already",
				      like->name);
	int rc = add(decider, like, ret_reservation, err);

	if (rc == 0)
		put(decider, *ret_reservation);
	return rc;
}

void reservation_give(struct decider *decider, const struct reservation *gone)
{
	struct reservation **at = &decider->reservations, *own;
	struct store_reservation row = { .name = gone->name };

	while (*at != gone)
		at = &(*at)->next;
	own = *at;
	*at = own->next;
	strata_cluster_ended(decider->cluster, own->id, STRATA_OUTCOME_COMPLETED,
			     decider_now_ns(decider), NULL);
	strata_cluster_forget(decider->cluster, own->id, NULL);
	batch_put(decider, STORE_DELETE(&row));
	free(own);
}

int64_t reservations_sweep(struct decider *decider)
{
	int64_t now_ns = decider_now_ns(decider), next_ns = INT64_MAX;
	struct reservation *at = decider->reservations;

	while (at) {
		struct reservation *next = at->next;

		if (at->end_ns && at->end_ns <= now_ns) {
			batch_event(decider, 0, "reservation.over",
				    json_pack("{s:s}", "job_id", at->name));
			reservation_give(decider, at);
		} else if (at->end_ns && at->end_ns < next_ns) {
			next_ns = at->end_ns;
		}
		at = next;
	}
	return next_ns;
}

static int recover_one(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_reservation *row = row_any;
	json_t *json = row->settings ? json_loads(row->settings, 0, NULL) : NULL;
	const char *user = json_string_value(json_object_get(json, "user"));
	struct reservation like = { .name = row->name,
				    .user = user ? user : "unknown",
				    .begin_ns = row->begin_ns,
				    .end_ns = row->end_ns };
	const struct reservation *own;

	if (advance_recover(decider, row, json)) {
		json_decref(json);
		return 0;
	}
	int rc = read_pieces(decider, json_object_get(json, "pieces"), &decider->scratch, &like);

	if (rc == 0)
		rc = add(decider, &like, &own, err);
	json_decref(json);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc) /* its node has gone from the configuration, or is smaller than it was */
		log_warning("recovery", "the reservation of %s cannot be kept", row->name);
	return 0;
}

int reservations_recover(struct decider *decider, struct strata_error *err)
{
	return store_load(decider->store, STORE_RESERVATION, NULL, recover_one, decider, err);
}
