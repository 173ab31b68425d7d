/*
 * Where an ask fits first in rooms that are not the nodes' own: how things will be, or would be if somebody left. The lowest rows win;
 * the placement class is not asked.
 */
#include "cluster/cluster_int.h"

static bool takes_when_up(const struct ask *ask, const struct node *node)
{
	return ask_takes_shape(ask, node->shape) && ask_takes_node(ask, node->row);
}

bool fit_takes(const struct ask *ask, const struct node *node)
{
	return node->state == STRATA_NODE_UP && takes_when_up(ask, node);
}

uint32_t fit_first(struct strata_cluster *cluster, const struct ask *ask, struct strata_room *rooms,
		   bool down_too, struct spot *spots)
{
	uint32_t left = ask->tasks, found = 0;

	for (uint32_t row = 0; row < cluster->node_count && left; row++) {
		struct node *node = &cluster->nodes[row];
		struct ask part = *ask;

		if (!fit_takes(ask, node) && !(down_too && takes_when_up(ask, node)))
			continue;
		uint32_t most = ask_tasks_in(ask, &rooms[row], node->shape);

		if (ask->nodes)
			part.tasks = ask->tasks / ask->nodes + (found < ask->tasks % ask->nodes);
		else
			part.tasks = most < left ? most : left;
		if (most < part.tasks || part.tasks == 0)
			continue;
		struct strata_need need = ask_need(&part, 1, node->shape);
		uint32_t gpu = need.gpu_milli ? room_shared_gpu(&rooms[row], node->shape->gpu_count,
								need.gpu_milli)
					      : 0;
		struct spot *spot = &spots[found++];

		spot->node = node;
		spot->piece = room_pick(&rooms[row], node->shape->gpu_count, node->shape->numa,
					&need, gpu);
		spot->piece.node = row;
		spot->piece.tasks = part.tasks;
		room_take(&rooms[row], &spot->piece);
		left -= part.tasks;
	}
	if (left) /* as if nothing had been tried */
		while (found--)
			room_give(&rooms[spots[found].node->row], &spots[found].piece);
	return left ? 0 : found;
}

uint32_t fit_node_count(const struct strata_cluster *cluster, const struct ask *ask)
{
	if (ask->nodes)
		return ask->nodes;
	for (uint32_t nodes = 1; nodes <= ask->tasks && nodes <= cluster->node_count; nodes++) {
		uint32_t found = 0;

		for (uint32_t row = 0; row < cluster->node_count && found < nodes; row++) {
			const struct shape *shape = cluster->nodes[row].shape;

			found += ask_takes_shape(ask, shape) && ask_takes_node(ask, row) &&
				 ask_tasks_in(ask, &shape->whole, shape) >=
					 (ask->tasks + nodes - 1) / nodes;
		}
		if (found == nodes)
			return nodes;
	}
	return 0;
}

static uint32_t fit_frozen(const struct job *job, struct strata_room *rooms, struct spot *spots)
{
	for (uint32_t i = 0; i < job->claim_count; i++) {
		struct node *node = job->claims[i].node;
		struct strata_piece piece = claim_active(job->claims[i].piece);

		if (node->state != STRATA_NODE_UP || !room_has(&rooms[node->row], &piece))
			return 0;
		spots[i] = (struct spot){ node, piece };
	}
	for (uint32_t i = 0; i < job->claim_count; i++)
		room_take(&rooms[spots[i].node->row], &spots[i].piece);
	return job->claim_count;
}

uint32_t fit_whole(struct strata_cluster *cluster, const struct job *job, struct strata_room *rooms,
		   struct spot *spots, uint32_t *counts)
{
	return job_gang(job) ? gang_fit(cluster, job->gang, rooms, false, spots, counts)
			     : fit_frozen(job, rooms, spots);
}

uint32_t fit_whole_max(const struct strata_cluster *cluster, const struct job *job)
{
	return job_gang(job) ? gang_spot_max(cluster, job->gang) : job->claim_count;
}
