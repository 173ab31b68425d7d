/*
 * The cluster level at scale: operations on the queue, decisions, passes over a full cluster. CPU time of this process, decisions only: no
 * network, no disk. Beside our figures stand the targets and what others need for the same step; theirs is either measured
 * (Slurm 22.05.8 with 64 emulated nodes of 64 CPUs and 8 GPUs, on a machine like this) or their own claim, and mostly holds more
 * than the decision, so a ratio says how much room there is, not who is better.
 *
 *   bench_cluster [NODES PENDING]	another size than 12,500 nodes with 100,000 jobs, and it alone
 */
#include "core/env.h"

#include <strata/cluster.h>
#include <strata/rng.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { GPUS = 8, LOTS = 2000, EVENTS = 1000 };

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct strata_error err;

static void check(int rc)
{
	if (rc) {
		fprintf(stderr, "bench_cluster: %s\n", err.text);
		exit(1);
	}
}

/* A cluster, and what runs on it. */
struct bench {
	struct strata_memory memory;
	struct strata_arena arena;
	struct strata_cluster *cluster;
	struct strata_rng rng;
	uint64_t next_id;
	uint64_t *running;
	size_t running_count;
	int64_t now_ns;
};

/* ---- what is measured ---- */

/* LOTS kinds of jobs of a hundred users, so that what a call costs is not that of writing its argument. */
static struct strata_job_request kinds[LOTS];
static char users[100][8];

static void make_kinds(void)
{
	static const uint32_t sizes[] = { 1, 1, 1, 1, 2, 2, 4, 8 };

	for (size_t i = 0; i < 100; i++)
		snprintf(users[i], sizeof(users[i]), "u%zu", i);
	for (size_t i = 0; i < LOTS; i++)
		kinds[i] = (struct strata_job_request){
			.user = users[i % 100],
			.band = STRATA_BAND_NORMAL,
			.tasks = 1,
			.cpu_milli = 1000 + (int64_t)(i % 5) * 1000,
			.gpus = sizes[i % 8],
			.time_limit_ns = (int64_t)(600 + i * 7) * 1000000000,
		};
}

static void submit(struct bench *bench, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct strata_job_request *job = &kinds[strata_rng_below(&bench->rng, LOTS)];

		job->id = bench->next_id++;
		check(strata_cluster_submit(bench->cluster, job, bench->now_ns, &err));
	}
}

/* A pass, and the report that what it started has started; returns what both took. */
static double pass(struct bench *bench, size_t *ret_started)
{
	const struct strata_effect *effects;
	double start = cpu_s();

	check(strata_cluster_pass(bench->cluster, bench->now_ns, &bench->arena, &effects,
				  ret_started, &err));
	for (size_t i = 0; i < *ret_started; i++) {
		check(strata_cluster_started(bench->cluster, effects[i].job, bench->now_ns, &err));
		bench->running[bench->running_count++] = effects[i].job;
	}
	double took = cpu_s() - start;

	strata_arena_reset(&bench->arena);
	return took;
}

static void end_one(struct bench *bench)
{
	size_t index = (size_t)strata_rng_below(&bench->rng, bench->running_count);
	uint64_t id = bench->running[index];

	bench->running[index] = bench->running[--bench->running_count];
	check(strata_cluster_ended(bench->cluster, id, STRATA_OUTCOME_COMPLETED, bench->now_ns,
				   &err));
	check(strata_cluster_forget(bench->cluster, id, &err));
}

static void bench_init(struct bench *bench, size_t node_count, int64_t cpu_milli)
{
	struct strata_cluster_conf conf = { 0 };

	*bench = (struct bench){ .next_id = 1 };
	bench->running = calloc(node_count * GPUS, sizeof(*bench->running));
	assert(bench->running);
	strata_arena_init(&bench->arena, &bench->memory, 0);
	strata_rng_init(&bench->rng, 1, 0);
	check(strata_cluster_new(&conf, &bench->memory, &bench->cluster, &err));
	for (size_t i = 0; i < node_count; i++) {
		char name[24];

		snprintf(name, sizeof(name), "n%zu", i);
		check(strata_cluster_add_node(bench->cluster,
					      &(struct strata_node_conf){ .name = name,
									  .cpu_milli = cpu_milli,
									  .gpu_count = GPUS,
									  .gpu_type = "a100" },
					      NULL, &err));
	}
}

static void bench_fini(struct bench *bench)
{
	strata_cluster_free(bench->cluster);
	strata_arena_fini(&bench->arena);
	free(bench->running);
}

/* ---- figures ---- */

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* The value that a part of them do not exceed; sorts them. */
static double rank(double *values, size_t count, double part)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(size_t)((double)(count - 1) * part)];
}

/* A time as people read it. */
static const char *form(double us, char text[32])
{
	static const struct {
		double from, unit;
		const char *name;
	} units[] = { { 1e6, 1e6, "s" }, { 1e3, 1e3, "ms" }, { 0, 1, "us" } };
	size_t i = 0;

	while (us < units[i].from)
		i++;
	snprintf(text, 32, "%.3g %s", us / units[i].unit, units[i].name);
	return text;
}

/* One line: ours, the target (0: none), and somebody else's (NULL: nobody's), all in microseconds. */
static void show(const char *what, double us, double target_us, const char *other, double other_us)
{
	char ours[32], target[32], theirs[32];

	printf("  %-34s %8s", what, form(us, ours));
	if (target_us > 0)
		printf("  %s %-6s", us < target_us ? "<" : "NOT <", form(target_us, target));
	else
		printf("  %8s", "");
	if (other)
		printf("  %s: %s, %.*fx", other, form(other_us, theirs), other_us < 100 * us,
		       other_us / us);
	printf("\n");
}

/* ---- parts ---- */

/* What one operation on a long queue costs, in seconds. */
struct operations {
	double submit, hold, cancel;
	size_t bytes; /* of one job */
};

static struct operations queue_round(size_t count)
{
	struct operations operations;
	struct bench bench;
	size_t started, base;
	double start;

	bench_init(&bench, 8, 64000);
	submit(&bench, 64);
	pass(&bench, &started); /* full: the rest waits */
	base = bench.memory.used_bytes;
	start = cpu_s();
	submit(&bench, count);
	operations.submit = (cpu_s() - start) / (double)count;
	operations.bytes = (bench.memory.used_bytes - base) / count;
	pass(&bench, &started);
	uint64_t first = bench.next_id - count;

	start = cpu_s();
	for (size_t i = 0; i < count; i += 2)
		check(strata_cluster_hold(bench.cluster, first + i, true, bench.now_ns, &err));
	operations.hold = (cpu_s() - start) / ((double)count / 2);
	start = cpu_s();
	for (size_t i = 0; i < count; i++) { /* far apart, as people do */
		uint64_t id = first + i * 7919 % count;

		check(strata_cluster_cancel(bench.cluster, id, bench.now_ns, &err));
		check(strata_cluster_forget(bench.cluster, id, &err));
	}
	operations.cancel = (cpu_s() - start) / (double)count;
	bench_fini(&bench);
	return operations;
}

/* As many jobs wait as a service sees on its worst day; medians of a few rounds. */
static void queue_operations(size_t count)
{
	enum { ROUNDS = 7 };
	double submits[ROUNDS], holds[ROUNDS], cancels[ROUNDS];
	size_t bytes = 0;

	for (size_t i = 0; i < ROUNDS; i++) {
		struct operations operations = queue_round(count);

		submits[i] = operations.submit;
		holds[i] = operations.hold;
		cancels[i] = operations.cancel;
		bytes = operations.bytes;
	}
	printf("queue with %zu pending jobs of %d kinds, %zu bytes each\n", count, LOTS, bytes);
	show("submit", rank(submits, ROUNDS, 0.5) * 1e6, 1, "Slurm's C API, 4 clients", 1e6 / 787);
	show("hold by id", rank(holds, ROUNDS, 0.5) * 1e6, 1, NULL, 0);
	show("cancel by id, and forget", rank(cancels, ROUNDS, 0.5) * 1e6, 1,
	     "Slurm, of 10,003 pending", 4.98e6 / 10003);
}

/* One job comes to a cluster that has room: how long until it runs? */
static void decisions(size_t node_count)
{
	static double took[EVENTS];
	struct bench bench;
	size_t started;

	bench_init(&bench, node_count, 128000);
	submit(&bench, node_count * 2);
	pass(&bench, &started);
	for (size_t i = 0; i < EVENTS; i++) {
		bench.now_ns += 1000000000;
		end_one(&bench);
		pass(&bench, &started);
		double start = cpu_s();

		submit(&bench, 1);
		pass(&bench, &started);
		took[i] = cpu_s() - start;
	}
	printf("one decision (submit, pass, start) on %zu nodes x %d GPUs\n", node_count, GPUS);
	show("median", rank(took, EVENTS, 0.5) * 1e6, 200, "Slurm, delays set to 0", 774e3);
	show("99 %", rank(took, EVENTS, 0.99) * 1e6, 200, NULL, 0);
	bench_fini(&bench);
}

/* The queue Slurm was measured with. */
static void like_slurm(void)
{
	struct bench bench;
	size_t started;

	bench_init(&bench, 64, 64000);
	submit(&bench, 400); /* fills it */
	pass(&bench, &started);
	submit(&bench, 10000);
	end_one(&bench);
	printf("64 nodes x %d GPUs, 10,000 pending\n", GPUS);
	double took = pass(&bench, &started);

	show("full pass with backfill of all", took * 1e6, 0, "Slurm's backfill at full depth",
	     23.6e6);
	show("", took * 1e6, 0, "Slurm's main pass", 25e3);
	bench_fini(&bench);
}

/* Small jobs without GPUs, all at once, and all of them start. */
static void from_nothing(size_t node_count, uint64_t job_count)
{
	const struct strata_effect *effects;
	struct bench bench;
	size_t started;

	bench_init(&bench, node_count, 128000);
	double took = cpu_s();

	for (uint64_t i = 0; i < job_count; i++) {
		struct strata_job_request job = { .id = i + 1,
						  .user = users[i % 100],
						  .band = STRATA_BAND_NORMAL,
						  .tasks = 1,
						  .cpu_milli = 1000 + (int64_t)(i % 3) * 500,
						  .time_limit_ns = (int64_t)(i % 20 + 1) << 40 };

		check(strata_cluster_submit(bench.cluster, &job, bench.now_ns, &err));
	}
	check(strata_cluster_pass(bench.cluster, 0, &bench.arena, &effects, &started, &err));
	took = cpu_s() - took;
	printf("%zu of %zu small jobs start at once on %zu empty nodes\n", started,
	       (size_t)job_count, node_count);
	show("all", took * 1e6, 0, "Armada's claim (64,000 on 1,000)", 0.69e6);
	show("each", took / (double)started * 1e6, 0, "CraneSched's claim (10,593 jobs/s)",
	     1e6 / 10593);
	bench_fini(&bench);
}

static void at_scale(size_t node_count, size_t pending)
{
	static double took[EVENTS];
	struct strata_cluster_metrics metrics;
	struct bench bench;
	size_t started;

	bench_init(&bench, node_count, 128000);
	size_t nodes_bytes = bench.memory.used_bytes;

	submit(&bench, node_count * 36 / 10); /* fills the cluster */
	double first = pass(&bench, &started);

	printf("%zu nodes x %d GPUs, %.1f MB\n", node_count, GPUS, (double)nodes_bytes / 1e6);
	show("one placement of many", first / (double)started * 1e6, 50,
	     "kube-scheduler (300 pods/s)", 1e6 / 300);
	submit(&bench, pending);
	strata_cluster_metrics(bench.cluster, &metrics);
	end_one(&bench);
	printf("  with %zu pending in %zu lots and %zu running, %.1f MB\n",
	       metrics.jobs[STRATA_JOB_QUEUED], metrics.job_groups, bench.running_count,
	       (double)bench.memory.used_bytes / 1e6);
	show("full pass", pass(&bench, &started) * 1e6, 100e3, "Firmament's claim (\"sub-second\")",
	     1e6);
	for (size_t i = 0; i < EVENTS; i++) {
		bench.now_ns += 1000000000;
		end_one(&bench);
		took[i] = pass(&bench, &started);
	}
	show("pass after one end, median", rank(took, EVENTS, 0.5) * 1e6, 1e3, NULL, 0);
	show("pass after one end, 99 %", rank(took, EVENTS, 0.99) * 1e6, 1e3, NULL, 0);
	for (size_t i = 0; i < EVENTS; i++) {
		submit(&bench, 1);
		took[i] = pass(&bench, &started);
	}
	show("pass after one submission, median", rank(took, EVENTS, 0.5) * 1e6, 1e3, NULL, 0);
	bench_fini(&bench);
}

int main(int argc, char *argv[])
{
	make_kinds();
	if (argc == 3) {
		at_scale((size_t)atol(argv[1]), (size_t)atol(argv[2]));
		return 0;
	}
	queue_operations(100000);
	decisions(100);
	like_slurm();
	from_nothing(1000, 64000);
	at_scale(12500, 100000);
	return 0;
}
