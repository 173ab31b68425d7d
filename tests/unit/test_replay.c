#include "test.h"
#include "trace_text.h"

#include "sim/replay.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

/* submit, run, requested, procs */
static struct strata_swf_arrival arrival(int64_t number, int64_t submit_s, int64_t run_s,
					 int64_t requested_s, int64_t procs)
{
	return (struct strata_swf_arrival){ .number = number,
					    .submit_ns = submit_s * SECOND,
					    .run_ns = run_s * SECOND,
					    .requested_ns = requested_s * SECOND,
					    .procs = procs,
					    .user = number % 2 };
}

static int replay(const struct strata_swf_arrival *arrivals, size_t count,
		  struct replay_result *ret_result)
{
	static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 8000 };
	static const struct machine machine = { &pool, 1, .flat = true, .capacity = 8 };
	struct replay_conf conf = { .machine = &machine,
				    .arrivals = arrivals,
				    .arrival_count = count };

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return replay_run(&conf, &arena, ret_result, &err);
}

/* A long job, and a more urgent one 100 s later that needs its place; grace is 10 s. */
static struct replay_result preempt(const char *victims, int64_t checkpoint_s)
{
	static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 8000 };
	static const struct machine machine = { &pool, 1, .flat = true, .capacity = 8 };
	static const enum strata_band bands[] = { STRATA_BAND_LOW, STRATA_BAND_HIGH };
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 1000, 2000, 8),
						 arrival(2, 100, 50, 50, 4) };
	struct replay_conf conf = { .machine = &machine,
				    .arrivals = arrivals,
				    .arrival_count = 2,
				    .bands = bands,
				    .checkpoint_ns = checkpoint_s * SECOND };
	struct strata_registry *registry;
	struct replay_result result;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(&strata_victims_kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, victims, strlen(victims), &arena, &conf.cluster.victims,
				  &err));
	CHECK_OK(replay_run(&conf, &arena, &result, &err));
	strata_registry_free(registry);
	return result;
}

TEST(who_is_stopped_begins_anew_without_checkpoints)
{
	struct replay_result result = preempt("least_lost:grace=10:protect=0", 0);

	CHECK_INT(result.preemptions, 1);
	CHECK_INT(result.jobs[1].start_ns, 110 * SECOND); /* after the grace */
	CHECK_INT(result.jobs[0].start_ns, 160 * SECOND); /* and all of its work again */
	CHECK_NEAR(result.lost_hours, 110 * 8 / 3600.0, 1e-9);
	strata_arena_fini(&arena);
}

TEST(who_is_stopped_goes_on_from_its_checkpoint)
{
	struct replay_result result = preempt("least_lost:grace=10:protect=0", 60);

	CHECK_INT(result.jobs[1].start_ns, 110 * SECOND);
	CHECK_INT(result.jobs[0].start_ns, 50 * SECOND); /* 50 s of 1050 were not work */
	CHECK_NEAR(result.lost_hours, 0, 1e-9);
	strata_arena_fini(&arena);
}

TEST(who_is_frozen_goes_on_where_it_was)
{
	struct replay_result result = preempt("least_lost:grace=10:protect=0:mode=suspend", 0);

	CHECK_INT(result.jobs[1].start_ns, 100 * SECOND); /* at once */
	CHECK_INT(result.jobs[0].start_ns, 50 * SECOND);
	CHECK_NEAR(result.lost_hours, 0, 1e-9);
	strata_arena_fini(&arena);
}

TEST(who_is_cancelled_is_left_out)
{
	struct replay_result result = preempt("least_lost:grace=10:protect=0:mode=cancel", 0);

	CHECK_INT(result.cancelled, 1);
	CHECK_INT(result.job_count, 1);
	CHECK_INT(result.impossible_count, 0);
	CHECK_INT(result.indices[0], 1);
	strata_arena_fini(&arena);
}

TEST(jobs_run_when_the_policy_says_so)
{
	struct strata_swf_arrival arrivals[] = {
		arrival(1, 0, 50, 100, 6),
		arrival(2, 1, 10, 10, 8),
		arrival(3, 2, 20, 90, 2),
		arrival(4, 3, 5, 500, 1),
	};
	struct replay_result result;

	CHECK_OK(replay(arrivals, 4, &result));
	CHECK_INT(result.jobs[0].start_ns, 0);
	CHECK_INT(result.jobs[2].start_ns,
		  2 * SECOND); /* backfilled: would end by 92, the promise is 100 */
	CHECK_INT(result.jobs[1].start_ns, 50 * SECOND);
	CHECK_INT(result.jobs[3].start_ns, 60 * SECOND);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_job_that_ends_makes_room_for_one_that_comes_in_the_same_instant)
{
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 10, 10, 8),
						 arrival(2, 10, 5, 5, 8) };
	struct replay_result result;

	CHECK_OK(replay(arrivals, 2, &result));
	CHECK_INT(result.jobs[1].start_ns, 10 * SECOND);
}

TEST(jobs_of_no_length_are_jobs)
{
	struct strata_swf_arrival arrivals[] = { arrival(1, 5, 0, 0, 8), arrival(2, 5, 0, 0, 8),
						 arrival(3, 5, 1, 1, 8) };
	struct replay_result result;

	CHECK_OK(replay(arrivals, 3, &result));
	CHECK_INT(result.jobs[2].start_ns, 5 * SECOND);
}

TEST(jobs_too_large_for_the_machine_are_set_aside)
{
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 1, 1, 8), arrival(77, 0, 1, 1, 9),
						 arrival(3, 0, 2, 2, 8), arrival(4, 9, 2, 2, 10) };
	struct replay_result result;

	CHECK_OK(replay(arrivals, 4, &result));
	CHECK_INT(result.job_count, 2);
	CHECK_INT(result.indices[1], 2);
	CHECK_INT(result.jobs[1].start_ns, 1 * SECOND);
	CHECK_INT(result.impossible_count, 2);
	CHECK_INT(result.impossible[0], 1);
	CHECK_INT(result.impossible[1], 3);
	CHECK(isnan(result.gpu_fragmentation));
}

/* Two nodes of two GPUs each; a holds T4s, b A10s. */
TEST(demands_decide_where_jobs_fit)
{
	static const struct strata_node_conf nodes[] = {
		{ .name = "a",
		  .cpu_milli = 8000,
		  .memory_bytes = 1 << 30,
		  .gpu_count = 2,
		  .gpu_type = "T4" },
		{ .name = "b",
		  .cpu_milli = 8000,
		  .memory_bytes = 1 << 30,
		  .gpu_count = 2,
		  .gpu_type = "A10" },
	};
	static const struct machine machine = { nodes, 2, .has_memory = true, .gpu_count = 4,
						.capacity = 4000 };
	static const struct swf_demand half = { .nodes = 1, .gpus = 1, .gpu_milli = 600 },
				       typed = { .nodes = 1,
						 .gpus = 2,
						 .gpu_milli = 1000,
						 .gpu_models = "A10" },
				       gang = { .nodes = 2, .gpus = 2, .gpu_milli = 1000 },
				       cpus = { .nodes = 1, .gpu_milli = 1000, .cpu_milli = 8000 },
				       wide = { .nodes = 3, .gpus = 1, .gpu_milli = 1000 },
				       fat = { .nodes = 1, .memory_mib = 1025, .gpu_milli = 1000 };
	/* two halves need two GPUs; then both nodes are wanted at once; then two wait for node b */
	const struct swf_demand *demands[] = { &half,  &half, &typed, &gang,
					       &typed, &cpus, &wide,  &fat };
	struct strata_swf_arrival arrivals[8];
	struct replay_result result;

	for (int i = 0; i < 8; i++)
		arrivals[i] = arrival(i + 1, i, 100, 100, i == 5 ? 0 : 1);
	struct replay_conf conf = {
		.machine = &machine, .arrivals = arrivals, .arrival_count = 8, .demands = demands
	};

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(replay_run(&conf, &arena, &result, &err));
	CHECK_INT(result.impossible_count, 2);
	CHECK_INT(result.impossible[0], 6);
	CHECK_INT(result.impossible[1], 7);
	static const int64_t starts[] = { 0, 1, 2, 102, 202, 202 };
	static const int64_t sizes[] = { 600, 600, 2000, 4000, 2000, 0 };

	for (int i = 0; i < 6; i++) {
		CHECK_INT(result.jobs[i].procs, sizes[i]);
		if (i != 5)
			CHECK_INT(result.jobs[i].start_ns, starts[i] * SECOND);
	}
	CHECK(result.gpu_fragmentation > 0 && result.gpu_fragmentation < 1);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_gantt_shows_every_job_once)
{
	static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 8000 };
	static const struct machine machine = { &pool, 1, .flat = true, .capacity = 8 };
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 1, 1, 8), arrival(2, 0, 3, 4, 2),
						 arrival(3, 0, 2, 2, 8), arrival(4, 9, 2, 2, 10) };
	struct replay_conf conf = { .machine = &machine, .arrivals = arrivals, .arrival_count = 4 };
	struct trace_text text = { 0 };
	struct strata_trace_sink sink = { trace_text_write, &text };
	struct replay_result result;
	size_t slices = 0;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(gantt_open(&memory, &machine, &sink, &conf.gantt, &err));
	CHECK_OK(replay_run(&conf, &arena, &result, &err));
	CHECK_OK(gantt_close(conf.gantt, &err));
	for (const char *at = text.text; (at = strstr(at, "\"ph\":\"X\"")); at++)
		slices++;
	CHECK_INT(slices, 3);
	CHECK(strstr(text.text, "\"ts\":1000000.000,\"dur\":3000000.000,\"name\":\"job 2\""));
	trace_text_fini(&text);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static int replay_again(struct strata_memory *own, void *context, struct strata_error *ret_err)
{
	static const struct strata_node_conf node = {
		.name = "a", .cpu_milli = 8000, .gpu_count = 2, .gpu_type = "T4"
	};
	static const struct machine machine = { &node, 1, .gpu_count = 2, .capacity = 2000 };
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 1, 1, 1), arrival(2, 0, 1, 1, 9) };
	struct replay_conf conf = { .machine = &machine, .arrivals = arrivals, .arrival_count = 2 };
	struct replay_result result = { .job_count = 77 };
	struct strata_arena scratch;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = replay_run(&conf, &scratch, &result, ret_err);

	CHECK_INT(result.job_count, rc ? 77 : 1);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	CHECK(test_every_allocation(replay_again, NULL) >= 6);
}

static bool stop(void *context, size_t ended, size_t total)
{
	(void)context, (void)total;
	return ended < 1;
}

TEST(a_replay_can_be_stopped)
{
	static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 8000 };
	static const struct machine machine = { &pool, 1, .flat = true, .capacity = 8 };
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 1, 1, 8), arrival(2, 0, 1, 1, 8) };
	struct replay_conf conf = {
		.machine = &machine, .arrivals = arrivals, .arrival_count = 2, .progress = stop
	};
	struct replay_result result;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(replay_run(&conf, &arena, &result, &err), -ECANCELED, "stopped");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
