/*
 * Requests as placement sees them. Requests alike in all that matters to placement share one ask, which knows the shapes and
 * nodes that could take it, so that the text of a constraint is read once and never in a pass.
 */
#include "cluster/cluster_int.h"

#include <errno.h>
#include <string.h>

/* The bytes by which equal asks are found: every field is set, padding included. */
struct ask_key {
	struct strata_need need;
	const char *partition, *gpu_type, *features, *node_list, *node_exclude;
	int64_t node_memory_bytes;
	uint32_t tasks, nodes;
	uint32_t node_gpus, exclusive;
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
		return strata_fail(err, -EINVAL, "the job asks for less than no CPU or memory");
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

/* Every word of `features` is one of the shape's. */
static bool has_features(const struct shape *shape, const char *features)
{
	while (*features) {
		size_t span = strcspn(features, ",&");

		if (span && !cluster_word_in(shape->features, features, span, ','))
			return false;
		features += span + (features[span] != '\0');
	}
	return true;
}

static bool shape_may(const struct ask *ask, const struct shape *shape)
{
	size_t type = strlen(shape->gpu_type);

	if (*ask->gpu_type && !cluster_word_in(ask->gpu_type, shape->gpu_type, type, '|'))
		return false;
	if (*ask->partition && *shape->partitions &&
	    !cluster_word_in(shape->partitions, ask->partition, strlen(ask->partition), ','))
		return false;
	return has_features(shape, ask->features);
}

bool ask_takes_shape(const struct ask *ask, const struct shape *shape)
{
	return ask->shapes_ok[shape->index / 64] >> shape->index % 64 & 1;
}

bool ask_takes_node(const struct ask *ask, uint32_t row)
{
	return !ask->nodes_ok || (ask->nodes_ok[row / 64] >> row % 64 & 1);
}

struct strata_need ask_need(const struct ask *ask, uint32_t node_count, const struct shape *shape)
{
	uint32_t tasks = (ask->tasks + node_count - 1) / node_count;
	struct strata_need need = ask->need;

	if (ask->exclusive)
		return (struct strata_need){ .cpu_milli = shape->whole.cpu_milli,
					     .memory_bytes = shape->whole.memory_bytes,
					     .gpus = shape->gpu_count };
	if (__builtin_mul_overflow(need.cpu_milli, tasks, &need.cpu_milli) ||
	    __builtin_mul_overflow(need.memory_bytes, tasks, &need.memory_bytes) ||
	    __builtin_mul_overflow(need.gpus, tasks, &need.gpus) ||
	    __builtin_add_overflow(need.memory_bytes, ask->node_memory_bytes, &need.memory_bytes))
		need.gpus = UINT32_MAX; /* more than any node has */
	if (ask->node_gpus)
		need.gpus = ask->node_gpus;
	return need;
}

uint32_t ask_tasks_in(const struct ask *ask, const struct strata_room *room,
		      const struct shape *shape)
{
	int64_t most = ask->tasks;
	const struct strata_need *need = &ask->need;

	if (ask->exclusive && memcmp(room, &shape->whole, sizeof(*room)) != 0)
		return 0;
	if (room->memory_bytes < ask->node_memory_bytes ||
	    (ask->node_gpus && room_whole_gpus(room, shape->gpu_count) < ask->node_gpus))
		return 0;
	if (need->cpu_milli && room->cpu_milli / need->cpu_milli < most)
		most = room->cpu_milli / need->cpu_milli;
	if (need->memory_bytes && room->memory_bytes / need->memory_bytes < most)
		most = room->memory_bytes / need->memory_bytes;
	if (need->gpus && room_whole_gpus(room, shape->gpu_count) / need->gpus < most)
		most = room_whole_gpus(room, shape->gpu_count) / need->gpus;
	if (need->gpu_milli && room_fullest(room, shape->gpu_count) < need->gpu_milli)
		return 0;
	return (uint32_t)most;
}

/* Could empty nodes take it? */
static bool possible(const struct strata_cluster *cluster, const struct ask *ask)
{
	uint64_t found = 0, wanted = ask->nodes ? ask->nodes : ask->tasks;

	for (uint32_t row = 0; row < cluster->node_count && found < wanted; row++) {
		const struct shape *shape = cluster->nodes[row].shape;

		if (!ask_takes_shape(ask, shape) || !ask_takes_node(ask, row))
			continue;
		uint32_t tasks = ask_tasks_in(ask, &shape->whole, shape);

		if (!ask->nodes)
			found += tasks;
		else
			found += tasks >= (ask->tasks + ask->nodes - 1) / ask->nodes;
	}
	return found >= wanted;
}

static int fill_sets(struct strata_cluster *cluster, struct ask *ask)
{
	ask->shape_words = (cluster->shape_count + 63) / 64 + !cluster->shape_count;
	ask->shapes_ok = strata_memory_get(cluster->memory, ask->shape_words * sizeof(uint64_t));
	if (!ask->shapes_ok)
		return -ENOMEM;
	for (uint32_t i = 0; i < cluster->shape_count; i++)
		if (shape_may(ask, cluster->shapes[i]))
			ask->shapes_ok[i / 64] |= 1ull << i % 64;
	if (!*ask->node_list && !*ask->node_exclude)
		return 0;
	ask->node_words = (cluster->node_count + 63) / 64 + !cluster->node_count;
	ask->nodes_ok = strata_memory_get(cluster->memory, ask->node_words * sizeof(uint64_t));
	if (!ask->nodes_ok)
		return -ENOMEM;
	for (uint32_t row = 0; row < cluster->node_count; row++) {
		const char *name = cluster->nodes[row].name;
		bool in = !*ask->node_list ||
			  cluster_word_in(ask->node_list, name, strlen(name), ',');

		if (in && !cluster_word_in(ask->node_exclude, name, strlen(name), ','))
			ask->nodes_ok[row / 64] |= 1ull << row % 64;
	}
	return 0;
}

static void free_ask(struct strata_cluster *cluster, struct ask *ask)
{
	board_free(cluster, ask->board);
	strata_memory_put(cluster->memory, ask->shapes_ok, ask->shape_words * sizeof(uint64_t));
	strata_memory_put(cluster->memory, ask->nodes_ok, ask->node_words * sizeof(uint64_t));
	slab_put(&cluster->ask_slab, ask->handle);
}

static struct ask_key make_key(const struct ask *ask)
{
	struct ask_key key;

	memset(&key, 0, sizeof(key));
	key.need = ask->need;
	key.partition = ask->partition;
	key.gpu_type = ask->gpu_type;
	key.features = ask->features;
	key.node_list = ask->node_list;
	key.node_exclude = ask->node_exclude;
	key.tasks = ask->tasks;
	key.nodes = ask->nodes;
	key.node_gpus = ask->node_gpus;
	key.node_memory_bytes = ask->node_memory_bytes;
	key.exclusive = ask->exclusive;
	return key;
}

/* How large it is, for orders, limits and bills. */
static void measure(const struct strata_cluster *cluster, struct ask *ask)
{
	const struct strata_billing *billing = &cluster->billing;
	double cpus = ask->tasks * (double)ask->need.cpu_milli / 1000;
	double memory = ask->tasks * (double)ask->need.memory_bytes +
			ask->nodes * (double)ask->node_memory_bytes;
	double gpus = ask->tasks * (ask->need.gpus + ask->need.gpu_milli / 1000.0) +
		      (double)ask->nodes * ask->node_gpus;

	ask->size = gpus > 0 ? gpus : cpus;
	ask->gpu_milli = (int64_t)(gpus * 1000 + 0.5);
	ask->bill = billing->gpu * gpus;
	if (billing->cpu * cpus > ask->bill)
		ask->bill = billing->cpu * cpus;
	if (billing->memory_gib * memory / (1 << 30) > ask->bill)
		ask->bill = billing->memory_gib * memory / (1 << 30);
	ask->partition_party = party_partition(cluster, ask->partition);
}

int ask_get(struct strata_cluster *cluster, const struct strata_job_request *request,
	    struct ask **ret_ask, struct strata_error *err)
{
	int rc = check_request(request, err);

	if (rc)
		return rc;
	struct ask wanted = {
		.need = { request->cpu_milli, request->memory_bytes, request->gpus,
			  request->gpu_milli },
		.tasks = request->tasks,
		.nodes = request->nodes,
		.node_gpus = request->gpus_per_node,
		.node_memory_bytes = request->memory_per_node_bytes,
		.exclusive = request->exclusive,
		.partition = cluster_text(cluster, request->partition),
		.gpu_type = cluster_text(cluster, request->gpu_type),
		.features = cluster_text(cluster, request->features),
		.node_list = cluster_text(cluster, request->node_list),
		.node_exclude = cluster_text(cluster, request->node_exclude),
	};

	if (!wanted.partition || !wanted.gpu_type || !wanted.features || !wanted.node_list ||
	    !wanted.node_exclude)
		return strata_fail_memory(err);
	struct ask_key key = make_key(&wanted);
	struct ask *ask = map_text_get(&cluster->asks, (const char *)&key, sizeof(key));

	if (ask) {
		ask->users++;
		*ret_ask = ask;
		return 0;
	}
	ask = slab_get(&cluster->ask_slab, &wanted.handle);
	if (!ask)
		return strata_fail_memory(err);
	*ask = wanted;
	if (fill_sets(cluster, ask) ||
	    map_text_put(&cluster->asks, (const char *)&key, sizeof(key), ask, NULL)) {
		free_ask(cluster, ask);
		return strata_fail_memory(err);
	}
	measure(cluster, ask);
	ask->possible = possible(cluster, ask);
	ask->users = 1;
	*ret_ask = ask;
	return 0;
}

void ask_put(struct strata_cluster *cluster, struct ask *ask)
{
	struct ask_key key;

	if (--ask->users)
		return;
	key = make_key(ask);
	map_text_remove(&cluster->asks, (const char *)&key, sizeof(key));
	free_ask(cluster, ask);
}
