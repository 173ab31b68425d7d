/* The nodes: those of the executor, or that the configuration names, or the inventory service, or this machine; and what the operator said of them. */
#include "server/remote.h"

#include "machine/inventory.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "NAME:cpus=8:…" */
static int read_declared(struct server *server, const char *text,
			 struct inventory_declared *ret_declared, struct strata_error *err)
{
	const char *whole = strata_arena_printf(&server->confs, "name=%s", text);
	int rc = whole ? strata_schema_defaults(&inventory_declared_schema, &server->confs,
						ret_declared, err)
		       : strata_fail_memory(err);

	return rc ? rc
		  : strata_schema_read_text(&inventory_declared_schema, whole, strlen(whole),
					    &server->confs, ret_declared, err);
}

static int find_inventory(struct server *server, struct inventory *ret_inventory,
			  struct strata_error *err)
{
	const char *const *texts = server->conf->nodes.items;
	size_t count = server->conf->nodes.count;
	const struct exec_class *exec = (const struct exec_class *)server->exec_spec.cls;
	struct inventory here;
	const char *told;

	if (exec->nodes) {
		int rc = exec->nodes(server->exec_spec.conf, server->env, &server->memory,
				     &server->confs, &told, err);

		return rc ? rc : inventory_read_slurm(told, &server->confs, ret_inventory, err);
	}
	if (server->conf->inventory_url)
		return remote_nodes(server->conf, &server->confs, ret_inventory, err);
	struct inventory_declared *declared =
		strata_arena_array(&server->confs, count, sizeof(*declared));
	int rc = declared ? inventory_detect(&server->confs, &here, NULL, err)
			  : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = read_declared(server, texts[i], &declared[i], err);
	if (rc == 0 && count == 0)
		*ret_inventory = here;
	else if (rc == 0)
		rc = inventory_declare(declared, count, &here, &server->confs, ret_inventory, err);
	return rc;
}

int nodes_open(struct server *server, struct strata_error *err)
{
	struct inventory inventory;
	int rc = find_inventory(server, &inventory, err);

	if (rc)
		return rc;
	server->nodes =
		strata_arena_array(&server->confs, inventory.node_count, sizeof(*server->nodes));
	if (!server->nodes)
		return strata_fail_memory(err);
	for (uint32_t i = 0; rc == 0 && i < inventory.node_count; i++) {
		struct node_about *node = &server->nodes[i];

		node->about = &inventory.nodes[i];
		node->name = inventory.nodes[i].name;
		node->gpu_first = inventory.nodes[i].gpu_first;
		inventory_node_conf(&inventory.nodes[i], &node->conf);
		if (nodes_find(server, node->name))
			return strata_fail_at(err, -EEXIST, "nodes", "there are two nodes %s",
					      node->name);
		if (node->conf.gpu_count > server->rules.gpus_max)
			server->rules.gpus_max = node->conf.gpu_count;
		server->node_count++;
		rc = strata_cluster_add_node(server->cluster, &node->conf, NULL, err);
	}
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

const char *nodes_state_name(enum strata_node_state state)
{
	static const char *const names[] = { "up", "drained", "down" };

	return names[state];
}

struct node_about *nodes_find(const struct server *server, const char *name)
{
	for (uint32_t i = 0; i < server->node_count; i++)
		if (strcmp(server->nodes[i].name, name) == 0)
			return &server->nodes[i];
	return NULL;
}
