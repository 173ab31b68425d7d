#include "test.h"

#include "random.h"
#include "sim/series.h"

#include <strata/text.h>

#define S STRATA_SECOND_NS

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct series series;

static const struct metrics_job three[] = {
	{ .submit_ns = 10 * S, .start_ns = 10 * S, .run_ns = 20 * S, .procs = 2 },
	{ .submit_ns = 12 * S,
	  .start_ns = 30 * S,
	  .run_ns = 10 * S,
	  .procs = 2 }, /* as the first ends */
	{ .submit_ns = 15 * S, .start_ns = 20 * S, .run_ns = 5 * S, .procs = 3 },
};

static void check_points(const double (*points)[2], size_t count)
{
	CHECK_INT(series.count, count);
	for (size_t i = 0; i < count; i++) {
		CHECK_NEAR(series.x[i], points[i][0], 0);
		CHECK_NEAR(series.y[i], points[i][1], 0);
	}
}

static void make(enum series_kind kind)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(series_make(three, 3, kind, &arena, &series, &err));
}

TEST(busy_processors)
{
	static const double points[][2] = { { 0, 2 }, { 10, 5 }, { 15, 2 }, { 30, 0 } };

	make(SERIES_BUSY);
	check_points(points, 4);
}

TEST(waiting_jobs_and_processors)
{
	static const double jobs[][2] = { { 0, 0 }, { 2, 1 }, { 5, 2 }, { 10, 1 }, { 20, 0 } };
	static const double procs[][2] = { { 0, 0 }, { 2, 2 }, { 5, 5 }, { 10, 2 }, { 20, 0 } };

	make(SERIES_WAITING);
	check_points(jobs, 5);
	make(SERIES_WAITING_PROCS);
	check_points(procs, 5);
	CHECK_OK(series_make(NULL, 0, SERIES_BUSY, &arena, &series, &err));
	CHECK_INT(series.count, 0);
}

TEST(averages_keep_the_area)
{
	struct series mean;

	make(SERIES_BUSY);
	CHECK_OK(series_average(&series, 3, &arena, &mean, &err));
	CHECK_INT(mean.count, 4);
	CHECK_NEAR(mean.x[1], 10, 0);
	CHECK_NEAR(mean.y[0], 2, 0);
	CHECK_NEAR(mean.y[1], 3.5, 0);
	CHECK_NEAR(mean.y[2], 2, 0);
	CHECK_NEAR(mean.x[3], 30, 0);
	CHECK_NEAR(mean.y[3], 2, 0);
	for (size_t bins = 1; bins < 200; bins += 7) {
		double area = 0;

		CHECK_OK(series_average(&series, bins, &arena, &mean, &err));
		for (size_t i = 0; i < bins; i++)
			area += mean.y[i] * (mean.x[i + 1] - mean.x[i]);
		CHECK_NEAR(area, 2 * 30 + 3 * 5, 1e-9);
	}
	CHECK_OK(series_make(NULL, 0, SERIES_BUSY, &arena, &series, &err));
	CHECK_OK(series_average(&series, 2, &arena, &mean, &err));
	CHECK_INT(mean.count, 3);
	CHECK_NEAR(mean.y[0] + mean.y[1] + mean.y[2], 0, 0);
}

/* At any moment the curve says what counting the jobs says. */
TEST(random_schedules_are_counted_right)
{
	uint64_t seed = 4;

	for (int round = 0; round < 200; round++) {
		struct metrics_job jobs[30] = { 0 };
		size_t count = 1 + random_below(&seed, 30);
		int64_t first = INT64_MAX;

		for (size_t i = 0; i < count; i++) {
			jobs[i].submit_ns = (int64_t)random_below(&seed, 50) * S;
			jobs[i].start_ns = jobs[i].submit_ns + (int64_t)random_below(&seed, 20) * S;
			jobs[i].run_ns = (int64_t)random_below(&seed, 30) * S;
			jobs[i].procs = (int64_t)random_below(&seed, 5);
			first = jobs[i].submit_ns < first ? jobs[i].submit_ns : first;
		}
		strata_arena_fini(&arena);
		strata_arena_init(&arena, &memory, 0);
		CHECK_OK(series_make(jobs, count, SERIES_BUSY, &arena, &series, &err));
		CHECK_NEAR(series.y[series.count - 1], 0, 0);
		for (size_t i = 0; i < series.count; i++) {
			int64_t at = first + (int64_t)(series.x[i] * 1e9), busy = 0;

			CHECK(i == 0 || series.x[i] > series.x[i - 1]);
			for (size_t k = 0; k < count; k++)
				if (jobs[k].start_ns <= at &&
				    at < jobs[k].start_ns + jobs[k].run_ns)
					busy += jobs[k].procs;
			CHECK_NEAR(series.y[i], (double)busy, 0);
		}
	}
}

static int make_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_arena own;
	struct series out = { .count = 77 }, mean = { .count = 77 };

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = series_make(three, 3, SERIES_BUSY, &own, &out, ret_err);

	if (rc)
		CHECK_INT(out.count, 77);
	else
		rc = series_average(&out, 4, &own, &mean, ret_err);
	if (rc)
		CHECK_INT(mean.count, 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK_INT(test_every_allocation(make_again, NULL), 5);
}
