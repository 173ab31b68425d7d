#include "test.h"

#include "formats/starts.h"
#include "random.h"
#include "sim/input.h"
#include "sim/metrics.h"

#include <strata/limits.h>
#include <strata/swf.h>
#include <strata/text.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S STRATA_SECOND_NS

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct metrics metrics;

static int measure(const struct metrics_job *jobs, size_t count, int64_t capacity)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return metrics_measure(jobs, count, capacity, &arena, &metrics, &err);
}

/* By hand: waits 0, 30, 5, 100; slowdowns 1, (30+10)/10 = 4, (5+2)/10 < 1, (100+50)/50 = 3. */
static const struct metrics_job four[] = {
	{ .submit_ns = 100 * S,
	  .start_ns = 100 * S,
	  .run_ns = 200 * S,
	  .requested_ns = 400 * S,
	  .procs = 2,
	  .user = 7 },
	{ .submit_ns = 110 * S,
	  .start_ns = 140 * S,
	  .run_ns = 10 * S,
	  .requested_ns = 10 * S,
	  .procs = 1,
	  .user = 7 },
	{ .submit_ns = 120 * S,
	  .start_ns = 125 * S,
	  .run_ns = 2 * S,
	  .requested_ns = 0,
	  .procs = 1,
	  .user = 8 },
	{ .submit_ns = 200 * S,
	  .start_ns = 300 * S,
	  .run_ns = 50 * S,
	  .requested_ns = 200 * S,
	  .procs = 3,
	  .user = 8 },
};

TEST(four_jobs_by_hand)
{
	CHECK_OK(measure(four, 4, 4));
	CHECK_INT(metrics.jobs, 4);
	CHECK_NEAR(metrics.mean_wait_s, 33.75, 0);
	CHECK_NEAR(metrics.max_wait_s, 100, 0);
	CHECK_NEAR(metrics.avg_bsld, 2.25, 0);
	CHECK_NEAR(metrics.max_bsld, 4, 0);
	CHECK_NEAR(metrics.makespan_s, 250, 0);
	CHECK_NEAR(metrics.utilization, (400 + 10 + 2 + 150) / 1000.0, 0);
	CHECK_NEAR(metrics.request_use, (0.5 + 1 + 0.25) / 3, 1e-16);
	CHECK_NEAR(metrics.p50_wait_s, 5, 0);
	CHECK_NEAR(metrics.p90_wait_s, 100, 0);
	CHECK_NEAR(metrics.p99_wait_s, 100, 0);
	CHECK_INT(metrics.users, 2);
	CHECK_NEAR(metrics.user_mean_wait_s, (15 + 52.5) / 2, 0);
	CHECK_NEAR(metrics.user_max_wait_s, 52.5, 0);
	CHECK_NEAR(metrics.user_mean_bsld, (2.5 + 2) / 2, 0);
	CHECK_NEAR(metrics.user_max_bsld, 2.5, 0);
	CHECK_INT(metrics.worst_user, 7);
	CHECK_NEAR(metrics.user_jain, 4.5 * 4.5 / (2 * (6.25 + 4)), 1e-15);
}

TEST(no_jobs_and_no_time)
{
	const struct metrics_job job = { .submit_ns = 5, .start_ns = 5, .procs = 1 };

	metrics.jobs = 77;
	CHECK_OK(measure(NULL, 0, 1));
	CHECK_INT(metrics.jobs, 0);
	CHECK_NEAR(metrics.mean_wait_s, 0, 0);
	CHECK_OK(measure(&job, 1, 1));
	CHECK_NEAR(metrics.utilization, 0, 0);
	CHECK_NEAR(metrics.makespan_s, 0, 0);
	CHECK_NEAR(metrics.avg_bsld, 1, 0);
	CHECK_NEAR(metrics.user_jain, 1, 0);
	CHECK_NEAR(metrics.request_use, 0, 0);
}

TEST(impossible_jobs_are_named)
{
	struct metrics_job jobs[2] = { four[0], four[1] };
	struct metrics before;

	CHECK_OK(measure(jobs, 2, 4));
	before = metrics;
	jobs[1].start_ns = jobs[1].submit_ns - 1;
	CHECK_ERROR(measure(jobs, 2, 4), -EINVAL, "index 1 starts at 109999999999 ns, before");
	jobs[1] = four[1];
	jobs[1].run_ns = -1;
	CHECK_ERROR(measure(jobs, 2, 4), -EINVAL, "index 1 has a time or size that is impossible");
	jobs[1].run_ns = STRATA_TIME_NS_MAX - jobs[1].start_ns + 1;
	CHECK_ERROR(measure(jobs, 2, 4), -EINVAL, "index 1");
	jobs[1] = four[1];
	jobs[1].procs = -1;
	CHECK_ERROR(measure(jobs, 2, 4), -EINVAL, "index 1");
	jobs[1] = four[1];
	jobs[1].start_ns = STRATA_TIME_NS_MAX + 1;
	CHECK_ERROR(measure(jobs, 2, 4), -EINVAL, "index 1");
	CHECK_BYTES(&metrics, &before, sizeof(metrics));
}

TEST(the_largest_times_do_not_overflow)
{
	enum { COUNT = 1000 };
	static struct metrics_job jobs[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		jobs[i] = (struct metrics_job){ .start_ns = STRATA_TIME_NS_MAX -
							    STRATA_DURATION_NS_MAX,
						.run_ns = STRATA_DURATION_NS_MAX,
						.procs = INT64_C(1) << 40 };
	CHECK_OK(measure(jobs, COUNT, INT64_C(1) << 40));
	double wait_s = (double)(STRATA_TIME_NS_MAX - STRATA_DURATION_NS_MAX) / 1e9;

	CHECK_NEAR(metrics.mean_wait_s, wait_s, wait_s * 1e-15);
	CHECK_NEAR(metrics.utilization,
		   1000.0 * (double)STRATA_DURATION_NS_MAX / (double)STRATA_TIME_NS_MAX, 1e-9);
}

/* Random schedules against the definitions, written down naively. */
TEST(random_schedules_agree_with_the_definitions)
{
	uint64_t seed = 9;

	for (int round = 0; round < 300; round++) {
		struct metrics_job jobs[60] = { 0 };
		size_t count = 1 + random_below(&seed, 60);
		long double wait = 0, bsld = 0, user_bsld[4] = { 0 }, user_jobs[4] = { 0 };

		for (size_t i = 0; i < count; i++) {
			jobs[i].submit_ns = (int64_t)random_below(&seed, 1000 * S);
			jobs[i].start_ns = jobs[i].submit_ns +
					   (int64_t)random_below(&seed, 500 * S);
			jobs[i].run_ns = (int64_t)random_below(
				&seed, random_below(&seed, 2) ? 20 * S : 900 * S);
			jobs[i].procs = 1 + (int64_t)random_below(&seed, 9);
			jobs[i].user = (int64_t)random_below(&seed, 4);
			long double w = (long double)(jobs[i].start_ns - jobs[i].submit_ns) / 1e9L;
			long double r = (long double)jobs[i].run_ns / 1e9L;
			long double b = fmaxl(1, (w + r) / fmaxl(r, 10));

			wait += w;
			bsld += b;
			user_bsld[jobs[i].user] += b;
			user_jobs[jobs[i].user]++;
		}
		CHECK_OK(measure(jobs, count, 100));
		CHECK_NEAR(metrics.mean_wait_s, (double)(wait / count), 1e-9);
		CHECK_NEAR(metrics.avg_bsld, (double)(bsld / count), 1e-12);
		long double sum = 0, squares = 0, users = 0;

		for (size_t u = 0; u < 4; u++)
			if (user_jobs[u] > 0) {
				sum += user_bsld[u] / user_jobs[u];
				squares += user_bsld[u] / user_jobs[u] * user_bsld[u] /
					   user_jobs[u];
				users++;
			}
		CHECK_NEAR(metrics.user_jain, (double)(sum * sum / squares / users), 1e-12);
		for (size_t i = 0, below = 0; i < count;
		     i++) { /* at least 90 % waited no longer than p90 */
			below += (double)(jobs[i].start_ns - jobs[i].submit_ns) / 1e9 <=
				 metrics.p90_wait_s;
			if (i + 1 == count)
				CHECK(below * 100 >= count * 90);
		}
	}
}

static int measure_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_arena own;
	struct metrics out = { .jobs = 77 };

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = metrics_measure(four, 4, 4, &own, &out, ret_err);

	if (rc)
		CHECK_INT(out.jobs, 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(measure_again, NULL) >= 4);
}

/* ---- the published schedules ---- */

static const char *load_file(const char *name, const char *ending, size_t *ret_length)
{
	char path[100];
	const char *text;

	snprintf(path, sizeof(path), "traces/%s%s", name, ending);
	CHECK_OK(input_read(env_system(), test_shared_file(path), STRATA_INPUT_BYTES_MAX, &arena,
			    &text, ret_length, &err));
	return text;
}

/* What was published about a column of a schedule is what we measure, to every printed digit. */
static void check_schedule(const char *log, const char *schedule, int64_t procs, const char *column,
			   const char *want)
{
	struct strata_swf swf;
	struct strata_swf_arrival *arrivals;
	struct starts_row *starts;
	size_t length, count, start_count;
	char got[200];

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	const char *text = load_file(log, ".swf.gz", &length);

	CHECK_OK(strata_swf_read(text, length, &arena, &swf, &err));
	CHECK_OK(strata_swf_load(&swf, STRATA_SWF_PLAIN, &arena, &arrivals, &count, NULL, &err));
	text = load_file(schedule, ".starts.csv.gz", &length);
	CHECK_OK(starts_read(text, length, column, &arena, &starts, &start_count, &err));
	CHECK_INT(start_count, count);
	struct metrics_job *jobs = strata_arena_array(&arena, count, sizeof(*jobs));

	CHECK(jobs);
	for (size_t i = 0; i < count; i++) {
		CHECK_INT(starts[i].number, arrivals[i].number);
		jobs[i] = (struct metrics_job){ .submit_ns = arrivals[i].submit_ns,
						.start_ns = starts[i].start_ns,
						.run_ns = arrivals[i].run_ns,
						.requested_ns = arrivals[i].requested_ns,
						.procs = arrivals[i].procs,
						.user = arrivals[i].user };
	}
	CHECK_OK(metrics_measure(jobs, count, procs ? procs : strata_swf_procs(&swf), &arena,
				 &metrics, &err));
	snprintf(got, sizeof(got), "%.3f %.4f %.0f %.0f %.5f", metrics.mean_wait_s,
		 metrics.avg_bsld, metrics.max_wait_s, metrics.makespan_s, metrics.utilization);
	CHECK_TEXT(got, want);
}

TEST(kth_sp2_measures_as_published)
{
	check_schedule("kth_sp2", "kth_sp2", 0, "start_fcfs",
		       "353776.409 6814.9733 946685 29379608 0.68524");
	check_schedule("kth_sp2", "kth_sp2", 0, "start_easy",
		       "6836.872 92.5765 262194 29363626 0.68561");
	check_schedule("kth_sp2", "kth_sp2", 0, "start_sjbf",
		       "5904.077 69.4054 284815 29363626 0.68561");
	check_schedule("kth_sp2", "kth_sp2", 0, "start_conservative",
		       "7310.551 88.9973 249058 29363626 0.68561");
}

TEST(sdsc_sp2_measures_as_published)
{
	check_schedule("sdsc_sp2", "sdsc_sp2", 0, "start_fcfs",
		       "1535568.622 13823.5339 5481706 68579444 0.75828");
	check_schedule("sdsc_sp2", "sdsc_sp2", 0, "start_easy",
		       "20497.761 87.8703 459740 63192188 0.82293");
	check_schedule("sdsc_sp2", "sdsc_sp2", 0, "start_sjbf",
		       "20793.595 84.8889 519155 63189634 0.82296");
	check_schedule("sdsc_sp2", "sdsc_sp2", 0, "start_conservative",
		       "21889.302 89.6563 692773 63200818 0.82282");
}

TEST(sdsc_blue_measures_as_published)
{
	check_schedule("sdsc_blue", "sdsc_blue", 0, "start_fcfs",
		       "360207.506 3280.3564 2725406 87048356 0.74143");
	check_schedule("sdsc_blue", "sdsc_blue", 0, "start_easy",
		       "7690.844 36.5234 428774 84720170 0.76181");
	check_schedule("sdsc_blue", "sdsc_blue", 0, "start_sjbf",
		       "5821.751 19.8260 494690 84720170 0.76181");
}

TEST(curie_measures_as_published)
{
	check_schedule("curie", "curie", 0, "start_easy",
		       "6369.102 202.1332 254229 22031371 0.71203");
}

TEST(philly_measures_as_published)
{
	check_schedule("philly", "philly512", 512, "start_fcfs",
		       "475770.450 2713.8481 901927 9408754 0.73093");
	check_schedule("philly", "philly512", 512, "start_easy",
		       "422828.165 1665.2073 882779 9408754 0.73093");
}
