#include "pool_play.h"

#include "sim/pool_replay.h"

#include <errno.h>

static struct strata_arena arena;
static struct requests trace;

static struct pool_replay_result replay(const char *text, const char *policy,
					struct pool_replay_conf conf)
{
	struct pool_replay_result result;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &play_memory, 0);
	CHECK_OK(requests_read(text, strlen(text), &arena, &trace, &err));
	conf.requests = &trace;
	conf.workers = conf.workers ? conf.workers : 1;
	conf.pool.policy = play_spec(policy);
	CHECK_OK(pool_replay_run(&conf, &arena, &result, &err));
	return result;
}

static void finish(void)
{
	strata_arena_fini(&arena);
	memset(&arena, 0, sizeof(arena));
	play_close();
}

/* Starts in seconds, in the order of arrival. */
static void check_starts(const struct pool_replay_result *result, const double *starts,
			 size_t count)
{
	CHECK_INT(result->job_count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_NEAR((double)result->jobs[i].start_ns / 1e9, starts[i], 1e-6);
}

static const char four[] = "arrival_s,exec_s,user,steps\n0,10,a,10\n1,4,a,4\n2,2,b,2\n2,8,a,0\n";

TEST(requests_run_in_the_order_of_the_policy)
{
	struct pool_replay_result result = replay(four, "fifo", (struct pool_replay_conf){ 0 });

	check_starts(&result, (double[]){ 0, 10, 14, 16 }, 4);
	CHECK_INT(result.stats.tasks[STRATA_TASK_FINISHED], 4);
	CHECK_INT(result.stuck, 0);
	result = replay(four, "shortest:bound=0", (struct pool_replay_conf){ 0 });
	check_starts(&result, (double[]){ 0, 12, 10, 16 }, 4);
	result = replay(four, "round_robin", (struct pool_replay_conf){ .workers = 2 });
	check_starts(&result, (double[]){ 0, 1, 5, 7 }, 4);
	finish();
}

/* Without preemption it is the same how often a worker asks. */
TEST(steps_do_not_change_what_nobody_interrupts)
{
	struct pool_replay_conf whole = { .pool.steps_per_pick = UINT32_MAX };
	struct pool_replay_result result = replay(four, "fifo", whole);

	check_starts(&result, (double[]){ 0, 10, 14, 16 }, 4);
	CHECK_INT(result.stats.decisions, 4);
	result = replay(four, "fifo", (struct pool_replay_conf){ .pool.steps_per_pick = 3 });
	check_starts(&result, (double[]){ 0, 10, 14, 16 }, 4);
	CHECK_INT(result.stats.decisions, 4 + 2 + 1 + 1);
	finish();
}

/* A start is the end less the work: what was interrupted has waited longer. */
TEST(with_preemption_short_ones_go_between)
{
	struct pool_replay_result result =
		replay(four, "shortest:bound=0", (struct pool_replay_conf){ .pool.preempt = true });

	check_starts(&result, (double[]){ 14, 3, 2, 7 }, 4);
	CHECK(result.stats.preemptions >= 1);
	finish();
}

TEST(a_batch_takes_its_longest_and_something_for_each_more)
{
	static const char text[] = "arrival_s,exec_s,shape\n0,10,x\n0,10,x\n0,4,y\n";
	struct pool_replay_conf conf = { .pool.batch_max = 4, .batch_cost = 0.2 };
	struct pool_replay_result result = replay(text, "fifo", conf);

	check_starts(&result, (double[]){ 2, 2, 12 }, 3);
	CHECK_INT(result.stats.batched, 1);
	conf.pool.batch_wait_ns = 3 * SECOND; /* nobody else comes */
	result = replay(text, "fifo", conf);
	check_starts(&result, (double[]){ 5, 5, 15 }, 3);
	finish();
}

TEST(who_is_refused_or_stuck_is_counted)
{
	static const char text[] =
		"arrival_s,exec_s,deadline_s,memory_mib\n0,10,10,0\n0,10,15,0\n0,1,,9000\n";
	struct pool_replay_result result = replay(
		text, "deadline", (struct pool_replay_conf){ .memory_bytes = INT64_C(1) << 30 });

	CHECK_INT(result.refused, 1);
	CHECK_INT(result.stuck, 1);
	CHECK_INT(result.job_count, 1);
	CHECK_INT(result.stats.late, 0);
	finish();
}

TEST(windows_of_quotas_pass)
{
	static const char text[] = "arrival_s,exec_s,user\n0,10,a\n0,10,a\n0,10,a\n";
	struct pool_replay_result result =
		replay(text, "fair:max_cost=15s:window=100s", (struct pool_replay_conf){ 0 });

	/* The window begins with the first end, at 10 s. */
	check_starts(&result, (double[]){ 0, 10, 110 }, 3);
	finish();
}

static bool stop(void *context, size_t ended, size_t total)
{
	(void)context;
	(void)ended;
	CHECK_INT(total, 4);
	return false;
}

TEST(it_can_be_stopped)
{
	struct pool_replay_result result;

	strata_arena_init(&arena, &play_memory, 0);
	CHECK_OK(requests_read(four, strlen(four), &arena, &trace, &err));
	struct pool_replay_conf conf = { .requests = &trace, .workers = 1, .progress = stop };

	CHECK_INT(pool_replay_run(&conf, &arena, &result, &err), -ECANCELED);
	finish();
}

static int replay_some(struct strata_memory *from, void *context, struct strata_error *ret_err)
{
	struct strata_arena scratch;
	struct requests requests;
	struct pool_replay_result result;

	(void)context;
	strata_arena_init(&scratch, from, 0);
	int rc = requests_read(four, strlen(four), &scratch, &requests, ret_err);
	struct pool_replay_conf conf = { .requests = &requests, .workers = 2 };

	if (rc == 0)
		rc = pool_replay_run(&conf, &scratch, &result, ret_err);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(it_fails_cleanly_without_memory)
{
	test_every_allocation(replay_some, NULL);
}
