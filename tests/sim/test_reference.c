/*
 * Recorded months of real clusters against the schedules and figures of other simulators (traces/README.md of the reference data).
 * FCFS has no freedom: every start must be equal. EASY depends on how events of one second are ordered, so there the
 * means must lie within the bounds that reference states.
 */
#include "test.h"

#include "core/env.h"
#include "formats/starts.h"
#include "sim/input.h"
#include "sim/metrics.h"
#include "sim/replay.h"

#include <strata/limits.h>

#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static void begin(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
}

static const char *read_file(const char *format, const char *name, size_t *ret_length)
{
	char path[256];
	const char *text;

	snprintf(path, sizeof(path), format, name);
	CHECK_OK(input_read(env_system(), test_shared_file(path), STRATA_INPUT_BYTES_MAX, &arena,
			    &text, ret_length, &err));
	return text;
}

static struct strata_spec spec(const struct strata_kind *kind, const char *text)
{
	struct strata_registry *registry;
	struct strata_spec found;

	CHECK_OK(strata_registry_new(kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, text, strlen(text), &arena, &found, &err));
	strata_registry_free(registry);
	return found;
}

struct run {
	struct strata_swf_arrival *arrivals;
	size_t count;
	struct replay_result result;
	struct metrics metrics;
};

static struct run run(const char *trace, int64_t procs, const char *backfill,
		      const char *prediction)
{
	struct strata_node_conf pool = { .name = "pool" };
	struct machine machine = { &pool, 1, .flat = true };
	struct strata_swf swf;
	struct run run;
	size_t length;
	const char *text = read_file("traces/%s.swf.gz", trace, &length);

	CHECK_OK(strata_swf_read(text, length, &arena, &swf, &err));
	CHECK_OK(strata_swf_load(&swf, STRATA_SWF_PLAIN, &arena, &run.arrivals, &run.count, NULL,
				 &err));
	machine.capacity = procs ? procs : strata_swf_procs(&swf);
	pool.cpu_milli = machine.capacity * 1000;
	struct replay_conf conf = {
		.machine = &machine,
		.arrivals = run.arrivals,
		.arrival_count = run.count,
		.cluster = { .backfill = spec(&strata_backfill_kind, backfill),
			     .prediction = spec(&strata_prediction_kind, prediction) },
	};

	CHECK_OK(replay_run(&conf, &arena, &run.result, &err));
	CHECK_OK(metrics_measure(run.result.jobs, run.count, machine.capacity, &arena, &run.metrics,
				 &err));
	return run;
}

static void same_starts(const char *trace, const char *starts_file, int64_t procs,
			const char *backfill, const char *column)
{
	begin();
	struct run mine = run(trace, procs, backfill, "requested");
	struct starts_row *rows;
	size_t length, count, differ = 0;
	const char *text = read_file("traces/%s.starts.csv.gz", starts_file, &length);

	CHECK_OK(starts_read(text, length, column, &arena, &rows, &count, &err));
	CHECK_INT(count, mine.count);
	for (size_t i = 0; i < mine.count; i++) {
		CHECK_INT(rows[i].number, mine.arrivals[i].number);
		differ += rows[i].start_ns != mine.result.jobs[i].start_ns;
	}
	CHECK_INT(differ, 0);
	strata_arena_fini(&arena);
}

TEST(fcfs_on_kth_sp2_starts_every_job_when_the_reference_does)
{
	same_starts("kth_sp2", "kth_sp2", 0, "none", "start_fcfs");
}
TEST(fcfs_on_sdsc_sp2_starts_every_job_when_the_reference_does)
{
	same_starts("sdsc_sp2", "sdsc_sp2", 0, "none", "start_fcfs");
}
TEST(fcfs_on_sdsc_blue_starts_every_job_when_the_reference_does)
{
	same_starts("sdsc_blue", "sdsc_blue", 0, "none", "start_fcfs");
}
TEST(fcfs_on_philly_starts_every_job_when_the_reference_does)
{
	same_starts("philly", "philly512", 512, "none", "start_fcfs");
}
TEST(easy_on_philly_starts_every_job_when_the_reference_does)
{
	same_starts("philly", "philly512", 512, "easy", "start_easy");
}

static void near(const char *trace, const char *backfill, double wait_s, double slowdown,
		 double part)
{
	begin();
	struct run mine = run(trace, 0, backfill, "requested");

	CHECK_NEAR(mine.metrics.mean_wait_s, wait_s, wait_s * part);
	CHECK_NEAR(mine.metrics.avg_bsld, slowdown, slowdown * part);
	strata_arena_fini(&arena);
}

TEST(easy_is_as_good_as_the_reference)
{
	near("kth_sp2", "easy", 6836.872, 92.5765, 0.01);
	near("sdsc_sp2", "easy", 20497.761, 87.8703, 0.01);
	near("sdsc_blue", "easy", 7690.844, 36.5234, 0.03);
}

TEST(shortest_first_is_as_good_as_the_reference)
{
	near("kth_sp2", "easy_sjbf", 5904.077, 69.4054, 0.01);
	near("sdsc_sp2", "easy_sjbf", 20793.595, 84.8889, 0.03);
	near("sdsc_blue", "easy_sjbf", 5821.751, 19.8260, 0.02);
}

static void at_most(const char *trace, double slowdown)
{
	begin();
	struct run mine = run(trace, 0, "easy_sjbf", "learned");

	CHECK_NEAR(mine.metrics.avg_bsld, slowdown / 2, slowdown / 2);
	strata_arena_fini(&arena);
}

/* The best published predictions reach 45.8, 65.0 and 10.6, each with the settings that suit that trace best; here they are one. */
TEST(learned_run_times_make_waits_shorter)
{
	at_most("kth_sp2", 64);
	at_most("sdsc_sp2", 67);
	at_most("sdsc_blue", 17.2);
}

TEST(conservative_is_as_good_as_the_reference)
{
	near("kth_sp2", "conservative", 7310.551, 88.9973, 0.002);
	near("sdsc_sp2", "conservative", 21889.302, 89.6563, 0.01);
}
