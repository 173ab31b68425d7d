/* The GPU allocation experiment: arrays in, a struct strata_cluster in between, four numbers out. */
#include "sim/place_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIX_COVER 0.95
#define MIB (INT64_C(1) << 20)
#define HOUR_NS INT64_C(3600000000000)

struct run {
	const struct place_conf *conf;
	struct strata_memory *memory;
	struct strata_arena arena;   /* of the whole run */
	struct strata_arena scratch; /* of one arrival */
	struct strata_registry *backfills;
	struct strata_cluster *cluster;
	bool has_memory; /* it is known how much memory nodes have */
	struct place_result result;
};

static struct strata_need need_of(const struct run *run, const struct openb_pod *pod)
{
	bool shared = pod->gpu_milli > 0 && pod->gpu_milli < OPENB_GPU_MILLI;

	return (struct strata_need){
		.cpu_milli = pod->cpu_milli,
		.memory_bytes = run->has_memory ? pod->memory_mib * MIB : 0,
		.gpus = shared ? 0 : (uint32_t)pod->gpu_count,
		.gpu_milli = shared ? (uint32_t)pod->gpu_milli : 0,
	};
}

static int64_t gpu_milli_of(const struct openb_pod *pod)
{
	return pod->gpu_count * pod->gpu_milli;
}

static int make_mix(struct run *run, struct strata_mix *ret_mix, struct strata_error *err)
{
	size_t count = run->conf->pod_count;
	struct strata_need *needs = strata_arena_array(&run->arena, count, sizeof(*needs));
	const char **types = strata_arena_array(&run->arena, count, sizeof(*types));

	if (!needs || !types)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		needs[i] = need_of(run, &run->conf->pods[i]);
		types[i] = run->conf->pods[i].gpu_models;
	}
	return strata_mix_make(needs, types, count, MIX_COVER, &run->arena, ret_mix, err);
}

static int add_nodes(struct run *run, struct strata_error *err)
{
	const struct place_conf *conf = run->conf;

	for (size_t i = 0; i < conf->node_count; i++) {
		const struct openb_node *node = &conf->nodes[i];
		struct strata_node_conf wanted = {
			.name = node->name,
			.cpu_milli = node->cpu_milli,
			.memory_bytes = node->memory_mib * MIB,
			.gpu_count = (uint32_t)node->gpu_count,
			.gpu_type = node->gpu_model,
		};
		int rc = strata_cluster_add_node(run->cluster, &wanted, NULL, err);

		if (rc)
			return rc;
		run->result.capacity_milli += node->gpu_count * OPENB_GPU_MILLI;
	}
	return 0;
}

static int open_cluster(struct run *run, struct strata_error *err)
{
	struct strata_cluster_conf conf = { .placement = run->conf->placement };
	struct strata_mix *mix = strata_arena_get(&run->arena, sizeof(*mix));
	int rc = mix ? make_mix(run, mix, err) : strata_fail_memory(err);

	conf.mix = mix;
	if (rc == 0)
		rc = strata_registry_new(&strata_backfill_kind, run->memory, &run->backfills, err);
	if (rc == 0)
		rc = strata_spec_read(run->backfills, "none", 4, &run->arena, &conf.backfill, err);
	if (rc == 0)
		rc = strata_cluster_new(&conf, run->memory, &run->cluster, err);
	return rc ? rc : add_nodes(run, err);
}

/* A pod arrives; if it does not start at once it is gone. */
static int arrive(struct run *run, uint64_t id, const struct openb_pod *pod,
		  struct strata_error *err)
{
	struct strata_need need = need_of(run, pod);
	struct strata_job_request request = {
		.id = id,
		.user = "pods",
		.band = STRATA_BAND_NORMAL,
		.tasks = 1,
		.cpu_milli = need.cpu_milli,
		.memory_bytes = need.memory_bytes,
		.gpus = need.gpus,
		.gpu_milli = need.gpu_milli,
		.gpu_type = pod->gpu_models,
		.time_limit_ns = HOUR_NS,
	};
	const struct strata_effect *effects;
	size_t count;
	int rc = strata_cluster_submit(run->cluster, &request, 0, err);

	strata_arena_reset(&run->scratch);
	if (rc == 0)
		rc = strata_cluster_pass(run->cluster, 0, &run->scratch, &effects, &count, err);
	if (rc)
		return rc;
	if (count) {
		run->result.placed++;
		run->result.alloc_milli += gpu_milli_of(pod);
		return 0;
	}
	rc = strata_cluster_cancel(run->cluster, id, 0, err);
	return rc ? rc : strata_cluster_forget(run->cluster, id, err);
}

struct arrival {
	int64_t gpu_milli, cpu_milli;
	size_t position;
	uint32_t pod;
};

static int compare_arrivals(const void *a_any, const void *b_any)
{
	const struct arrival *a = a_any, *b = b_any;

	if (a->gpu_milli != b->gpu_milli)
		return a->gpu_milli > b->gpu_milli ? -1 : 1;
	if (a->cpu_milli != b->cpu_milli)
		return a->cpu_milli > b->cpu_milli ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

/* The order in which pods arrive. */
static int make_order(struct run *run, struct arrival **ret_arrivals, struct strata_error *err)
{
	const struct place_conf *conf = run->conf;
	struct arrival *arrivals =
		strata_arena_array(&run->arena, conf->sequence_count, sizeof(*arrivals));

	if (!arrivals)
		return strata_fail_memory(err);
	for (size_t i = 0; i < conf->sequence_count; i++) {
		const struct openb_pod *pod = &conf->pods[conf->sequence[i]];

		if (conf->sequence[i] >= conf->pod_count)
			return strata_fail(err, -EINVAL,
					   "arrival %zu is pod %u; there are %zu pods", i,
					   conf->sequence[i], conf->pod_count);
		arrivals[i] =
			(struct arrival){ gpu_milli_of(pod), pod->cpu_milli, i, conf->sequence[i] };
	}
	if (conf->batch)
		qsort(arrivals, conf->sequence_count, sizeof(*arrivals), compare_arrivals);
	*ret_arrivals = arrivals;
	return 0;
}

int place_run(const struct place_conf *conf, struct strata_memory *memory,
	      struct place_result *ret_result, struct strata_error *err)
{
	struct run run = { .conf = conf, .memory = memory };
	struct place_result *result = &run.result;
	struct arrival *arrivals = NULL;

	for (size_t i = 0; i < conf->node_count; i++)
		run.has_memory |= conf->nodes[i].memory_mib > 0;
	strata_arena_init(&run.arena, memory, 0);
	strata_arena_init(&run.scratch, memory, 0);
	int rc = make_order(&run, &arrivals, err);

	if (rc == 0)
		rc = open_cluster(&run, err);
	for (size_t i = 0; rc == 0 && i < conf->sequence_count; i++)
		rc = arrive(&run, i + 1, &conf->pods[arrivals[i].pod], err);
	strata_cluster_free(run.cluster);
	strata_registry_free(run.backfills);
	strata_arena_fini(&run.scratch);
	strata_arena_fini(&run.arena);
	if (rc)
		return rc;
	if (result->capacity_milli)
		result->alloc_percent = 100.0 * (double)result->alloc_milli /
					(double)result->capacity_milli;
	*ret_result = *result;
	return 0;
}
