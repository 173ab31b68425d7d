/*
 * What surrounds a simulation, on a made-up log of 300,000 jobs: CPU time in ms, median of ROUNDS
 * runs, and what that is of one pass over the same bytes with memchr, which no reader can beat.
 */
#include "formats/swf.h"
#include "sim/metrics.h"
#include "sim/replay.h"
#include "sim/series.h"
#include "plot/svg.h"
#include "sim/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, JOBS = 300000 };

static struct strata_memory memory;
static struct strata_arena kept, scratch; /* what all rows read; what one run needs */
static struct strata_error err;
static struct strata_swf swf;
static const char *text;
static size_t length, sink;
static struct metrics_job *jobs;
static struct strata_swf_arrival *arrivals;
static struct machine machine;

static void must(int rc)
{
	if (rc < 0) {
		fprintf(stderr, "bench_traces: %s\n", err.text);
		exit(1);
	}
}

static void make(const char *model, struct strata_arena *arena, struct strata_swf *ret_swf)
{
	struct strata_registry *registry;
	struct strata_spec spec;

	must(strata_registry_new(&workload_kind, &memory, &registry, &err));
	must(strata_spec_read(registry, model, strlen(model), arena, &spec, &err));
	must(workload_make(&spec, JOBS, 1, arena, ret_swf, &err));
	strata_registry_free(registry);
}

static void scan(void)
{
	for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + length - at))); at++)
		sink++;
}

static void make_lublin(void)
{
	struct strata_swf made;

	make("lublin", &scratch, &made);
}

static void make_gpu(void)
{
	struct strata_swf made;

	make("gpu", &scratch, &made);
}

static void write_log(void)
{
	const char *written;
	size_t bytes;

	must(strata_swf_write(&swf, &scratch, &written, &bytes, &err));
}

static void read_log(void)
{
	struct strata_swf back;

	must(strata_swf_read(text, length, &scratch, &back, &err));
}

static void load_log(void)
{
	struct strata_swf_arrival *loaded;
	size_t count;

	must(strata_swf_load(&swf, STRATA_SWF_PLAIN, &scratch, &loaded, &count, NULL, &err));
}

static void measure_schedule(void)
{
	struct metrics metrics;

	must(metrics_measure(jobs, JOBS, 128, &scratch, &metrics, &err));
}

static void plot_schedule(void)
{
	struct series series;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	must(series_make(jobs, JOBS, SERIES_WAITING, &scratch, &series, &err));
	struct svg_series curve = { "waiting", series.x, series.y, series.count };
	struct svg_lines lines = { .series = &curve, .series_count = 1 };

	must(svg_add_page(&buf, (struct svg_panel[]){ { .lines = &lines } }, 1, &scratch, &err));
	buf_fini(&buf);
}

static void replay(struct gantt *gantt)
{
	struct replay_conf conf = {
		.machine = &machine, .arrivals = arrivals, .arrival_count = JOBS, .gantt = gantt
	};
	struct replay_result result;

	must(replay_run(&conf, &scratch, &result, &err));
	sink += result.passes;
}

static void replay_plain(void)
{
	replay(NULL);
}

static int drop(void *context, const char *bytes, size_t count)
{
	(void)context, (void)bytes;
	sink += count;
	return 0;
}

static void replay_drawn(void)
{
	struct strata_trace_sink nowhere = { drop, NULL };
	struct gantt *gantt;

	must(gantt_open(&memory, &machine, &nowhere, &gantt, &err));
	replay(gantt);
	must(gantt_close(gantt, &err));
}

static const struct row {
	const char *name;
	void (*run)(void);
} rows[] = {
	{ "memchr over the log", scan },
	{ "read", read_log },
	{ "load", load_log },
	{ "write", write_log },
	{ "measure a schedule", measure_schedule },
	{ "plot its queue", plot_schedule },
	{ "replay, easy", replay_plain },
	{ "replay, with a timeline", replay_drawn },
	{ "make (lublin)", make_lublin },
	{ "make (gpu)", make_gpu },
};

static double cpu_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_ms(void (*run)(void))
{
	double times[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double start = cpu_ms();

		run();
		times[i] = cpu_ms() - start;
		strata_arena_fini(&scratch);
	}
	qsort(times, ROUNDS, sizeof(times[0]), by_value);
	return times[ROUNDS / 2];
}

/* A schedule of the log as if each job had waited as long as it ran. */
static void prepare(void)
{
	strata_arena_init(&kept, &memory, 0);
	strata_arena_init(&scratch, &memory, 0);
	make("lublin", &kept, &swf);
	must(strata_swf_write(&swf, &kept, &text, &length, &err));
	size_t count;

	must(strata_swf_load(&swf, STRATA_SWF_PLAIN, &kept, &arrivals, &count, NULL, &err));
	must(machine_init_flat(&machine, strata_swf_procs(&swf), &kept, &err));
	jobs = strata_arena_array(&kept, JOBS, sizeof(*jobs));
	must(jobs ? 0 : strata_fail_memory(&err));
	for (size_t i = 0; i < JOBS; i++)
		jobs[i] = (struct metrics_job){
			.submit_ns = swf.jobs[i].submit_s * 1000000000,
			.start_ns = (swf.jobs[i].submit_s + swf.jobs[i].run_s) * 1000000000,
			.run_ns = swf.jobs[i].run_s * 1000000000,
			.procs = swf.jobs[i].procs_requested,
			.user = swf.jobs[i].user,
		};
}

int main(int argc, char **argv)
{
	double least = 0;

	prepare();
	printf("%d jobs, %.1f MB %21s %8s\n", JOBS, (double)length / 1e6, "ms", "ratio");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (i > 0 && argc > 1 && !strstr(rows[i].name, argv[1]))
			continue;
		double ms = median_ms(rows[i].run);

		least = i == 0 ? ms : least;
		printf("%-30s %12.1f %8.1f\n", rows[i].name, ms, ms / least);
		fflush(stdout);
	}
	strata_arena_fini(&kept);
	return sink == 0;
}
