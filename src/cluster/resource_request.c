/*
 * Requests as placement sees them. Requests alike in all that matters to placement share one
 * resource request, which knows the node types and nodes that could take it, so that the text of a
 * constraint is read once and never in a pass.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <string.h>

/* The bytes by which equal resource requests are found: every field is set, padding included. */
struct resource_request_key {
	struct strata_need need;
	const char *partition, *gpu_type, *features, *node_list, *node_exclude;
	int64_t node_memory_bytes;
	uint32_t tasks, nodes;
	uint32_t node_gpus;
	uint16_t exclusive, uncharged;
};

static int check_request(const struct strata_job_request *request, struct strata_error *err)
{
	if (request->id == 0)
		return strata_fail_at(err, -EINVAL, "id", "the job's id is 0");
	if (!request->user || !*request->user)
		return strata_fail_at(err, -EINVAL, "user", "the job has no user");
	if (request->tasks == 0)
		return strata_fail_at(err, -EINVAL, "tasks", "tasks is 0; expected at least 1");
	if (request->nodes > request->tasks)
		return strata_fail_at(err, -EINVAL, "nodes",
				      "nodes is %u; expected at most as many as tasks (%u)",
				      request->nodes, request->tasks);
	if (request->cpu_milli < 0 || request->memory_bytes < 0)
		return strata_fail(err, -EINVAL,
				   "the job asks for a number of CPUs or bytes of memory below 0");
	if (request->gpu_milli >= 1000 ||
	    (request->gpu_milli && (request->gpus || request->tasks > 1)))
		return strata_fail_at(
			err, -EINVAL, "gpu_milli",
			"gpu_milli is %u; expected 1 to 999, for one task and without whole GPUs",
			request->gpu_milli);
	if (request->gpus_per_node && (!request->nodes || request->gpus || request->gpu_milli))
		return strata_fail_at(
			err, -EINVAL, "gpus_per_node",
			"gpus_per_node goes with a number of nodes and without GPUs of tasks");
	if (request->memory_per_node_bytes &&
	    (request->memory_per_node_bytes < 0 || !request->nodes || request->memory_bytes))
		return strata_fail_at(
			err, -EINVAL, "memory_per_node",
			"memory_per_node goes with a number of nodes and without memory of tasks");
	if (request->checkpoint_ns < 0)
		return strata_fail_at(err, -EINVAL, "checkpoint",
				      "checkpoints every less than no time");
	if (request->time_limit_ns < 1)
		return strata_fail_at(err, -EINVAL, "time_limit", "the time limit is not above 0");
	if ((unsigned)request->band >= STRATA_BAND_COUNT)
		return strata_fail_at(err, -EINVAL, "band", "there is no such band");
	return 0;
}

/* Every word of `features` is one of the node type's. */
static bool has_features(const struct node_type *node_type, const char *features)
{
	while (*features) {
		size_t span = strcspn(features, ",&");

		if (span && !cluster_word_in(node_type->features, features, span, ','))
			return false;
		features += span + (features[span] != '\0');
	}
	return true;
}

static bool node_type_may(const struct resource_request *resources,
			  const struct node_type *node_type)
{
	size_t type = strlen(node_type->gpu_type);

	if (*resources->gpu_type &&
	    !cluster_word_in(resources->gpu_type, node_type->gpu_type, type, '|'))
		return false;
	if (*resources->partition && *node_type->partitions &&
	    !cluster_word_in(node_type->partitions, resources->partition,
			     strlen(resources->partition), ','))
		return false;
	return has_features(node_type, resources->features);
}

bool resources_takes_node_type(const struct resource_request *resources,
			       const struct node_type *node_type)
{
	return bitset_test(&resources->node_types_ok, node_type->index);
}

bool resources_takes_node(const struct resource_request *resources, uint32_t row)
{
	return !resources->nodes_ok.words || bitset_test(&resources->nodes_ok, row);
}

struct strata_need resources_need(const struct resource_request *resources, uint32_t node_count,
				  const struct node_type *node_type)
{
	uint32_t tasks = (resources->tasks + node_count - 1) / node_count;
	struct strata_need need = resources->need;

	if (resources->exclusive)
		return (struct strata_need){ .cpu_milli = node_type->whole.cpu_milli,
					     .memory_bytes = node_type->whole.memory_bytes,
					     .gpus = node_type->gpu_count };
	if (__builtin_mul_overflow(need.cpu_milli, tasks, &need.cpu_milli) ||
	    __builtin_mul_overflow(need.memory_bytes, tasks, &need.memory_bytes) ||
	    __builtin_mul_overflow(need.gpus, tasks, &need.gpus) ||
	    __builtin_add_overflow(need.memory_bytes, resources->node_memory_bytes,
				   &need.memory_bytes))
		need.gpus = UINT32_MAX; /* more than any node has */
	if (resources->node_gpus)
		need.gpus = resources->node_gpus;
	return need;
}

uint32_t resources_tasks_in(const struct resource_request *resources,
			    const struct strata_room *room, const struct node_type *node_type)
{
	int64_t most = resources->tasks;
	const struct strata_need *need = &resources->need;

	if (resources->exclusive && memcmp(room, &node_type->whole, sizeof(*room)) != 0)
		return 0;
	if (room->memory_bytes < resources->node_memory_bytes ||
	    (resources->node_gpus &&
	     room_whole_gpus(room, node_type->gpu_count) < resources->node_gpus))
		return 0;
	if (need->cpu_milli && room->cpu_milli / need->cpu_milli < most)
		most = room->cpu_milli / need->cpu_milli;
	if (need->memory_bytes && room->memory_bytes / need->memory_bytes < most)
		most = room->memory_bytes / need->memory_bytes;
	if (need->gpus && room_whole_gpus(room, node_type->gpu_count) / need->gpus < most)
		most = room_whole_gpus(room, node_type->gpu_count) / need->gpus;
	if (need->gpu_milli && room_fullest(room, node_type->gpu_count) < need->gpu_milli)
		return 0;
	return (uint32_t)most;
}

static bool name_may(const struct resource_request *resources, const char *name)
{
	size_t length = strlen(name);

	return (!*resources->node_list ||
		cluster_word_in(resources->node_list, name, length, ',')) &&
	       !cluster_word_in(resources->node_exclude, name, length, ',');
}

/* By its sets, or by its texts where these were changed. */
static bool takes_row(const struct strata_cluster *cluster,
		      const struct resource_request *resources, uint32_t row)
{
	const struct node_type *node_type = cluster->nodes[row].node_type;

	if (!resources->node_types_ok.words)
		return node_type_may(resources, node_type) &&
		       name_may(resources, cluster->nodes[row].name);
	return resources_takes_node_type(resources, node_type) &&
	       resources_takes_node(resources, row);
}

bool resources_possible(const struct strata_cluster *cluster,
			const struct resource_request *resources)
{
	uint64_t found = 0, wanted = resources->nodes ? resources->nodes : resources->tasks;

	for (uint32_t row = 0; row < cluster->node_count && found < wanted; row++) {
		const struct node_type *node_type = cluster->nodes[row].node_type;

		if (!takes_row(cluster, resources, row))
			continue;
		uint32_t tasks = resources_tasks_in(resources, &node_type->whole, node_type);

		if (!resources->nodes)
			found += tasks;
		else
			found += tasks >=
				 (resources->tasks + resources->nodes - 1) / resources->nodes;
	}
	return found >= wanted;
}

static size_t set_bytes(size_t bit_count)
{
	return (BITSET_WORDS(bit_count) + !bit_count) * sizeof(uint64_t);
}

static int new_set(struct strata_cluster *cluster, size_t bit_count, struct bitset *ret_set)
{
	uint64_t *words = strata_memory_get(cluster->memory, set_bytes(bit_count));

	if (!words)
		return -ENOMEM;
	bitset_init_on(ret_set, words, bit_count);
	return 0;
}

static int fill_sets(struct strata_cluster *cluster, struct resource_request *resources)
{
	if (new_set(cluster, cluster->node_type_count, &resources->node_types_ok))
		return -ENOMEM;
	for (uint32_t i = 0; i < cluster->node_type_count; i++)
		if (node_type_may(resources, cluster->node_types[i]))
			bitset_set(&resources->node_types_ok, i);
	if (!*resources->node_list && !*resources->node_exclude)
		return 0;
	if (new_set(cluster, cluster->node_count, &resources->nodes_ok))
		return -ENOMEM;
	for (uint32_t row = 0; row < cluster->node_count; row++)
		if (name_may(resources, cluster->nodes[row].name))
			bitset_set(&resources->nodes_ok, row);
	return 0;
}

static void free_resources(struct strata_cluster *cluster, struct resource_request *resources)
{
	score_cache_free(cluster, resources->score_cache);
	strata_memory_put(cluster->memory, resources->node_types_ok.words,
			  set_bytes(resources->node_types_ok.bit_count));
	strata_memory_put(cluster->memory, resources->nodes_ok.words,
			  set_bytes(resources->nodes_ok.bit_count));
	slab_put(&cluster->resources_slab, resources->handle);
}

static struct resource_request_key make_key(const struct resource_request *resources)
{
	struct resource_request_key key;

	memset(&key, 0, sizeof(key));
	key.need = resources->need;
	key.partition = resources->partition;
	key.gpu_type = resources->gpu_type;
	key.features = resources->features;
	key.node_list = resources->node_list;
	key.node_exclude = resources->node_exclude;
	key.tasks = resources->tasks;
	key.nodes = resources->nodes;
	key.node_gpus = resources->node_gpus;
	key.node_memory_bytes = resources->node_memory_bytes;
	key.exclusive = resources->exclusive;
	key.uncharged = resources->uncharged;
	return key;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double bill(const struct strata_billing *billing, double gpus, double cpus,
		   double memory_bytes)
{
	return larger(larger(billing->gpu * gpus, billing->cpu * cpus),
		      billing->memory_gib * memory_bytes / (1 << 30));
}

double strata_cluster_bill(const struct strata_cluster *cluster, double gpus, double cpus,
			   int64_t memory_bytes)
{
	return bill(&cluster->billing, gpus, cpus, (double)memory_bytes);
}

/* How large it is, for orders, limits and bills. */
static void measure(const struct strata_cluster *cluster, struct resource_request *resources)
{
	double cpus = resources->tasks * (double)resources->need.cpu_milli / 1000;
	double memory = resources->tasks * (double)resources->need.memory_bytes +
			resources->nodes * (double)resources->node_memory_bytes;
	double gpus = resources->tasks *
			      (resources->need.gpus + resources->need.gpu_milli / 1000.0) +
		      (double)resources->nodes * resources->node_gpus;

	resources->size = gpus > 0 ? gpus : cpus;
	resources->gpu_milli = (int64_t)(gpus * 1000 + 0.5);
	resources->bill = resources->uncharged ? 0 : bill(&cluster->billing, gpus, cpus, memory);
	resources->partition_entity = entity_partition(cluster, resources->partition);
}

int resources_get(struct strata_cluster *cluster, const struct strata_job_request *request,
		  struct resource_request **ret_resources, struct strata_error *err)
{
	int rc = check_request(request, err);

	if (rc)
		return rc;
	struct resource_request wanted = {
		.need = { request->cpu_milli, request->memory_bytes, request->gpus,
			  request->gpu_milli },
		.tasks = request->tasks,
		.nodes = request->nodes,
		.node_gpus = request->gpus_per_node,
		.node_memory_bytes = request->memory_per_node_bytes,
		.exclusive = request->exclusive,
		.uncharged = request->uncharged,
		.partition = cluster_text(cluster, request->partition),
		.gpu_type = cluster_text(cluster, request->gpu_type),
		.features = cluster_text(cluster, request->features),
		.node_list = cluster_text(cluster, request->node_list),
		.node_exclude = cluster_text(cluster, request->node_exclude),
	};

	if (!wanted.partition || !wanted.gpu_type || !wanted.features || !wanted.node_list ||
	    !wanted.node_exclude)
		return strata_fail_memory(err);
	struct resource_request_key key = make_key(&wanted);
	struct resource_request *resources =
		map_text_get(&cluster->resource_requests, (const char *)&key, sizeof(key));

	if (resources) {
		resources->users++;
		*ret_resources = resources;
		return 0;
	}
	resources = slab_get(&cluster->resources_slab, &wanted.handle);
	if (!resources)
		return strata_fail_memory(err);
	*resources = wanted;
	if (fill_sets(cluster, resources) ||
	    map_text_put(&cluster->resource_requests, (const char *)&key, sizeof(key), resources,
			 NULL)) {
		free_resources(cluster, resources);
		return strata_fail_memory(err);
	}
	measure(cluster, resources);
	resources->possible = resources_possible(cluster, resources);
	resources->users = 1;
	*ret_resources = resources;
	return 0;
}

void resources_put(struct strata_cluster *cluster, struct resource_request *resources)
{
	struct resource_request_key key;

	if (--resources->users)
		return;
	key = make_key(resources);
	map_text_remove(&cluster->resource_requests, (const char *)&key, sizeof(key));
	free_resources(cluster, resources);
}
