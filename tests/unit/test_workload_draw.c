#include "test.h"

#include "random.h"
#include "sim/workload_draw.h"

#include <strata/limits.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

/* Mean and variance of 200,000 draws, within five standard errors. */
static void check_gamma(double alpha, double beta)
{
	enum { COUNT = 200000 };
	struct strata_rng rng;
	double sum = 0, squares = 0;

	strata_rng_init(&rng, 1, 0);
	for (size_t i = 0; i < COUNT; i++) {
		double value = draw_gamma(&rng, alpha, beta);

		CHECK(value >= 0 && isfinite(value));
		sum += value;
		squares += value * value;
	}
	double mean = sum / COUNT, variance = squares / COUNT - mean * mean;
	double want = alpha * beta, want_variance = alpha * beta * beta;

	CHECK_NEAR(mean, want, 5 * sqrt(want_variance / COUNT));
	/* the variance of a variance, by the kurtosis 3 + 6 / alpha */
	CHECK_NEAR(variance, want_variance, 5 * want_variance * sqrt((2 + 6 / alpha) / COUNT));
}

TEST(gammas_have_their_mean_and_variance)
{
	check_gamma(4.2, 0.94);
	check_gamma(312, 0.03);
	check_gamma(0.4, 1);
	check_gamma(1, 2);
	check_gamma(0.05, 3);
}

TEST(powers_of_e)
{
	CHECK_NEAR(draw_exp(0), 1, 0);
	for (double x = -30; x < 30; x += 0.37)
		CHECK_NEAR(draw_exp(x) / exp(x), 1, 1e-13);
}

TEST(tables_pick_by_weight)
{
	static const double weights[] = { 1, 0, 3, 0, 4 };
	enum { COUNT = 80000 };
	struct draw_table table;
	struct strata_rng rng;
	size_t seen[5] = { 0 };

	strata_arena_init(&arena, &memory, 0);
	strata_rng_init(&rng, 2, 0);
	CHECK_OK(draw_table_init(&table, weights, 5, &arena, &err));
	for (size_t i = 0; i < COUNT; i++)
		seen[draw_table_pick(&table, &rng)]++;
	CHECK_INT(seen[1] + seen[3], 0);
	CHECK_NEAR(seen[0], COUNT / 8.0, 500);
	CHECK_NEAR(seen[2], COUNT * 3 / 8.0, 700);
	CHECK_NEAR(seen[4], COUNT / 2.0, 700);
	strata_arena_fini(&arena);
}

TEST(zipf_is_zipf)
{
	enum { COUNT = 100000 };
	struct draw_table table;
	struct strata_rng rng;
	size_t seen[4] = { 0 };

	strata_arena_init(&arena, &memory, 0);
	strata_rng_init(&rng, 2, 0);
	CHECK_OK(draw_table_init_zipf(&table, 4, 1, &arena, &err));
	for (size_t i = 0; i < COUNT; i++)
		seen[draw_table_pick(&table, &rng)]++;
	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(seen[i], COUNT / (double)(i + 1) / (25.0 / 12), 900);
	strata_arena_fini(&arena);
}

TEST(chances_are_even)
{
	struct strata_rng rng;
	size_t yes = 0;

	strata_rng_init(&rng, 3, 0);
	for (size_t i = 0; i < 10000; i++) {
		CHECK(!draw_chance(&rng, 0));
		CHECK(draw_chance(&rng, 1));
		yes += draw_chance(&rng, 0.3);
	}
	CHECK_NEAR(yes, 3000, 250);
}

TEST(limits_are_round_and_long_enough)
{
	struct strata_rng rng;
	uint64_t seed = 4;
	double used = 0;

	strata_rng_init(&rng, 4, 0);
	for (size_t i = 0; i < 100000; i++) {
		int64_t run = 1 + (int64_t)random_below(&seed, i % 2 ? 1000 : 5000000);
		int64_t requested = draw_requested_s(&rng, run);

		CHECK(requested >= run);
		CHECK_INT(requested % 300, 0);
		CHECK(requested <= 30 * 86400 || requested - run < 3600);
		used += (double)run / (double)requested;
	}
	CHECK(used / 100000 > 0.2 && used / 100000 < 0.6);
	CHECK_INT(draw_requested_s(&rng, 30 * 86400), 30 * 86400);
	CHECK_INT(draw_requested_s(&rng, 30 * 86400 + 1), 30 * 86400 + 3600);
}

/* Half of the jobs of a day come in one half hour when its weight is that of all others. */
TEST(arrivals_follow_the_rhythm)
{
	enum { COUNT = 47000 * 14 };
	struct draw_rhythm rhythm;
	double *moments = malloc(COUNT * sizeof(*moments));
	struct strata_swf_job *jobs = calloc(COUNT, sizeof(*jobs));
	size_t peak = 0, monday = 0;

	CHECK(moments && jobs);
	for (size_t i = 0; i < 48; i++)
		rhythm.slots[i] = i == 20 ? 47 : 1;
	for (size_t i = 0; i < 7; i++)
		rhythm.days[i] = i == 0 ? 6 : 1;
	for (size_t i = 0; i < COUNT; i++)
		moments[i] = (double)i * 0.125;
	draw_arrivals(&rhythm, moments, 14 * 86400, jobs, COUNT);
	CHECK_INT(jobs[0].submit_s, 0);
	CHECK_INT(jobs[COUNT - 1].submit_s, 14 * 86400);
	for (size_t i = 0; i < COUNT; i++) {
		CHECK(i == 0 || jobs[i].submit_s >= jobs[i - 1].submit_s);
		peak += jobs[i].submit_s % 86400 / 1800 == 20;
		monday += jobs[i].submit_s / 86400 % 7 == 0;
	}
	CHECK_NEAR(peak, COUNT / 2.0, COUNT * 1e-4);
	CHECK_NEAR(monday, COUNT / 2.0, COUNT * 1e-4);
	free(moments);
	free(jobs);
}

TEST(arrivals_at_one_moment_and_alone)
{
	struct draw_rhythm rhythm;
	const double zeros[3] = { 0, 0, 0 };
	struct strata_swf_job jobs[3];

	for (size_t i = 0; i < 48; i++)
		rhythm.slots[i] = 1;
	for (size_t i = 0; i < 7; i++)
		rhythm.days[i] = 1;
	draw_arrivals(&rhythm, zeros, 1000, jobs, 1);
	CHECK_INT(jobs[0].submit_s, 0);
	draw_arrivals(&rhythm, zeros, 1000, jobs, 3);
	CHECK_INT(jobs[0].submit_s, 0);
	CHECK_INT(jobs[1].submit_s, 0);
	CHECK_INT(jobs[2].submit_s, 1000);
}

TEST(a_span_has_a_limit)
{
	int64_t span = 7;
	double most = (double)STRATA_TIME_NS_MAX / 1e9 / 2;

	CHECK_OK(draw_span_s(800, 10, 0.8, &span, &err));
	CHECK_INT(span, 100);
	CHECK_OK(draw_span_s(most - 1, 1, 1, &span, &err));
	CHECK_ERROR(draw_span_s(most + 1, 1, 1, &span, &err), -ERANGE, "146 years to come");
	CHECK_INT(span, (int64_t)(most - 1));
}
