/* Small clusters for tests of the cluster's insides. */
#ifndef TESTS_CLUSTER_SAMPLE_H
#define TESTS_CLUSTER_SAMPLE_H

#include "cluster/cluster_int.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SAMPLE_GIB (INT64_C(1) << 30)

static struct strata_memory sample_memory;
static struct strata_error err;

/* The built-in placement of this name. */
__attribute__((unused)) static struct strata_spec sample_placement(const char *name)
{
	for (const struct strata_class *const *at = strata_placement_kind.classes; *at; at++)
		if (strcmp((*at)->name, name) == 0)
			return (struct strata_spec){ .cls = *at };
	test_fail(__FILE__, __LINE__, "no placement %s", name);
}

/* A cluster without nodes; the placement has no options. */
static struct strata_cluster *sample_cluster(struct strata_spec placement,
					     const struct strata_mix *mix)
{
	struct strata_cluster_conf conf = { .placement = placement, .mix = mix };
	struct strata_cluster *cluster;

	CHECK_OK(strata_cluster_new(&conf, &sample_memory, &cluster, &err));
	return cluster;
}

/* `count` more nodes of 32 cores, 64 GiB and so many GPUs in two NUMA domains. */
static void sample_nodes(struct strata_cluster *cluster, uint32_t count, uint32_t gpu_count)
{
	for (uint32_t i = 0; i < count; i++) {
		char name[16];
		struct strata_node_conf node = {
			.name = name,
			.cpu_milli = 32000,
			.memory_bytes = 64 * SAMPLE_GIB,
			.gpu_count = gpu_count,
			.gpu_type = gpu_count ? "a100" : NULL,
		};

		snprintf(name, sizeof(name), "n%u", cluster->node_count);
		for (uint32_t k = 0; k < gpu_count; k++)
			node.numa[k] = k >= gpu_count / 2;
		CHECK_OK(strata_cluster_add_node(cluster, &node, NULL, &err));
	}
}

/* What one task, on one node, asks for. Put it back with ask_put. */
__attribute__((unused)) static struct resource_request *sample_resources(
	struct strata_cluster *cluster, struct strata_job_request request)
{
	struct resource_request *resources;

	request.id = 1;
	request.user = "somebody";
	request.time_limit_ns = 1;
	request.tasks += request.tasks == 0;
	CHECK_OK(resources_get(cluster, &request, &resources, &err));
	return resources;
}

/* Takes a need from a node, or gives it back, as a job would. */
__attribute__((unused)) static struct strata_piece sample_take(struct strata_cluster *cluster,
							       uint32_t row,
							       struct strata_need need)
{
	struct node *node = &cluster->nodes[row];
	uint32_t gpus = node->node_type->gpu_count;
	struct strata_piece piece =
		room_pick(&node->room, gpus, node->node_type->numa, &need,
			  need.gpu_milli ? room_shared_gpu(&node->room, gpus, need.gpu_milli) : 0);

	piece.node = row;
	node_detach(cluster, node);
	room_take(&node->room, &piece);
	node_attach(cluster, node);
	return piece;
}

__attribute__((unused)) static void sample_give(struct strata_cluster *cluster,
						const struct strata_piece *piece)
{
	struct node *node = &cluster->nodes[piece->node];

	node_detach(cluster, node);
	room_give(&node->room, piece);
	node_attach(cluster, node);
}

static void sample_free(struct strata_cluster *cluster)
{
	strata_cluster_free(cluster);
	CHECK_INT(sample_memory.used_bytes, 0);
}

#endif
