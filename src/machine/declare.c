/* Nodes as the configuration declares them, and nodes as the cluster level wants them. */
#include "machine/inventory.h"

#include <strata/limits.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct strata_option group_item = { "group", STRATA_INT,
						 .integer = { 0, 0, UINT8_MAX } };

#define AT(field) offsetof(struct inventory_declared, field)

static const struct strata_option declared_options[] = {
	{ "name", STRATA_TEXT, AT(name), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .flags = STRATA_REQUIRED,
	  .help = "what the node is called; a number follows when there are several" },
	{ "count", STRATA_INT, AT(count), .integer = { 1, 1, STRATA_INVENTORY_NODES_MAX },
	  .help = "how many nodes like this" },
	{ "cpus", STRATA_INT, AT(cpus), .integer = { 0, 0, 1 << 20 },
	  .help = "hardware threads (0: as detected)" },
	{ "memory", STRATA_BYTES, AT(memory_bytes), .help = "memory (0: as detected)" },
	{ "gpus", STRATA_INT, AT(gpus), .integer = { -1, -1, STRATA_NODE_GPUS_MAX },
	  .help = "GPUs (-1: as detected)", .unit = "GPU" },
	{ "gpu_type", STRATA_TEXT, AT(gpu_type), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "what jobs call its GPUs" },
	{ "gpu_memory", STRATA_BYTES, AT(gpu_memory_bytes), .help = "memory of one GPU" },
	{ "gpu_first", STRATA_INT, AT(gpu_first), .integer = { -1, -1, 1 << 16 },
	  .help = "what this machine calls the first of its GPUs; nodes alike follow (-1: each "
		  "counts from 0)" },
	{ "numa", STRATA_INT, AT(numa), .integer = { 1, 1, 64 },
	  .help = "NUMA domains; the GPUs are spread over them" },
	{ "gpu_groups", STRATA_LIST, AT(gpu_groups), .list = { &group_item, STRATA_NODE_GPUS_MAX },
	  .help = "which GPUs have direct links: a number for each, the same for those that have, "
		  "0 for none" },
	{ "features", STRATA_TEXT, AT(features),
	  .help = "words that jobs may ask for, with commas" },
	{ "partitions", STRATA_TEXT, AT(partitions),
	  .help = "partitions it belongs to, with commas (none: all)" },
	{ 0 }
};

const struct strata_schema inventory_declared_schema = {
	.name = "node",
	.summary = "a node to run jobs on",
	.conf_size = sizeof(struct inventory_declared),
	.options = declared_options,
};

/* ---- one declaration ---- */

int inventory_check_name(const char *name, struct strata_error *err)
{
	size_t length = name ? strlen(name) : 0;

	if (length < 1 || length > STRATA_NAME_BYTES_MAX)
		return strata_fail_at(err, -EINVAL, "name",
				      "a node's name has %zu bytes; expected 1 to %d", length,
				      STRATA_NAME_BYTES_MAX);
	if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") !=
	    length)
		return strata_fail_at(
			err, -EINVAL, "name",
			"the node is called \"%.60s\"; expected letters, digits, - _ .", name);
	return 0;
}

/* GPUs of which only the number is known: spread over the domains in order, the first ones getting one more. */
static const struct inventory_gpu *make_gpus(const struct inventory_declared *from,
					     const char *type, uint32_t count,
					     struct strata_arena *arena)
{
	struct inventory_gpu *gpus = strata_arena_array(arena, count, sizeof(*gpus));

	for (uint32_t i = 0; gpus && i < count; i++) {
		gpus[i] = (struct inventory_gpu){
			.type = type,
			.memory_bytes = from->gpu_memory_bytes,
			.numa = i * (uint32_t)from->numa / count,
		};
		if (i < from->gpu_groups.count)
			gpus[i].group = (uint32_t)((const int64_t *)from->gpu_groups.items)[i];
	}
	return gpus;
}

static int make_one(const struct inventory_declared *from, const struct inventory_node *here,
		    struct strata_arena *arena, struct inventory_node *node,
		    struct strata_error *err)
{
	int rc = inventory_check_name(from->name, err);

	if (rc)
		return rc;
	if (!here && (!from->cpus || !from->memory_bytes || from->gpus < 0))
		return strata_fail(
			err, -EINVAL,
			"node %s must say its cpus, memory and gpus: nothing was detected",
			from->name);
	*node = (struct inventory_node){
		.cpus = from->cpus ? (uint32_t)from->cpus : here->cpus,
		.cores = from->cpus ? (uint32_t)from->cpus : here->cores,
		.memory_bytes = from->memory_bytes ? from->memory_bytes : here->memory_bytes,
		.numa_count = (uint32_t)from->numa,
		.gpu_count = from->gpus >= 0 ? (uint32_t)from->gpus : here->gpu_count,
		.features = from->features,
		.partitions = from->partitions,
	};
	if (from->gpu_groups.count && from->gpu_groups.count != node->gpu_count)
		return strata_fail_at(err, -EINVAL, "gpu_groups",
				      "node %s has %" PRIu32 " GPUs and gpu_groups has %zu numbers",
				      from->name, node->gpu_count, from->gpu_groups.count);
	bool as_detected = from->gpus < 0 && !from->gpu_type && !from->gpu_groups.count;
	const char *type = from->gpu_type            ? from->gpu_type
			   : here && here->gpu_count ? here->gpus[0].type
						     : "gpu";

	node->numa_count = as_detected && here->numa_count > node->numa_count ? here->numa_count
									      : node->numa_count;
	node->gpus = as_detected ? here->gpus : make_gpus(from, type, node->gpu_count, arena);
	return node->gpus || !node->gpu_count ? 0 : strata_fail_memory(err);
}

/* ---- all ---- */

static int digits_of(int64_t number)
{
	int digits = 1;

	while (number >= 10) {
		number /= 10;
		digits++;
	}
	return digits;
}

static bool is_taken(const struct inventory_node *nodes, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(nodes[i].name, name) == 0)
			return true;
	return false;
}

/* The nodes of one declaration, behind those of the earlier ones, whose names they are compared with. */
static int add_nodes(const struct inventory_declared *from, const struct inventory_node *here,
		     struct strata_arena *arena, struct inventory_node *nodes, uint32_t *used,
		     struct strata_error *err)
{
	uint32_t before = *used;
	struct inventory_node node;
	int rc = make_one(from, here, arena, &node, err);

	for (int64_t i = 0; rc == 0 && i < from->count; i++) {
		node.name = from->count == 1
				    ? strata_arena_text(arena, from->name, strlen(from->name))
				    : strata_arena_printf(arena, "%s%0*" PRId64, from->name,
							  digits_of(from->count), i + 1);
		node.gpu_first =
			from->gpu_first < 0 ? 0 : (uint32_t)(from->gpu_first + i * node.gpu_count);
		if (!node.name)
			return strata_fail_memory(err);
		if (is_taken(nodes, before, node.name))
			return strata_fail_at(err, -EEXIST, "name", "there are two nodes %s",
					      node.name);
		nodes[(*used)++] = node;
	}
	return rc;
}

int inventory_declare(const struct inventory_declared *declared, size_t count,
		      const struct inventory *here, struct strata_arena *arena,
		      struct inventory *ret_inventory, struct strata_error *err)
{
	const struct inventory_node *detected = here && here->node_count ? here->nodes : NULL;
	int64_t total = 0;
	uint32_t used = 0;

	for (size_t i = 0; i < count; i++)
		total += declared[i].count;
	if (total > STRATA_INVENTORY_NODES_MAX)
		return strata_fail(err, -E2BIG, "%" PRId64 " nodes; expected at most %d", total,
				   STRATA_INVENTORY_NODES_MAX);
	struct inventory_node *nodes = strata_arena_array(arena, (size_t)total, sizeof(*nodes));

	if (!nodes)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		int rc = add_nodes(&declared[i], detected, arena, nodes, &used, err);

		if (rc)
			return strata_fail_under(err, rc, "node[%zu]", i);
	}
	*ret_inventory = (struct inventory){ nodes, used };
	return 0;
}

/* ---- for the cluster level ---- */

/* The number of (NUMA domain, group) among those of the GPUs before it: the finer of the two divisions. */
static uint8_t domain_of(const struct inventory_node *node, uint32_t gpu, const uint8_t *domains)
{
	uint8_t next = 0;

	for (uint32_t i = 0; i < gpu; i++) {
		if (node->gpus[i].numa == node->gpus[gpu].numa &&
		    node->gpus[i].group == node->gpus[gpu].group)
			return domains[i];
		next = domains[i] >= next ? (uint8_t)(domains[i] + 1) : next;
	}
	return next;
}

void inventory_node_conf(const struct inventory_node *node, struct strata_node_conf *ret_conf)
{
	struct strata_node_conf conf = {
		.name = node->name,
		.cpu_milli = (int64_t)node->cpus * 1000,
		.memory_bytes = node->memory_bytes,
		.gpu_count = node->gpu_count,
		.gpu_type = node->gpu_count ? node->gpus[0].type : NULL,
		.features = node->features,
		.partitions = node->partitions,
	};

	for (uint32_t i = 0; i < node->gpu_count; i++) {
		conf.numa[i] = domain_of(node, i, conf.numa);
		if (strcmp(node->gpus[i].type, node->gpus[0].type) != 0)
			conf.gpu_type = "mixed";
	}
	*ret_conf = conf;
}
