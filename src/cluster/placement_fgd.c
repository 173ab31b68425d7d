/*
 * fgd: fragmentation gradient descent (Weng et al., USENIX ATC 2023). A free GPU of a node is a
 * fragment for a typical job that could not use it: because the node lacks CPU or GPUs for that
 * job, because the GPU has less left than the job wants, or because it is not of a type the job
 * takes. The fragmentation of a node is what is free of its GPUs, averaged over the typical jobs in
 * so far as it is a fragment for them; a job goes where it raises fragmentation least, as a mark of
 * floor(100 x sigmoid(-rise / 1000)), and a share of a GPU to the first GPU with the best mark.
 * Without a mix there is nothing to average over: it is best_fit then.
 *
 * What is not a fragment splits into a sum over the GPUs: with `left` free of one, it is usable by
 * the typical shares that are no larger and, when untouched, by the typical whole jobs that find
 * enough others; both for CPU that is there. So the mix is compiled into two tables of sums per GPU
 * type, and a mark costs a look-up per GPU and none per typical job.
 */
#include "cluster/cluster_int.h"

#include "core/real.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE_MILLI = 1000, WHOLE_COUNTS = STRATA_NODE_GPUS_MAX + 1 };

struct fgd_state {
	struct strata_arena arena; /* holds all below */
	struct strata_memory *memory;
	struct mix_types types;
	int64_t *cpus; /* what typical jobs with GPUs want, ascending, each once */
	size_t cpu_count;
	uint16_t step[WHOLE_MILLI + 1]; /* how many of the different typical shares are no larger */
	size_t step_count;              /* of different shares */
	/* by type, by how many of `cpus` are there: shares by step, whole jobs by GPUs */
	double *sums;
	size_t row_length;
};

static int compare_cpus(const void *a_any, const void *b_any)
{
	int64_t a = *(const int64_t *)a_any, b = *(const int64_t *)b_any;

	return a < b ? -1 : a > b;
}

/* The different amounts of CPU and the different shares. */
static int find_steps(struct fgd_state *state, const struct strata_mix *mix)
{
	bool shared[WHOLE_MILLI + 1] = { 0 };
	size_t count = 0, kept = 0;

	state->cpus = strata_arena_array(&state->arena, mix->count, sizeof(*state->cpus));
	if (!state->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < mix->count; i++) {
		const struct strata_need *need = &mix->needs[i];

		if (!mix_wants_gpu(need))
			continue;
		state->cpus[count++] = need->cpu_milli;
		shared[need->gpu_milli] = true;
	}
	qsort(state->cpus, count, sizeof(*state->cpus), compare_cpus);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || state->cpus[kept - 1] != state->cpus[i])
			state->cpus[kept++] = state->cpus[i];
	state->cpu_count = kept;
	for (size_t milli = 1; milli <= WHOLE_MILLI; milli++) {
		state->step_count += shared[milli];
		state->step[milli] = (uint16_t)state->step_count;
	}
	return 0;
}

static double *sums_of(const struct fgd_state *state, size_t type, size_t cpus)
{
	return state->sums + (type * (state->cpu_count + 1) + cpus) * state->row_length;
}

/* Adds a typical job to every sum that it is part of. */
static void add_need(struct fgd_state *state, size_t type, const struct strata_need *need,
		     double part)
{
	for (size_t cpus = 1; cpus <= state->cpu_count; cpus++) {
		double *sums = sums_of(state, type, cpus);

		if (state->cpus[cpus - 1] < need->cpu_milli)
			continue;
		if (need->gpu_milli)
			for (size_t step = state->step[need->gpu_milli]; step <= state->step_count;
			     step++)
				sums[step] += part;
		else
			for (size_t gpus = need->gpus; gpus < WHOLE_COUNTS; gpus++)
				sums[state->step_count + 1 + gpus] += part;
	}
}

static int compile(struct fgd_state *state, const struct strata_mix *mix)
{
	if (mix_types_init(&state->types, mix, &state->arena) || find_steps(state, mix))
		return -ENOMEM;
	state->row_length = state->step_count + 1 + WHOLE_COUNTS;
	state->sums = strata_arena_array(&state->arena, state->types.count * (state->cpu_count + 1),
					 state->row_length * sizeof(double));
	if (!state->sums)
		return -ENOMEM;
	for (size_t type = 0; type < state->types.count; type++)
		for (size_t i = 0; i < mix->count; i++)
			if (mix_wants_gpu(&mix->needs[i]) &&
			    mix_types_take(&state->types, type, mix_gpu_types(mix, i)))
				add_need(state, type, &mix->needs[i], mix->parts[i]);
	return 0;
}

static void fgd_close(void *state_any)
{
	struct fgd_state *state = state_any;

	if (!state)
		return;
	strata_arena_fini(&state->arena);
	strata_memory_put(state->memory, state, sizeof(*state));
}

static int fgd_open(const void *conf, const struct strata_mix *mix, struct strata_memory *memory,
		    void **ret_state, struct strata_error *err)
{
	struct fgd_state *state;

	(void)conf;
	if (!mix || mix->count == 0) {
		*ret_state = NULL;
		return 0;
	}
	state = strata_memory_get(memory, sizeof(*state));
	if (!state)
		return strata_fail_memory(err);
	state->memory = memory;
	strata_arena_init(&state->arena, memory, 0);
	if (compile(state, mix)) {
		fgd_close(state);
		return strata_fail_memory(err);
	}
	*ret_state = state;
	return 0;
}

/* The sums for a node of this type that has so much CPU. */
static const double *sums_for(const struct fgd_state *state, size_t type, int64_t cpu_milli)
{
	size_t low = 0, high = state->cpu_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (state->cpus[middle] <= cpu_milli)
			low = middle + 1;
		else
			high = middle;
	}
	return sums_of(state, type, low);
}

static double usable_shares(const struct fgd_state *state, const double *sums, uint32_t left)
{
	return left * sums[state->step[left]];
}

static double usable_whole(const struct fgd_state *state, const double *sums, uint32_t whole)
{
	return (double)WHOLE_MILLI * whole * sums[state->step_count + 1 + whole];
}

/* -floor(100 x sigmoid(-rise / 1000)): smaller is better. */
static double mark(double rise)
{
	return -floor(100 / (1 + real_exp2(rise / 1000 * 1.4426950408889634)));
}

static double fgd_score(const void *conf, void *state_any, const struct strata_candidate *node,
			const struct strata_need *need, uint32_t *ret_gpu)
{
	const struct fgd_state *state = state_any;
	const uint16_t *left = node->room->gpu_milli;
	uint32_t whole = 0;
	double before = 0, after = 0, best = INFINITY;

	(void)conf;
	if (!state)
		return strata_placement_best_fit.score(NULL, NULL, node, need, ret_gpu);
	size_t type = mix_types_find(&state->types, node->gpu_type);
	const double *sums = sums_for(state, type, node->room->cpu_milli),
		     *later = sums_for(state, type, node->room->cpu_milli - need->cpu_milli);

	for (uint32_t i = 0; i < node->gpu_count; i++) {
		before += usable_shares(state, sums, left[i]);
		after += usable_shares(state, later, left[i]);
		whole += left[i] == WHOLE_MILLI;
	}
	before += usable_whole(state, sums, whole);
	if (!need->gpu_milli) {
		after -= need->gpus * usable_shares(state, later, WHOLE_MILLI);
		after += usable_whole(state, later, whole - need->gpus);
		return mark(before - after - (double)need->gpus * WHOLE_MILLI);
	}
	for (uint32_t i = 0; i < node->gpu_count; i++) {
		if (left[i] < need->gpu_milli)
			continue;
		double usable = after - usable_shares(state, later, left[i]) +
				usable_shares(state, later, left[i] - need->gpu_milli) +
				usable_whole(state, later, whole - (left[i] == WHOLE_MILLI));
		double score = mark(before - usable - need->gpu_milli);

		if (score < best) {
			best = score;
			*ret_gpu = i;
		}
	}
	return best;
}

const struct strata_placement_class strata_placement_fgd = {
	.base = {
		.name = "fgd",
		.aliases = "fragmentation",
		.summary = "the node where typical jobs lose the least room (FGD)",
	},
	.keeps_together = true,
	.open = fgd_open,
	.close = fgd_close,
	.score = fgd_score,
};
