/* The nodes: those of the executor, or that the configuration names, or the inventory service, or
 * this machine; and what the operator said of them. */
#include "server/nodes.h"

#include "machine/inventory.h"
#include "server/remote.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "NAME:cpus=8:…" */
static int read_declared(struct decider *decider, const char *text,
			 struct inventory_declared *ret_declared, struct strata_error *err)
{
	const char *whole = strata_arena_printf(&decider->confs, "name=%s", text);
	int rc = whole ? strata_schema_defaults(&inventory_declared_schema, &decider->confs,
						ret_declared, err)
		       : strata_fail_memory(err);

	return rc ? rc
		  : strata_schema_read_text(&inventory_declared_schema, whole, strlen(whole),
					    &decider->confs, ret_declared, err);
}

static int find_inventory(struct decider *decider, struct inventory *ret_inventory,
			  struct strata_error *err)
{
	const char *const *texts = decider->conf->nodes.items;
	size_t count = decider->conf->nodes.count;
	const struct exec_class *exec = (const struct exec_class *)decider->exec_spec.cls;
	struct inventory here;
	const char *told;

	if (exec->nodes) {
		int rc = exec->nodes(decider->exec_spec.conf, decider->env, &decider->memory,
				     &decider->confs, &told, err);

		return rc ? rc : inventory_read_slurm(told, &decider->confs, ret_inventory, err);
	}
	if (decider->conf->inventory_url)
		return remote_nodes(decider->conf, &decider->confs, ret_inventory, err);
	struct inventory_declared *declared =
		strata_arena_array(&decider->confs, count, sizeof(*declared));
	int rc = declared ? inventory_detect(&decider->confs, &here, NULL, err)
			  : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = read_declared(decider, texts[i], &declared[i], err);
	if (rc == 0 && count == 0)
		*ret_inventory = here;
	else if (rc == 0)
		rc = inventory_declare(declared, count, &here, &decider->confs, ret_inventory, err);
	return rc;
}

int nodes_open(struct decider *decider, struct strata_error *err)
{
	struct inventory inventory;
	int rc = find_inventory(decider, &inventory, err);

	if (rc)
		return rc;
	decider->nodes =
		strata_arena_array(&decider->confs, inventory.node_count, sizeof(*decider->nodes));
	if (!decider->nodes)
		return strata_fail_memory(err);
	for (uint32_t i = 0; rc == 0 && i < inventory.node_count; i++) {
		struct node_about *node = &decider->nodes[i];

		node->about = &inventory.nodes[i];
		node->name = inventory.nodes[i].name;
		node->gpu_first = inventory.nodes[i].gpu_first;
		inventory_node_conf(&inventory.nodes[i], &node->conf);
		if (nodes_find(decider, node->name))
			return strata_fail_at(err, -EEXIST, "nodes", "there are two nodes %s",
					      node->name);
		if (map_text_put(&decider->node_names, node->name, strlen(node->name), node, NULL))
			return strata_fail_memory(err);
		if (node->conf.gpu_count > decider->rules.gpus_max)
			decider->rules.gpus_max = node->conf.gpu_count;
		decider->node_count++;
		rc = strata_cluster_add_node(decider->cluster, &node->conf, NULL, err);
	}
	return rc;
}

void nodes_close(struct decider *decider)
{
	for (uint32_t i = 0; i < decider->node_count; i++)
		free(decider->nodes[i].reason);
	map_text_fini(&decider->node_names);
	decider->nodes = NULL;
	decider->node_count = 0;
}

void nodes_set(struct decider *decider, uint32_t row, enum strata_node_state state,
	       const char *reason, int64_t since_ns)
{
	struct node_about *node = &decider->nodes[row];

	free(node->reason);
	node->reason = reason ? strdup(reason) : NULL;
	node->state = state;
	node->since_ns = since_ns;
}

static const char *const state_names[] = {
	[STRATA_NODE_UP] = "up", [STRATA_NODE_DRAINED] = "drained", [STRATA_NODE_DOWN] = "down"
};

const char *nodes_state_name(enum strata_node_state state)
{
	return state_names[state];
}

enum strata_node_state nodes_state_find(const char *name)
{
	for (size_t i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++)
		if (strcmp(state_names[i], name) == 0)
			return (enum strata_node_state)i;
	return STRATA_NODE_UP;
}

struct node_about *nodes_find(const struct decider *decider, const char *name)
{
	return map_text_get(&decider->node_names, name, strlen(name));
}

int nodes_pieces(const struct decider *decider, const struct job_place *place,
		 struct strata_arena *arena, struct strata_piece **ret_pieces, uint32_t *ret_count)
{
	uint32_t count = place ? place->count : 0;
	struct strata_piece *pieces = strata_arena_array(arena, count, sizeof(*pieces));

	if (!pieces)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct job_place_piece *piece = &place->pieces[i];
		const struct node_about *node = nodes_find(decider, piece->node);

		if (!node)
			return -ENODEV; /* it is not in the configuration any more */
		pieces[i] = (struct strata_piece){ .node = (uint32_t)(node - decider->nodes),
						   .tasks = (uint32_t)piece->tasks,
						   .cpu_milli = piece->cpu_milli,
						   .memory_bytes = piece->memory_bytes,
						   .gpu_mask = (uint16_t)piece->gpu_mask,
						   .gpu_milli = (uint16_t)piece->gpu_milli };
	}
	*ret_pieces = pieces;
	*ret_count = count;
	return count ? 0 : -ENODEV;
}

static uint32_t domains_of(const struct strata_node_conf *conf, uint32_t gpu_mask)
{
	uint32_t domains = 0;

	for (uint32_t rest = gpu_mask; rest; rest &= rest - 1)
		domains |= UINT32_C(1) << (conf->numa[__builtin_ctz(rest)] & 31);
	return domains;
}

struct job_place *nodes_place(const struct decider *decider, const struct strata_piece *pieces,
			      uint32_t count)
{
	struct job_place_piece *named = calloc(count, sizeof(*named));

	for (uint32_t i = 0; named && i < count; i++)
		named[i] = (struct job_place_piece){ .node = decider->nodes[pieces[i].node].name,
						     .tasks = pieces[i].tasks,
						     .cpu_milli = pieces[i].cpu_milli,
						     .memory_bytes = pieces[i].memory_bytes,
						     .gpu_mask = pieces[i].gpu_mask,
						     .gpu_milli = pieces[i].gpu_milli,
						     .gpu_domains = domains_of(
							     &decider->nodes[pieces[i].node].conf,
							     pieces[i].gpu_mask) };
	struct job_place *place = named ? job_place_new(named, count) : NULL;

	if (place)
		place->score = strata_placement_quality(decider->cluster, pieces, count);

	free(named);
	return place;
}

/* "a,b" has the name? */
static bool is_listed(const char *list, const char *name, size_t length)
{
	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
			return true;
	return false;
}

const char *nodes_partition(const struct decider *decider, const struct strata_piece *pieces,
			    uint32_t count, struct strata_arena *arena)
{
	const char *list = decider->nodes[pieces[0].node].about->partitions;

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
		size_t length = strcspn(at, ",");
		uint32_t having = 0;

		for (uint32_t i = 0; i < count; i++)
			having += is_listed(decider->nodes[pieces[i].node].about->partitions, at,
					    length);
		if (having == count)
			return strata_arena_text(arena, at, length);
	}
	return NULL;
}
