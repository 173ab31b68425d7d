/* How good a placement is, on a scale for people. Decisions do not use it. */
#include "cluster/cluster_int.h"

#include <assert.h>

enum { SEVERAL_NODES = 50, ONE_NODE = 100, WELL_FILLED = 20, ONE_DOMAIN = 30 };

/* The part of the node that is in use, from 0 to 1: of its GPUs, or of its CPUs when it has
 * none. */
static double filled(const struct node *node)
{
	const struct strata_room *whole = &node->node_type->whole;
	double free_milli = 0;

	if (node->node_type->gpu_count == 0)
		return whole->cpu_milli
			       ? 1 - (double)node->room.cpu_milli / (double)whole->cpu_milli
			       : 1;
	for (uint32_t i = 0; i < node->node_type->gpu_count; i++)
		free_milli += node->room.gpu_milli[i];
	return 1 - free_milli / (1000.0 * node->node_type->gpu_count);
}

static bool in_one_domain(const struct node *node, uint32_t gpu_mask)
{
	const uint8_t *numa = node->node_type->numa;

	for (uint32_t rest = gpu_mask; rest; rest &= rest - 1)
		if (numa[__builtin_ctz(rest)] != numa[__builtin_ctz(gpu_mask)])
			return false;
	return true;
}

int strata_placement_quality(const struct strata_cluster *cluster,
			     const struct strata_piece *pieces, uint32_t piece_count)
{
	if (piece_count != 1)
		return piece_count ? SEVERAL_NODES : 0;
	assert(pieces->node < cluster->node_count);
	const struct node *node = &cluster->nodes[pieces->node];

	return ONE_NODE + (int)(WELL_FILLED * filled(node) + 0.5) +
	       (in_one_domain(node, pieces->gpu_mask) ? ONE_DOMAIN : 0);
}
