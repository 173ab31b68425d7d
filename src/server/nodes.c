/* The nodes that the configuration names, and what the operator said of them. */
#include "server/server.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct declared {
	int64_t cpus, memory_bytes, gpus, count;
	const char *gpu_type, *features, *partitions;
	int64_t gpus_per_domain;
};

#define OFFSET(field) offsetof(struct declared, field)
static const struct strata_option declared_options[] = {
	{ "cpus", STRATA_INT, OFFSET(cpus), .integer = { 1, 1, 4096 }, .help = "cores" },
	{ "memory", STRATA_BYTES, OFFSET(memory_bytes),
	  .integer = { INT64_C(1) << 30, 0, INT64_MAX }, .help = "memory" },
	{ "gpus", STRATA_INT, OFFSET(gpus), .integer = { 0, 0, STRATA_NODE_GPUS_MAX },
	  .help = "GPUs" },
	{ "gpu_type", STRATA_TEXT, OFFSET(gpu_type), .text = { "gpu", STRATA_NAME_BYTES_MAX },
	  .help = "their type" },
	{ "gpus_per_domain", STRATA_INT, OFFSET(gpus_per_domain),
	  .integer = { STRATA_NODE_GPUS_MAX, 1, STRATA_NODE_GPUS_MAX },
	  .help = "so many of them are close to each other" },
	{ "features", STRATA_TEXT, OFFSET(features), .help = "what jobs may ask for: big,ib" },
	{ "partitions", STRATA_TEXT, OFFSET(partitions),
	  .help = "it belongs to; all when left out" },
	{ "count", STRATA_INT, OFFSET(count), .integer = { 0, 0, 4096 },
	  .help = "so many of them, NAME1, NAME2 …" },
	{ 0 }
};
static const struct strata_schema declared_schema = { "node", NULL, sizeof(struct declared),
						      declared_options };

static int add_node(struct server *server, const struct declared *declared, const char *name,
		    uint32_t *gpu_first, struct strata_error *err)
{
	struct node_about *node = &server->nodes[server->node_count];

	if (nodes_find(server, name))
		return strata_fail_at(err, -EEXIST, "nodes", "there are two nodes %s", name);
	node->name = name;
	node->gpu_first = *gpu_first;
	node->conf = (struct strata_node_conf){
		.name = name,
		.cpu_milli = declared->cpus * 1000,
		.memory_bytes = declared->memory_bytes,
		.gpu_count = (uint32_t)declared->gpus,
		.gpu_type = declared->gpus ? declared->gpu_type : NULL,
		.features = declared->features,
		.partitions = declared->partitions,
	};
	for (int64_t i = 0; i < declared->gpus; i++)
		node->conf.numa[i] = (uint8_t)(i / declared->gpus_per_domain);
	*gpu_first += (uint32_t)declared->gpus;
	if (declared->gpus > server->rules.gpus_max)
		server->rules.gpus_max = (uint32_t)declared->gpus;
	server->node_count++;
	return strata_cluster_add_node(server->cluster, &node->conf, NULL, err);
}

/* "NAME:cpus=8:…" */
static int add_declared(struct server *server, const char *text, uint32_t *gpu_first,
			struct strata_error *err)
{
	size_t span = strcspn(text, ":");
	const char *name = strata_arena_text(&server->confs, text, span);
	struct declared declared;
	int rc = name ? strata_schema_defaults(&declared_schema, &server->confs, &declared, err)
		      : strata_fail_memory(err);

	if (rc == 0 && text[span])
		rc = strata_schema_read_text(&declared_schema, text + span + 1,
					     strlen(text + span + 1), &server->confs, &declared,
					     err);
	if (rc == 0 && span == 0)
		rc = strata_fail_at(err, -EINVAL, "nodes", "a node has no name");
	if (rc == 0 && declared.count == 0)
		return add_node(server, &declared, name, gpu_first, err);
	for (int64_t i = 1; rc == 0 && i <= declared.count; i++) {
		const char *numbered =
			strata_arena_printf(&server->confs, "%s%lld", name, (long long)i);

		rc = numbered ? add_node(server, &declared, numbered, gpu_first, err)
			      : strata_fail_memory(err);
	}
	return rc;
}

int nodes_open(struct server *server, struct strata_error *err)
{
	const char *const *texts = server->conf->nodes.items;
	uint32_t gpu_first = 0;
	int rc = 0;

	server->nodes =
		strata_arena_array(&server->confs, STRATA_SERVER_NODES_MAX, sizeof(*server->nodes));
	if (!server->nodes)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < server->conf->nodes.count; i++)
		rc = add_declared(server, texts[i], &gpu_first, err);
	return rc;
}

void nodes_set(struct server *server, uint32_t row, enum strata_node_state state,
	       const char *reason, int64_t since_ns)
{
	struct node_about *node = &server->nodes[row];

	free(node->reason);
	node->reason = reason ? strdup(reason) : NULL;
	node->state = state;
	node->since_ns = since_ns;
}

struct node_about *nodes_find(const struct server *server, const char *name)
{
	for (uint32_t i = 0; i < server->node_count; i++)
		if (strcmp(server->nodes[i].name, name) == 0)
			return &server->nodes[i];
	return NULL;
}
