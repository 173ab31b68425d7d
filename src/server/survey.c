/*
 * An executor that works on somebody else's cluster sees more than our jobs: nodes that their owner
 * takes away or gives back, and works of others on them. Nodes become what they are there; what
 * others have becomes reservations (reservation.h), named as the executor names the works. A survey
 * is complete: what is not in it is over.
 *
 * An operator's own word on a node is heard until the survey says otherwise: only changes there
 * change anything here.
 */
#include "server/survey.h"

#include "core/map.h"
#include "core/text.h"
#include "server/nodes.h"
#include "server/reservation.h"
#include "core/env_log.h"

#include <stdio.h>
#include <string.h>

/* ---- nodes ---- */

static void set_node(struct decider *decider, const struct exec_node *told)
{
	struct node_about *node = nodes_find(decider, told->name);
	const char *why = told->reason ? told->reason : "as its owner says";
	char shown[256];
	const char *reason = told->state == STRATA_NODE_UP ? NULL : shown;

	text_show_cut(shown, sizeof(shown), why); /* another's text */

	if (!node || node->state == told->state)
		return;
	uint32_t row = (uint32_t)(node - decider->nodes);
	int64_t now_ns = decider_now_ns(decider);
	struct store_node stored = { .name = node->name,
				     .state = nodes_state_name(told->state),
				     .reason = reason,
				     .since_ns = now_ns };

	if (strata_cluster_set_node(decider->cluster, row, told->state, now_ns, NULL))
		return;
	nodes_set(decider, row, told->state, reason, now_ns);
	batch_put(decider, STORE_PUT(&stored));
	batch_event(decider, 0, "node.changed",
		    json_pack("{s:s,s:s,s:s}", "node", node->name, "state", stored.state, "by",
			      decider->exec->cls->base.name));
}

/* ---- what others have ---- */

/* Their names begin with the executor's and a dot: "slurm.17", "kubernetes.default.web-0". */
static bool is_theirs(const struct decider *decider, const char *name)
{
	const char *executor = decider->exec->cls->base.name;
	size_t length = strlen(executor);

	return strncmp(name, executor, length) == 0 && name[length] == '.';
}

static void give_back(struct decider *decider, const struct exec_survey *survey)
{
	const struct reservation *at = decider->reservations;
	struct map_text told;
	int rc = 0;

	map_text_init(&told, &decider->memory);
	for (size_t i = 0; rc == 0 && i < survey->taken_count; i++)
		rc = map_text_put(&told, survey->taken[i].name, strlen(survey->taken[i].name),
				  (void *)&survey->taken[i], NULL);
	while (rc == 0 && at) {
		const struct reservation *next = at->next;

		if (is_theirs(decider, at->name) &&
		    !map_text_get(&told, at->name, strlen(at->name)))
			reservation_give(decider, at);
		at = next;
	}
	map_text_fini(&told);
}

/* As much of a part as is free here: they may have been quicker than the news of one of our own
 * ends, or have what we count otherwise. */
static bool fit_part(const struct decider *decider, const struct exec_part *part,
		     struct strata_piece *ret_piece)
{
	const struct node_about *node = nodes_find(decider, part->node);
	struct strata_piece piece = { .tasks = 1 };
	struct strata_room room;
	uint32_t gpus = 0;

	if (!node)
		return false;
	piece.node = (uint32_t)(node - decider->nodes);
	strata_cluster_room(decider->cluster, piece.node, &room);
	piece.cpu_milli = part->cpu_milli < room.cpu_milli ? part->cpu_milli : room.cpu_milli;
	piece.memory_bytes = part->memory_bytes < room.memory_bytes ? part->memory_bytes
								    : room.memory_bytes;
	for (uint32_t i = 0; i < node->conf.gpu_count && gpus < part->gpus; i++)
		if (room.gpu_milli[i] >= 1000)
			piece.gpu_mask |= (uint16_t)(1u << i), gpus++;
	piece.gpu_milli = gpus ? 1000 : 0;
	*ret_piece = piece;
	return piece.cpu_milli > 0 || piece.memory_bytes > 0 || gpus > 0;
}

/* One that is not here yet: `known` has the names of all reservations. */
static void take(struct decider *decider, const struct map_text *known,
		 const struct exec_taken *taken)
{
	struct strata_piece *pieces =
		strata_arena_array(&decider->scratch, taken->part_count, sizeof(*pieces));
	struct reservation like = { .name = taken->name,
				    .user = taken->user,
				    .begin_ns = taken->begin_ns ? taken->begin_ns
								: decider_now_ns(decider),
				    .pieces = pieces };
	const struct reservation *own;
	struct strata_error err;

	if (map_text_get(known, taken->name, strlen(taken->name)) || !pieces)
		return;
	for (size_t i = 0; i < taken->part_count; i++)
		like.piece_count += fit_part(decider, &taken->parts[i], &pieces[like.piece_count]);
	if (like.piece_count && reservation_take(decider, &like, &own, &err))
		log_warning("executor", "%s has what we know nothing of: %s", taken->name,
			    err.text);
}

static void take_all(struct decider *decider, const struct exec_survey *survey)
{
	struct map_text known; /* of a large cluster there are many */
	int rc = 0;

	map_text_init(&known, &decider->memory);
	for (const struct reservation *at = decider->reservations; rc == 0 && at; at = at->next)
		rc = map_text_put(&known, at->name, strlen(at->name), (void *)at, NULL);
	for (size_t i = 0; rc == 0 && i < survey->taken_count; i++)
		take(decider, &known, &survey->taken[i]);
	map_text_fini(&known);
}

void survey_take(struct decider *decider, const struct exec_survey *survey)
{
	for (size_t i = 0; i < survey->node_count; i++)
		set_node(decider, &survey->nodes[i]);
	give_back(decider, survey);
	take_all(decider, survey);
}
