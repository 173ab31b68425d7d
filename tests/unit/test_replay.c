#include "test.h"

#include "sim/replay.h"

#include <errno.h>
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
	static const struct replay_machine machine = { &pool, 1, true, 8 };
	struct replay_conf conf = { .machine = &machine,
				    .arrivals = arrivals,
				    .arrival_count = count };

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return replay_run(&conf, &arena, ret_result, &err);
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

TEST(a_job_too_large_for_the_machine_is_named)
{
	struct strata_swf_arrival arrivals[] = { arrival(1, 0, 1, 1, 8), arrival(77, 0, 1, 1, 9) };
	struct replay_result result;

	CHECK_ERROR(replay(arrivals, 2, &result), -EINVAL,
		    "job 77 asks for 9 processors; the machine has 8");
}

static bool stop(void *context, size_t ended, size_t total)
{
	(void)context, (void)total;
	return ended < 1;
}

TEST(a_replay_can_be_stopped)
{
	static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 8000 };
	static const struct replay_machine machine = { &pool, 1, true, 8 };
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
