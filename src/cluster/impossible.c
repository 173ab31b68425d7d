/*
 * What makes a request impossible: each of its parts is left out in turn, and where the rest could
 * be taken by empty nodes, that part is to blame.
 */
#include "cluster/cluster_int.h"

/* The same without one part. It shares texts with the original and has no sets. */
static struct resource_request without(const struct resource_request *resources,
				       enum strata_part part)
{
	struct resource_request rest = *resources;

	rest.node_types_ok.words = rest.nodes_ok.words = NULL;
	switch (part) {
	case STRATA_PART_PARTITION:
		rest.partition = "";
		break;
	case STRATA_PART_NODE_LIST:
		rest.node_list = "";
		break;
	case STRATA_PART_NODE_EXCLUDE:
		rest.node_exclude = "";
		break;
	case STRATA_PART_FEATURES:
		rest.features = "";
		break;
	case STRATA_PART_GPU_TYPE:
		rest.gpu_type = "";
		break;
	case STRATA_PART_GPUS:
		rest.need.gpus = rest.need.gpu_milli = rest.node_gpus = 0;
		break;
	case STRATA_PART_CPUS:
		rest.need.cpu_milli = 0;
		break;
	case STRATA_PART_MEMORY:
		rest.need.memory_bytes = rest.node_memory_bytes = 0;
		break;
	case STRATA_PART_COUNT:
		rest.tasks = 1;
		rest.nodes = rest.nodes != 0;
		break;
	}
	return rest;
}

unsigned strata_cluster_blame(const struct strata_cluster *cluster, uint64_t id)
{
	const struct job *job = range_get(cluster, id);
	unsigned blamed = 0;

	if (!job || job->resources->possible)
		return 0;
	for (unsigned part = STRATA_PART_PARTITION; part <= STRATA_PART_COUNT; part <<= 1) {
		struct resource_request rest = without(job->resources, (enum strata_part)part);

		if (resources_possible(cluster, &rest))
			blamed |= part;
	}
	return blamed;
}
