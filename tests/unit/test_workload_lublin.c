#include "workload_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_swf swf;

enum { COUNT = 20000 };

static void make(const char *spec, uint64_t seed)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(workload_from(spec, COUNT, seed, &arena, &swf, &err));
}

static bool is_power(int64_t procs)
{
	return (procs & (procs - 1)) == 0;
}

/* Parts within four standard errors of the published parameters. */
TEST(sizes_are_as_published)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		size_t serial = 0, power = 0, large = 0;

		make("lublin:repeat=0", seed);
		for (size_t i = 0; i < COUNT; i++) {
			serial += swf.jobs[i].procs_requested == 1;
			power += is_power(swf.jobs[i].procs_requested);
			large += swf.jobs[i].procs_requested > 64;
		}
		CHECK_NEAR((double)serial / COUNT, 0.244, 0.0122);
		/* 0.244 + 0.576, and a few of the others that happen to be powers */
		CHECK((double)power / COUNT > 0.81 && (double)power / COUNT < 0.88);
		/* past 2^6: (1 − 0.244) · 0.14 · about two fifths of the upper stage */
		CHECK((double)large / COUNT > 0.02 && (double)large / COUNT < 0.06);
	}
}

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Short runs are e^gamma(4.2, 0.94), long ones e^gamma(312, 0.03): medians near 38 s and 3.2 h. */
TEST(run_times_have_two_humps_and_grow_with_size)
{
	static int64_t runs[COUNT];
	size_t long_small = 0, small = 0, long_large = 0, large = 0;

	make("lublin:repeat=0", 1);
	for (size_t i = 0; i < COUNT; i++) {
		const struct strata_swf_job *job = &swf.jobs[i];

		runs[i] = job->run_s;
		CHECK(job->run_s <= 162754); /* e^12 */
		if (job->procs_requested <= 4) {
			small++;
			long_small += job->run_s > 3600;
		} else if (job->procs_requested >= 48) {
			large++;
			long_large += job->run_s > 3600;
		}
	}
	qsort(runs, COUNT, sizeof(runs[0]), by_value);
	CHECK(runs[COUNT / 4] >= 15 && runs[COUNT / 4] <= 25);
	CHECK(runs[COUNT / 2] >= 70 && runs[COUNT / 2] <= 150);
	CHECK(runs[COUNT * 9 / 10] >= 12000 && runs[COUNT * 9 / 10] <= 18000);
	CHECK_NEAR((double)long_small / (double)small, 0.26, 0.04);
	CHECK((double)long_large / (double)large > 0.5);
}

TEST(jobs_come_by_day)
{
	size_t night = 0, noon = 0;

	make("lublin", 1);
	for (size_t i = 0; i < COUNT; i++) {
		int64_t hour = swf.jobs[i].submit_s % 86400 / 3600;

		night += hour >= 3 && hour < 6;
		noon += hour >= 12 && hour < 15;
	}
	CHECK(noon > 5 * night);
	make("lublin:cycle=false", 1);
	for (size_t i = night = noon = 0; i < COUNT; i++) {
		int64_t hour = swf.jobs[i].submit_s % 86400 / 3600;

		night += hour >= 3 && hour < 6;
		noon += hour >= 12 && hour < 15;
	}
	CHECK(noon < 1.3 * (double)night && night < 1.3 * (double)noon);
}

/* How often a user's job is like the one before. */
static double likeness(void)
{
	static const struct strata_swf_job *last[100];
	size_t alike = 0, pairs = 0;

	memset(last, 0, sizeof(last));
	for (size_t i = 0; i < COUNT; i++) {
		const struct strata_swf_job *job = &swf.jobs[i], *before = last[job->user];

		if (before) {
			double ratio = (double)job->run_s / (double)before->run_s;

			pairs++;
			alike += job->procs_requested == before->procs_requested && ratio < 3 &&
				 ratio > 0.3 && job->requested_s == before->requested_s &&
				 job->executable == before->executable;
		}
		last[job->user] = job;
	}
	return (double)alike / (double)pairs;
}

TEST(users_repeat_themselves)
{
	make("lublin:repeat=0", 1);
	CHECK(likeness() < 0.1);
	make("lublin:repeat=0.7", 1);
	CHECK_NEAR(likeness(), 0.7, 0.05);
}

TEST(users_differ_in_activity)
{
	size_t first = 0, last = 0;

	make("lublin:users=50", 1);
	for (size_t i = 0; i < COUNT; i++) {
		CHECK(swf.jobs[i].user >= 1 && swf.jobs[i].user <= 50);
		first += swf.jobs[i].user == 1;
		last += swf.jobs[i].user == 50;
	}
	CHECK(first > 20 * last && last > 0);
}

TEST(machines_of_any_size)
{
	make("lublin:procs=1", 1);
	for (size_t i = 0; i < COUNT; i++)
		CHECK_INT(swf.jobs[i].procs_requested, 1);
	for (int64_t procs = 2; procs < 3000; procs = procs * 3 / 2 + 1) {
		char spec[40];
		int64_t most = 0;

		snprintf(spec, sizeof(spec), "lublin:procs=%d", (int)procs);
		make(spec, 1);
		for (size_t i = 0; i < COUNT; i++) {
			CHECK(swf.jobs[i].procs_requested >= 1 &&
			      swf.jobs[i].procs_requested <= procs);
			most = swf.jobs[i].procs_requested > most ? swf.jobs[i].procs_requested
								  : most;
		}
		CHECK(most > procs / 2);
	}
}

TEST(the_bytes_are_the_same_on_every_machine)
{
	make("lublin:load=0.8", 7);
	CHECK_INT(workload_digest(&swf, &arena), 9127706171296731666);
}
