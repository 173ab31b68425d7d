/*
 * Where a resource request fits first in rooms that are not the nodes' own: how things will be, or
 * would be if somebody left. The lowest rows win; the placement class is not asked.
 */
#include "cluster/cluster_int.h"

static bool takes_when_up(const struct resource_request *resources, const struct node *node)
{
	return resources_takes_node_type(resources, node->node_type) &&
	       resources_takes_node(resources, node->row);
}

bool fit_takes(const struct resource_request *resources, const struct node *node)
{
	return node->state == STRATA_NODE_UP && takes_when_up(resources, node);
}

uint32_t fit_first(struct strata_cluster *cluster, const struct resource_request *resources,
		   struct strata_room *rooms, bool down_too, struct spot *spots)
{
	uint32_t left = resources->tasks, found = 0;

	for (uint32_t row = 0; row < cluster->node_count && left; row++) {
		struct node *node = &cluster->nodes[row];
		struct resource_request part = *resources;

		if (!fit_takes(resources, node) && !(down_too && takes_when_up(resources, node)))
			continue;
		uint32_t most = resources_tasks_in(resources, &rooms[row], node->node_type);

		if (resources->nodes)
			part.tasks = resources->tasks / resources->nodes +
				     (found < resources->tasks % resources->nodes);
		else
			part.tasks = most < left ? most : left;
		if (most < part.tasks || part.tasks == 0)
			continue;
		struct strata_need need = resources_need(&part, 1, node->node_type);
		uint32_t gpu = need.gpu_milli
				       ? room_shared_gpu(&rooms[row], node->node_type->gpu_count,
							 need.gpu_milli)
				       : 0;
		struct spot *spot = &spots[found++];

		spot->node = node;
		spot->piece = room_pick(&rooms[row], node->node_type->gpu_count,
					node->node_type->numa, &need, gpu);
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

uint32_t fit_node_count(const struct strata_cluster *cluster,
			const struct resource_request *resources)
{
	if (resources->nodes)
		return resources->nodes;
	for (uint32_t nodes = 1; nodes <= resources->tasks && nodes <= cluster->node_count;
	     nodes++) {
		uint32_t found = 0;

		for (uint32_t row = 0; row < cluster->node_count && found < nodes; row++) {
			const struct node_type *node_type = cluster->nodes[row].node_type;

			found += resources_takes_node_type(resources, node_type) &&
				 resources_takes_node(resources, row) &&
				 resources_tasks_in(resources, &node_type->whole, node_type) >=
					 (resources->tasks + nodes - 1) / nodes;
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
