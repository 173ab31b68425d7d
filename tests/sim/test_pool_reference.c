/*
 * A month of a real diffusion service against another simulator's figures (traces/serving/README.md
 * of the reference data): four workers at three loads, one policy each that has no freedom left.
 * And what our own policies promise beside those: fair at least as good to users as virtual token
 * counters, shortest within a tenth of the unbounded order's mean with a smaller longest wait.
 */
#include "pool_play.h"

#include "core/env.h"
#include "sim/input.h"
#include "sim/pool_replay.h"

#include <stdio.h>

static struct strata_arena arena;

/* mean, p50 and p99 response, longest wait, users' mean wait and its p90, makespan; in seconds. */
enum { MEAN, P50, P99, MAX_WAIT, USER_MEAN, USER_P90, MAKESPAN, FIGURES };
struct figures {
	const char *policy;
	double values[FIGURES];
};

static const struct {
	double load;
	struct figures rows[4];
} references[] = {
	{ 0.3,
	  { { "fifo", { 880.7, 563.1, 4156.5, 4609.6, 849.9, 2094.1, 314458.2 } },
	    { "shortest:bound=0", { 451.5, 29.4, 5468.9, 8253.2, 208.8, 638.6, 314458.2 } },
	    { "round_robin", { 850.2, 185.1, 5445.9, 6977.9, 229.7, 712.8, 314458.2 } },
	    { "fair:charge=start", { 739.7, 130.8, 5048.6, 6587.6, 176.3, 519.6, 314458.2 } } } },
	{ 0.7,
	  { { "fifo", { 5952.6, 4491.1, 16822.0, 17539.2, 5861.7, 13293.2, 139260.4 } },
	    { "shortest:bound=0", { 2682.0, 121.0, 39089.3, 58603.1, 1220.8, 3080.3, 139394.9 } },
	    { "round_robin", { 5408.4, 2076.4, 46801.0, 53653.0, 996.9, 2665.3, 139255.3 } },
	    { "fair:charge=start",
	      { 4755.3, 1613.0, 43209.5, 46527.9, 803.7, 2164.5, 139269.3 } } } },
	{ 0.9,
	  { { "fifo", { 10022.6, 7216.7, 26120.4, 26635.0, 9884.3, 21500.1, 122176.7 } },
	    { "shortest:bound=0", { 4759.5, 484.9, 46339.4, 70794.2, 2302.0, 5394.5, 122453.2 } },
	    { "round_robin", { 8980.0, 3323.3, 55489.8, 63652.7, 1628.7, 4074.6, 122171.3 } },
	    { "fair:charge=start",
	      { 8171.2, 2765.6, 50338.3, 56503.7, 1325.1, 3054.9, 122171.3 } } } },
};

/* The trace, read once; its arrivals as they are. */
static const struct requests *load(void)
{
	static struct strata_memory memory;
	static struct strata_arena kept;
	static struct requests trace;
	const char *path = test_shared_file("traces/serving/gentd26_requests.csv.gz"), *text;
	size_t length;

	if (trace.count > 0)
		return &trace;
	strata_arena_init(&kept, &memory, 0);
	CHECK_OK(input_read(env_system(), path, STRATA_INPUT_BYTES_MAX, &kept, &text, &length,
			    &err));
	CHECK_OK(requests_read(text, length, &kept, &trace, &err));
	CHECK_INT(trace.count, 14279);
	return &trace;
}

static void run(const char *policy, double target, double values[FIGURES])
{
	struct requests trace = *load();
	struct pool_replay_result result;
	struct metrics metrics;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &play_memory, 0);
	struct request *rows = strata_arena_array(&arena, trace.count, sizeof(*rows));

	CHECK(rows);
	memcpy(rows, trace.rows, trace.count * sizeof(*rows));
	trace.rows = rows;
	requests_scale(&trace, 4, target);
	struct pool_replay_conf conf = { .pool.policy = play_spec(policy),
					 .requests = &trace,
					 .workers = 4 };

	CHECK_OK(pool_replay_run(&conf, &arena, &result, &err));
	CHECK_INT(result.job_count, trace.count);
	CHECK_OK(metrics_measure(result.jobs, result.job_count, 4, &arena, &metrics, &err));
	values[MEAN] = metrics.mean_resp_s;
	values[P50] = metrics.p50_resp_s;
	values[P99] = metrics.p99_resp_s;
	values[MAX_WAIT] = metrics.max_wait_s;
	values[USER_MEAN] = metrics.user_mean_wait_s;
	values[USER_P90] = metrics.user_p90_wait_s;
	values[MAKESPAN] = metrics.makespan_s;
}

static void finish(void)
{
	strata_arena_fini(&arena);
	memset(&arena, 0, sizeof(arena));
	play_close();
}

TEST(four_policies_give_the_reference_within_a_hundredth)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++)
		for (size_t row = 0; row < 4; row++) {
			const struct figures *want = &references[i].rows[row];
			double got[FIGURES];

			run(want->policy, references[i].load, got);
			for (int figure = 0; figure < FIGURES; figure++)
				CHECK_NEAR(got[figure], want->values[figure],
					   want->values[figure] / 100);
		}
	finish();
}

TEST(fair_serves_users_at_least_as_well_as_token_counters)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		const double *vtc = references[i].rows[3].values;
		double got[FIGURES];

		run("fair", references[i].load, got);
		CHECK(got[USER_MEAN] <= vtc[USER_MEAN]);
		CHECK(got[MEAN] <= vtc[MEAN]);
		run("fair:within=shortest", references[i].load, got);
		CHECK(got[USER_MEAN] <= 0.87 * vtc[USER_MEAN]);
	}
	finish();
}

TEST(shortest_keeps_its_mean_and_bounds_the_longest_wait)
{
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
		const double *sjf = references[i].rows[1].values;
		double got[FIGURES];

		run("shortest", references[i].load, got);
		CHECK(got[MEAN] <= 1.08 * sjf[MEAN]);
		CHECK(got[MAX_WAIT] <= 0.95 * sjf[MAX_WAIT]);
	}
	finish();
}
