/*
 * What makes a request impossible: each of its parts is left out in turn, and where the rest could
 * be taken by empty nodes, that part is to blame. Where no single one is, as few as will do are
 * blamed together. How much would be possible is found by trying.
 */
#include "cluster/cluster_int.h"

static void leave_out(struct resource_request *rest, enum strata_part part)
{
	switch (part) {
	case STRATA_PART_PARTITION:
		rest->partition = "";
		break;
	case STRATA_PART_NODE_LIST:
		rest->node_list = "";
		break;
	case STRATA_PART_NODE_EXCLUDE:
		rest->node_exclude = "";
		break;
	case STRATA_PART_FEATURES:
		rest->features = "";
		break;
	case STRATA_PART_GPU_TYPE:
		rest->gpu_type = "";
		break;
	case STRATA_PART_GPUS:
		rest->need.gpus = rest->need.gpu_milli = rest->node_gpus = 0;
		break;
	case STRATA_PART_CPUS:
		rest->need.cpu_milli = 0;
		break;
	case STRATA_PART_MEMORY:
		rest->need.memory_bytes = rest->node_memory_bytes = 0;
		break;
	case STRATA_PART_COUNT:
		rest->tasks = 1;
		rest->nodes = rest->nodes != 0;
		break;
	}
}

/* The same without some parts. It shares texts with the original and has no sets. */
static struct resource_request without(const struct resource_request *resources, unsigned parts)
{
	struct resource_request rest = *resources;

	rest.node_types_ok.words = rest.nodes_ok.words = NULL;
	for (unsigned part = 1; part < 1u << STRATA_PART_KINDS; part <<= 1)
		if (parts & part)
			leave_out(&rest, (enum strata_part)part);
	return rest;
}

static bool possible_without(const struct strata_cluster *cluster,
			     const struct resource_request *resources, unsigned parts)
{
	struct resource_request rest = without(resources, parts);

	return resources_possible(cluster, &rest);
}

/* ---- how much of it ---- */

static int64_t asked_of(const struct resource_request *resources, enum strata_part part,
			bool *ret_of_task)
{
	bool by_node = part == STRATA_PART_GPUS     ? resources->node_gpus
		       : part == STRATA_PART_MEMORY ? resources->node_memory_bytes
						    : part == STRATA_PART_COUNT && resources->nodes;

	*ret_of_task = !by_node;
	switch (part) {
	case STRATA_PART_GPUS:
		return by_node ? resources->node_gpus : resources->need.gpus;
	case STRATA_PART_CPUS:
		return resources->need.cpu_milli;
	case STRATA_PART_MEMORY:
		return by_node ? resources->node_memory_bytes : resources->need.memory_bytes;
	case STRATA_PART_COUNT:
		return by_node ? resources->nodes : resources->tasks;
	default:
		return 0;
	}
}

static void ask_for(struct resource_request *rest, enum strata_part part, bool of_task,
		    int64_t amount)
{
	uint32_t tasks_each = rest->nodes ? (rest->tasks + rest->nodes - 1) / rest->nodes : 1;

	switch (part) {
	case STRATA_PART_GPUS:
		*(of_task ? &rest->need.gpus : &rest->node_gpus) = (uint32_t)amount;
		break;
	case STRATA_PART_CPUS:
		rest->need.cpu_milli = amount;
		break;
	case STRATA_PART_MEMORY:
		*(of_task ? &rest->need.memory_bytes : &rest->node_memory_bytes) = amount;
		break;
	default:
		rest->tasks = (uint32_t)amount * tasks_each;
		rest->nodes = of_task ? 0 : (uint32_t)amount;
		break;
	}
}

/* The steps in which an amount is tried: whole cores and MiB are near enough. */
static int64_t step_of(enum strata_part part)
{
	return part == STRATA_PART_CPUS ? 1000 : part == STRATA_PART_MEMORY ? 1 << 20 : 1;
}

/* The most that is possible, between nothing, which is, and what is asked for, which is not. */
static int64_t most_of(const struct strata_cluster *cluster, const struct resource_request *others,
		       const struct strata_blamed *blamed)
{
	int64_t step = step_of(blamed->part), low = 0, high = (blamed->asked + step - 1) / step;

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;
		struct resource_request tried = *others;

		ask_for(&tried, blamed->part, blamed->of_task, middle * step);
		if (resources_possible(cluster, &tried))
			low = middle;
		else
			high = middle;
	}
	return low * step;
}

/* ---- what is to blame ---- */

/* Those of which each alone would be enough; else as few as will do together, where there is no
 * way without them. */
static unsigned parts_of(const struct strata_cluster *cluster,
			 const struct resource_request *resources, bool *ret_all)
{
	const unsigned every = (1u << STRATA_PART_KINDS) - 1;
	unsigned single = 0, together = every;

	for (unsigned part = 1; part <= every; part <<= 1)
		if (possible_without(cluster, resources, part))
			single |= part;
	*ret_all = single == 0;
	if (single || !possible_without(cluster, resources, every))
		return single;
	for (unsigned part = 1; part <= every; part <<= 1)
		if (possible_without(cluster, resources, together & ~part))
			together &= ~part;
	return together;
}

static size_t blame(const struct strata_cluster *cluster, const struct resource_request *resources,
		    struct strata_blamed list[STRATA_PART_KINDS], bool *ret_all)
{
	size_t count = 0;

	*ret_all = false;
	if (resources->possible)
		return 0;
	unsigned parts = parts_of(cluster, resources, ret_all);

	for (unsigned part = 1; part < 1u << STRATA_PART_KINDS; part <<= 1) {
		struct strata_blamed *blamed = &list[count];

		if (!(parts & part))
			continue;
		*blamed = (struct strata_blamed){ .part = (enum strata_part)part };
		blamed->asked = asked_of(resources, blamed->part, &blamed->of_task);
		if (blamed->asked) {
			struct resource_request others =
				without(resources, *ret_all ? parts & ~part : 0);

			blamed->most = most_of(cluster, &others, blamed);
		}
		count++;
	}
	return count;
}

size_t strata_cluster_blame(const struct strata_cluster *cluster, uint64_t id,
			    struct strata_blamed list[STRATA_PART_KINDS], bool *ret_all)
{
	const struct job *job = range_get(cluster, id);

	*ret_all = false;
	return job ? blame(cluster, job->resources, list, ret_all) : 0;
}

size_t strata_cluster_blame_request(struct strata_cluster *cluster,
				    const struct strata_job_request *request,
				    struct strata_blamed list[STRATA_PART_KINDS], bool *ret_all)
{
	struct resource_request *resources;

	*ret_all = false;
	if (resources_get(cluster, request, &resources, NULL))
		return 0;
	size_t count = blame(cluster, resources, list, ret_all);

	resources_put(cluster, resources);
	return count;
}
