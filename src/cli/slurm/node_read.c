/* Nodes from the service, as Slurm speaks of them: see node_read.h. */
#include "cli/slurm/node_read.h"

#include "cli/service.h"

#include <inttypes.h>
#include <string.h>

static double number(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

const char *slurm_node_code(const struct slurm_node *node)
{
	static const char *const codes[] = { "idle", "mix", "alloc" };

	return !node->json                  ? "n/a"
	       : node->down                 ? "down"
	       : node->drained && node->use ? "drng"
	       : node->drained              ? "drain"
					    : codes[node->use];
}

const char *slurm_use_word(enum slurm_node_use use)
{
	static const char *const words[] = { "idle", "mixed", "allocated" };

	return words[use];
}

const char *slurm_node_word(const struct slurm_node *node)
{
	return !node->json                  ? "n/a"
	       : node->down                 ? "down"
	       : node->drained && node->use ? "draining"
	       : node->drained              ? "drained"
					    : slurm_use_word(node->use);
}

/* ["a", "b"] as "a,b"; NULL: none. */
static const char *join(struct cli *cli, const json_t *list)
{
	const char *text = NULL;
	const json_t *word;
	size_t index;

	json_array_foreach(list, index, word) text = strata_arena_printf(
		&cli->arena, "%s%s%s", text ? text : "", text ? "," : "", grid_or(word, "?"));
	return text;
}

/* "0-1,5", or "N/A". */
static void add_indexes(struct buf *buf, const json_t *free)
{
	size_t count = json_array_size(free), used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t last = i;

		if (json_number_value(json_array_get(free, i)) >= 1)
			continue;
		while (last + 1 < count && json_number_value(json_array_get(free, last + 1)) < 1)
			last++;
		buf_printf(buf, last > i ? "%s%zu-%zu" : "%s%zu", used++ ? "," : "", i, last);
		i = last;
	}
	if (!used)
		buf_add(buf, "N/A");
}

static void read_gpus(struct cli *cli, struct slurm_node *node)
{
	const char *type = grid_string(node->json, "gpu_type");
	const json_t *free = json_object_get(node->json, "gpu_free"), *one;
	struct buf indexes;
	size_t index;

	node->gpus = grid_int(node->json, "gpus");
	json_array_foreach(free, index, one) node->gpus_used += json_number_value(one) < 1;
	if (!node->gpus)
		return;
	buf_init(&indexes, &cli->memory, 0);
	add_indexes(&indexes, free);
	node->gres = strata_arena_printf(&cli->arena, "gpu:%s%s%" PRId64, type ? type : "",
					 type ? ":" : "", node->gpus);
	node->gres_used = strata_arena_printf(&cli->arena, "gpu:%s%s%" PRId64 "(IDX:%s)",
					      type ? type : "", type ? ":" : "", node->gpus_used,
					      indexes.text);
	buf_fini(&indexes);
}

static void read_state(struct slurm_node *node)
{
	const char *state = grid_string(node->json, "state");

	node->drained = state && strcmp(state, "drained") == 0;
	node->down = state && strcmp(state, "down") == 0;
	node->use = node->cpus_used <= 0 && !json_array_size(json_object_get(node->json, "jobs"))
			    ? SLURM_IDLE
		    : node->cpus_used >= node->cpus ? SLURM_ALLOCATED
						    : SLURM_MIXED;
	/* Slurm's numbers of its states: down 1, idle 2, allocated 3, mixed 5; a mark for drained
	 * counts more */
	node->order = node->down                     ? 1
		      : node->use == SLURM_IDLE      ? 2
		      : node->use == SLURM_ALLOCATED ? 3
						     : 5;
	node->order += node->drained ? 10 : 0;
}

static void read_node(struct cli *cli, const json_t *json, const json_t *topology,
		      struct slurm_node *node)
{
	const char *partitions = join(cli, json_object_get(json, "partitions"));

	*node = (struct slurm_node){ .json = json,
				     .name = grid_or(json_object_get(json, "name"), "?"),
				     .cpus = (int64_t)number(json, "cpus"),
				     .memory_bytes = grid_int(json, "memory_bytes"),
				     .features = join(cli, json_object_get(json, "features")),
				     .partitions = partitions ? partitions : SLURM_ALL_PARTITION,
				     .reason = grid_string(json, "reason"),
				     .since_ns = when_json(json, "since") };
	node->cpus_used = (int64_t)(number(json, "cpus") - number(json, "cpus_free") + 0.999);
	node->memory_used_bytes = node->memory_bytes - grid_int(json, "memory_free_bytes");
	node->cores = grid_int(topology, "cores") ? grid_int(topology, "cores") : node->cpus;
	node->sockets = grid_int(topology, "numa") ? grid_int(topology, "numa") : 1;
	read_gpus(cli, node);
	read_state(node);
}

static int add_partition(struct cli *cli, struct slurm_nodes *nodes, const char *name,
			 const json_t *json)
{
	struct slurm_partition *partition = &nodes->partitions[nodes->partition_count];

	*partition = (struct slurm_partition){
		.name = name,
		.usual = json_is_true(json_object_get(json, "default")),
		.priority = 1,
		.default_s = grid_int(json, "time_limit_s"),
		.longest_s = grid_int(json, "time_limit_max_s"),
		.state = grid_or(json_object_get(json, "state"), "up"),
		.accounts = join(cli, json_object_get(json, "allowed_accounts")),
		.qos = join(cli, json_object_get(json, "allowed_qos"))
	};
	if (number(json, "priority") > 0)
		partition->priority = (int64_t)number(json, "priority");
	partition->nodes = strata_arena_array(&cli->arena, nodes->count + 1,
					      sizeof(const struct slurm_node *));
	if (!partition->nodes)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < nodes->count; i++)
		if (slurm_listed(nodes->list[i].partitions, name))
			partition->nodes[partition->node_count++] = &nodes->list[i];
	nodes->partition_count++;
	return 0;
}

static int read_partitions(struct cli *cli, struct slurm_nodes *nodes)
{
	const json_t *list = json_object_get(nodes->entities, "partitions"), *row;
	bool alone = false, usual = false, named = false;
	size_t index;
	int rc = 0;

	nodes->partitions = strata_arena_array(&cli->arena, json_array_size(list) + 1,
					       sizeof(*nodes->partitions));
	if (!nodes->partitions)
		return strata_fail_memory(&cli->err);
	json_array_foreach(list, index, row)
	{
		usual |= json_is_true(json_object_get(row, "default"));
		named |= strcmp(grid_or(json_object_get(row, "name"), ""), SLURM_ALL_PARTITION) ==
			 0;
		if (rc == 0)
			rc = add_partition(cli, nodes, grid_or(json_object_get(row, "name"), "?"),
					   row);
	}
	for (size_t i = 0; i < nodes->count; i++)
		alone |= strcmp(nodes->list[i].partitions, SLURM_ALL_PARTITION) == 0;
	if (rc == 0 && !named && (alone || !nodes->partition_count)) {
		rc = add_partition(cli, nodes, SLURM_ALL_PARTITION, NULL);
		if (rc == 0)
			nodes->partitions[nodes->partition_count - 1].usual = !usual;
	}
	return rc;
}

static int read_all(struct cli *cli, struct slurm_nodes *nodes)
{
	const json_t *list = json_object_get(nodes->json, "nodes"),
		     *topology = json_object_get(nodes->topology, "nodes"), *row;
	size_t index;

	nodes->list =
		strata_arena_array(&cli->arena, json_array_size(list) + 1, sizeof(*nodes->list));
	if (!nodes->list)
		return strata_fail_memory(&cli->err);
	json_array_foreach(list, index, row) /* both lists are in the same order */
		read_node(cli, row, json_array_get(topology, index), &nodes->list[nodes->count++]);
	return read_partitions(cli, nodes);
}

int slurm_nodes_load(struct cli *cli, struct slurm_nodes *ret_nodes)
{
	struct slurm_nodes nodes = { 0 };
	int rc = service_list(cli, "nodes", &nodes.json);

	if (rc == 0)
		rc = service_list(cli, "topology", &nodes.topology);
	if (rc == 0)
		rc = service_list(cli, "partitions", &nodes.entities);
	if (rc == 0)
		rc = read_all(cli, &nodes);
	if (rc)
		slurm_nodes_fini(&nodes);
	else
		*ret_nodes = nodes;
	return rc;
}

void slurm_nodes_fini(struct slurm_nodes *nodes)
{
	json_decref(nodes->json);
	json_decref(nodes->topology);
	json_decref(nodes->entities);
	*nodes = (struct slurm_nodes){ 0 };
}
