/*
 * What one placement costs: CPU time in µs from the submission of a job to the decision where it starts, on a cluster of 8-GPU nodes
 * that are loaded at random to about three quarters, so that hardly two of them are alike. Before each placement a random
 * job ends. Jobs ask for one of so many different things; "new" means that nobody ever asked for the same, "16 nodes" is a job
 * of 16 tasks on as many nodes. Mean of STEPS.
 *
 *	bench_place [name]	only the placements that contain the name
 */
#include "random.h"

#include <strata/cluster.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 2000, NEED_COUNT = 512, NODE_GPUS = 8, JOBS_MAX = 200000, WIDE = 16 };
static const uint32_t node_counts[] = { 1213, 12500 };
static const uint32_t varieties[] = { 1, 64, NEED_COUNT, 0 }; /* 0: new ones */

static struct bench {
	struct strata_memory memory;
	struct strata_arena arena; /* of one pass */
	struct strata_cluster *cluster;
	struct strata_need needs[NEED_COUNT];
	double parts[NEED_COUNT];
	struct strata_mix mix;
	uint64_t *running;
	size_t running_count;
	uint64_t last_id;
	uint64_t seed;
} bench;

static void must(int rc, const struct strata_error *err)
{
	if (rc < 0) {
		fprintf(stderr, "bench_place: %s\n", err->text);
		exit(1);
	}
}

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static struct strata_need random_need(int64_t cpu_step)
{
	static const uint32_t gpus[] = { 0, 0, 0, 1, 1, 1, 1, 2, 4, 8 };
	struct strata_need need = { .gpus = gpus[random_below(&bench.seed, 10)] };
	uint64_t count = need.gpus ? need.gpus : 1;

	if (!need.gpus)
		need.gpu_milli = 50 * (uint32_t)(1 + random_below(&bench.seed, 18));
	need.cpu_milli = (int64_t)(count * (2000 + random_below(&bench.seed, 9000))) / cpu_step *
			 cpu_step;
	need.memory_bytes = (int64_t)(count * (1 + random_below(&bench.seed, 48))) << 30;
	return need;
}

/* Submits a job and lets the cluster decide; returns the time that took. */
static double place(const struct strata_need *need, uint32_t nodes)
{
	struct strata_error err = { 0 };
	struct strata_job_request request = {
		.id = ++bench.last_id,
		.user = "somebody",
		.tasks = nodes,
		.nodes = nodes,
		.cpu_milli = need->cpu_milli,
		.memory_bytes = need->memory_bytes,
		.gpus = need->gpus,
		.gpu_milli = need->gpu_milli,
		.time_limit_ns = 1,
	};
	const struct strata_effect *effects;
	size_t count;
	double start = cpu_ns();

	must(strata_cluster_submit(bench.cluster, &request, 0, &err), &err);
	must(strata_cluster_pass(bench.cluster, 0, &bench.arena, &effects, &count, &err), &err);
	double time = cpu_ns() - start;

	strata_arena_reset(&bench.arena);
	if (count) {
		bench.running[bench.running_count++] = request.id;
	} else {
		must(strata_cluster_cancel(bench.cluster, request.id, 0, &err), &err);
		must(strata_cluster_forget(bench.cluster, request.id, &err), &err);
	}
	return time;
}

static void end_one(void)
{
	struct strata_error err = { 0 };
	size_t i = random_below(&bench.seed, bench.running_count);
	uint64_t id = bench.running[i];

	bench.running[i] = bench.running[--bench.running_count];
	must(strata_cluster_ended(bench.cluster, id, STRATA_OUTCOME_COMPLETED, 0, &err), &err);
	must(strata_cluster_forget(bench.cluster, id, &err), &err);
}

static double part_free(void)
{
	struct strata_cluster_metrics metrics;

	strata_cluster_metrics(bench.cluster, &metrics);
	return (double)metrics.gpu_milli_free / (double)metrics.gpu_milli;
}

/* An unevenly loaded cluster: filled, then thinned out. */
static void make_cluster(const struct strata_spec *placement, const struct strata_spec *backfill,
			 uint32_t node_count)
{
	struct strata_cluster_conf conf = { .placement = *placement,
					    .backfill = *backfill,
					    .mix = &bench.mix };
	struct strata_error err = { 0 };
	char name[32];

	must(strata_cluster_new(&conf, &bench.memory, &bench.cluster, &err), &err);
	for (uint32_t i = 0; i < node_count; i++) {
		struct strata_node_conf node = {
			.name = name,
			.cpu_milli = 96000,
			.memory_bytes = INT64_C(512) << 30,
			.gpu_count = NODE_GPUS,
			.gpu_type = "a100",
			.numa = { 0, 0, 0, 0, 1, 1, 1, 1 },
		};

		snprintf(name, sizeof(name), "n%u", i);
		must(strata_cluster_add_node(bench.cluster, &node, NULL, &err), &err);
	}
	bench.running_count = 0;
	while (part_free() > 0.1)
		place(&bench.needs[random_below(&bench.seed, NEED_COUNT)], 1);
	while (part_free() < 0.25)
		end_one();
}

static double measure(uint32_t variety)
{
	double total = 0;

	for (uint32_t i = 0; i < 3 * variety + STEPS; i++) {
		struct strata_need need = variety ? bench.needs[random_below(&bench.seed, variety)]
						  : random_need(1);

		end_one();
		double time = place(&need, 1);

		total += i < 3 * variety ? 0 : time;
	}
	return total / STEPS / 1000;
}

static double measure_wide(void)
{
	struct strata_need need = { .cpu_milli = 4000, .gpus = 1 };
	double total = 0;

	for (uint32_t i = 0; i < STEPS / WIDE; i++) {
		for (int ends = 0; ends < WIDE; ends++)
			end_one();
		total += place(&need, WIDE);
	}
	return total / (STEPS / WIDE) / 1000;
}

static void run_class(const struct strata_spec *placement, const struct strata_spec *backfill)
{
	printf("%-12s", placement->cls->name);
	for (size_t size = 0; size < sizeof(node_counts) / sizeof(node_counts[0]); size++) {
		make_cluster(placement, backfill, node_counts[size]);
		for (size_t i = 0; i < sizeof(varieties) / sizeof(varieties[0]); i++) {
			printf(" %8.1f", measure(varieties[i]));
			fflush(stdout);
		}
		printf(" %8.1f", measure_wide());
		strata_cluster_free(bench.cluster);
	}
	putchar('\n');
}

static void read_spec(const struct strata_kind *kind, const char *text, struct strata_arena *arena,
		      struct strata_registry **ret_registry, struct strata_spec *ret_spec)
{
	struct strata_error err = { 0 };

	must(strata_registry_new(kind, &bench.memory, ret_registry, &err), &err);
	must(strata_spec_read(*ret_registry, text, strlen(text), arena, ret_spec, &err), &err);
}

int main(int argc, char **argv)
{
	struct strata_arena specs;
	struct strata_registry *backfills, *placements;
	struct strata_spec backfill, placement;

	strata_arena_init(&specs, &bench.memory, 0);
	strata_arena_init(&bench.arena, &bench.memory, 0);
	bench.running = calloc(JOBS_MAX, sizeof(*bench.running));
	for (int i = 0; i < NEED_COUNT; i++) {
		bench.needs[i] = random_need(500);
		bench.parts[i] = 1.0 / NEED_COUNT;
	}
	bench.mix = (struct strata_mix){ bench.needs, NULL, bench.parts, NEED_COUNT };
	read_spec(&strata_backfill_kind, "none", &specs, &backfills, &backfill);
	printf("%-12s %44s %44s\n%-12s", "us", "1,213 nodes", "12,500 nodes", "needs");
	for (int i = 0; i < 2; i++)
		printf(" %8u %8u %8u %8s %8s", varieties[0], varieties[1], varieties[2], "new",
		       "16 nodes");
	putchar('\n');
	for (const struct strata_class *const *at = strata_placement_kind.classes; *at; at++) {
		if (argc > 1 && !strstr((*at)->name, argv[1]))
			continue;
		read_spec(&strata_placement_kind, (*at)->name, &specs, &placements, &placement);
		run_class(&placement, &backfill);
		strata_registry_free(placements);
	}
	strata_registry_free(backfills);
	strata_arena_fini(&bench.arena);
	strata_arena_fini(&specs);
	free(bench.running);
	return 0;
}
