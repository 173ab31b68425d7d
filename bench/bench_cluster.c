/*
 * The cluster level at scale: queue operations, passes over a full cluster, replay of a made-up trace. CPU time of this process. Figures of
 * others stand beside ours where they measured the same thing.
 */
#include "core/env.h"

#include <strata/cluster.h>
#include <strata/rng.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NODES = 12500, GPUS = 8, JOBS = 100000, LOTS = 2000 };

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(int rc, const struct strata_error *err)
{
	if (rc) {
		fprintf(stderr, "bench_cluster: %s\n", err->text);
		exit(1);
	}
}

struct bench {
	struct strata_memory memory;
	struct strata_arena arena;
	struct strata_cluster *cluster;
	struct strata_rng rng;
	struct strata_error err;
	uint64_t next_id;
	uint64_t running[NODES * GPUS];
	size_t running_count;
	int64_t now_ns;
};

static struct strata_job_request request(struct bench *bench, uint64_t lot, char *user)
{
	static const uint32_t sizes[] = { 1, 1, 1, 1, 2, 2, 4, 8 };

	snprintf(user, 32, "u%llu", (unsigned long long)(lot % 100));
	return (struct strata_job_request){
		.id = bench->next_id++,
		.user = user,
		.band = STRATA_BAND_NORMAL,
		.tasks = 1,
		.cpu_milli = 1000 + (int64_t)(lot % 5) * 1000,
		.gpus = sizes[lot % 8],
		.time_limit_ns = (int64_t)(600 + lot * 7) * 1000000000,
	};
}

static double pass(struct bench *bench, size_t *ret_started)
{
	const struct strata_effect *effects;
	double start = cpu_s();

	check(strata_cluster_pass(bench->cluster, bench->now_ns, &bench->arena, &effects,
				  ret_started, &bench->err),
	      &bench->err);
	double took = cpu_s() - start;

	for (size_t i = 0; i < *ret_started; i++) {
		check(strata_cluster_started(bench->cluster, effects[i].job, bench->now_ns,
					     &bench->err),
		      &bench->err);
		bench->running[bench->running_count++] = effects[i].job;
	}
	strata_arena_reset(&bench->arena);
	return took;
}

static void build(struct bench *bench)
{
	struct strata_cluster_conf conf = { 0 };

	strata_arena_init(&bench->arena, &bench->memory, 0);
	strata_rng_init(&bench->rng, 1, 0);
	bench->next_id = 1;
	check(strata_cluster_new(&conf, &bench->memory, &bench->cluster, &bench->err), &bench->err);
	for (int i = 0; i < NODES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		check(strata_cluster_add_node(bench->cluster,
					      &(struct strata_node_conf){ .name = name,
									  .cpu_milli = 128000,
									  .gpu_count = GPUS,
									  .gpu_type = "a100" },
					      NULL, &bench->err),
		      &bench->err);
	}
}

static void submit(struct bench *bench, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char user[32];
		struct strata_job_request job =
			request(bench, strata_rng_below(&bench->rng, LOTS), user);

		check(strata_cluster_submit(bench->cluster, &job, bench->now_ns, &bench->err),
		      &bench->err);
	}
}

static void end_one(struct bench *bench)
{
	size_t index = (size_t)strata_rng_below(&bench->rng, bench->running_count);
	uint64_t id = bench->running[index];

	bench->running[index] = bench->running[--bench->running_count];
	check(strata_cluster_ended(bench->cluster, id, STRATA_OUTCOME_COMPLETED, bench->now_ns,
				   &bench->err),
	      &bench->err);
	check(strata_cluster_forget(bench->cluster, id, &bench->err), &bench->err);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

int main(void)
{
	static struct bench bench;
	enum { EVENTS = 300 };
	double took, passes[EVENTS];
	size_t started, before;
	struct strata_cluster_stats stats;

	build(&bench);
	submit(&bench, 45000); /* fills the cluster */
	took = pass(&bench, &started);
	printf("%d nodes x %d GPUs: %zu jobs placed in the first pass, %.2f us each (target: one "
	       "placement < 50 us)\n",
	       NODES, GPUS, started, took / (double)started * 1e6);
	before = bench.memory.used_bytes;
	took = cpu_s();
	submit(&bench, JOBS);
	took = cpu_s() - took;
	strata_cluster_stats(bench.cluster, &stats);
	printf("submit: %.0f ns per job, %zu bytes per pending job (target < 1 us, < 1 KB)\n",
	       took / JOBS * 1e9, (bench.memory.used_bytes - before) / JOBS);
	end_one(&bench);
	took = pass(&bench, &started);
	printf("full pass, %zu pending in %zu lots: %.2f ms (target < 100 ms; Slurm's main pass at "
	       "10,000 pending: 25 ms, its\n"
	       "  backfill at full depth: 23,600 ms)\n",
	       stats.jobs[STRATA_JOB_QUEUED], stats.lots, took * 1e3);
	for (int i = 0; i < EVENTS; i++) {
		bench.now_ns += 1000000000;
		end_one(&bench);
		passes[i] = pass(&bench, &started);
	}
	qsort(passes, EVENTS, sizeof(*passes), compare);
	printf("pass after one event: median %.3f ms, p99 %.3f ms (target < 1 ms)\n",
	       passes[EVENTS / 2] * 1e3, passes[EVENTS * 99 / 100] * 1e3);
	for (int i = 0; i < EVENTS; i++) {
		submit(&bench, 1);
		passes[i] = pass(&bench, &started);
	}
	qsort(passes, EVENTS, sizeof(*passes), compare);
	printf("pass after one submission: median %.1f us\n", passes[EVENTS / 2] * 1e6);
	strata_cluster_free(bench.cluster);
	strata_arena_fini(&bench.arena);
	return 0;
}
