#include "test.h"

#include "sim/input.h"

#include <strata/limits.h>
#include <strata/swf.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_swf_arrival *arrivals;
static size_t count, left_out;

/* A log of jobs written as "number submit run used requested requested_time", one per line. */
static void read_short(const char *lines, struct strata_swf *swf)
{
	char text[4096];
	size_t used = 0;
	int number, submit, run, used_procs, procs, taken;
	long long requested;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	while (sscanf(lines, "%d %d %d %d %d %lld %n", &number, &submit, &run, &used_procs, &procs,
		      &requested, &taken) == 6) {
		used += (size_t)sprintf(
			text + used, "%d %d -1 %d %d -1 -1 %d %lld -1 1 %d -1 -1 -1 -1 -1 -1\n",
			number, submit, run, used_procs, procs, requested, number % 3);
		lines += taken;
	}
	CHECK_OK(strata_swf_read(text, used, &arena, swf, &err));
}

static int load(const char *lines, enum strata_swf_rule rule)
{
	struct strata_swf swf;

	read_short(lines, &swf);
	return strata_swf_load(&swf, rule, &arena, &arrivals, &count, &left_out, &err);
}

TEST(the_plain_rule_orders_by_submission_and_number)
{
	CHECK_OK(
		load("5 20 1 1 1 1\n7 10 1 1 1 1\n3 20 1 1 1 1\n1 30 1 1 1 1\n", STRATA_SWF_PLAIN));
	CHECK_INT(count, 4);
	CHECK_INT(left_out, 0);
	CHECK_INT(arrivals[0].number, 7);
	CHECK_INT(arrivals[1].number, 3);
	CHECK_INT(arrivals[2].number, 5);
	CHECK_INT(arrivals[3].number, 1);
	CHECK_INT(arrivals[1].job, 2);
	CHECK_INT(arrivals[1].submit_ns, 20 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[1].user, 0);
	CHECK_INT(arrivals[2].user, 2);
}

TEST(the_plain_rule_fills_what_is_not_known)
{
	CHECK_OK(load("1 0 100 4 8 200\n" /* the requested processors count */
		      "2 0 100 4 -1 200\n"
		      "3 0 100 4 4 -1\n"
		      "4 0 100 4 4 60\n" /* ran longer than it asked for */
		      "5 0 0 4 4 60\n"
		      "6 -1 5 4 4 60\n"
		      "7 0 -1 4 4 60\n"
		      "8 0 5 -1 -1 60\n"
		      "9 0 5 0 0 60\n",
		      STRATA_SWF_PLAIN));
	CHECK_INT(count, 5);
	CHECK_INT(left_out, 4);
	CHECK_INT(arrivals[0].procs, 8);
	CHECK_INT(arrivals[0].requested_ns, 200 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[1].procs, 4);
	CHECK_INT(arrivals[2].requested_ns, 100 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[3].requested_ns, 100 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[3].run_ns, 100 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[4].run_ns, 0);
}

TEST(with_demands_jobs_need_no_processors)
{
	CHECK_OK(load("5 20 1 1 4 1\n7 10 1 -1 0 1\n8 10 1 -1 -1 1\n9 10 -1 1 1 1\n",
		      STRATA_SWF_DEMANDS));
	CHECK_INT(count, 3);
	CHECK_INT(left_out, 1);
	CHECK_INT(arrivals[0].number, 7);
	CHECK_INT(arrivals[0].procs, 0);
	CHECK_INT(arrivals[1].procs, 0);
	CHECK_INT(arrivals[2].procs, 4);
}

TEST(the_windows_rule_is_that_of_the_experiments)
{
	CHECK_OK(load("9 0 100 4 8 200\n"
		      "2 7 100 8 4 -1\n"
		      "3 6 -1 4 4 -1\n"
		      "4 5 0 4 4 60\n"
		      "1 4 100 4 4 60\n",
		      STRATA_SWF_WINDOWS));
	CHECK_INT(count, 4);
	CHECK_INT(left_out, 1);
	CHECK_INT(arrivals[0].number, 1);
	CHECK_INT(arrivals[0].requested_ns, 60 * STRATA_SECOND_NS); /* less than it ran */
	CHECK_INT(arrivals[1].number, 2);
	CHECK_INT(arrivals[1].procs, 8);
	CHECK_INT(arrivals[1].requested_ns, 100 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[2].run_ns, 10 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[2].requested_ns, 10 * STRATA_SECOND_NS);
	CHECK_INT(arrivals[3].procs, 8);
	CHECK_ERROR(load("1 0 100 1 1 1\n2 0 100 -1 -1 200\n", STRATA_SWF_WINDOWS), -EBADMSG,
		    "line 2: job 2 has no processors");
}

TEST(jobs_alike_keep_the_order_of_the_file)
{
	CHECK_OK(load("1 9 1 1 1 1\n1 5 2 1 1 2\n1 5 3 1 1 3\n1 5 4 1 1 4\n", STRATA_SWF_PLAIN));
	CHECK_INT(arrivals[0].job, 1);
	CHECK_INT(arrivals[1].job, 2);
	CHECK_INT(arrivals[2].job, 3);
	CHECK_INT(arrivals[3].job, 0);
	CHECK_OK(load("2 9 1 1 1 1\n1 5 2 1 1 2\n1 4 3 1 1 3\n", STRATA_SWF_WINDOWS));
	CHECK_INT(arrivals[0].job, 1);
	CHECK_INT(arrivals[1].job, 2);
}

static int load_times(int64_t submit_s, int64_t run_s, int64_t requested_s)
{
	struct strata_swf_job job = { .number = 4,
				      .line = 9,
				      .submit_s = submit_s,
				      .run_s = run_s,
				      .requested_s = requested_s,
				      .procs_used = 1 };
	struct strata_swf swf = { .jobs = &job, .job_count = 1 };

	return strata_swf_load(&swf, STRATA_SWF_PLAIN, &arena, &arrivals, &count, NULL, &err);
}

TEST(times_have_limits)
{
	const int64_t submit_max = STRATA_TIME_NS_MAX / STRATA_SECOND_NS;
	const int64_t run_max = STRATA_DURATION_NS_MAX / STRATA_SECOND_NS;

	CHECK_OK(load_times(submit_max, 1, 1));
	CHECK_INT(arrivals[0].submit_ns, submit_max * STRATA_SECOND_NS);
	CHECK_ERROR(load_times(submit_max + 1, 1, 1), -EBADMSG,
		    "line 9: job 4 has a submit time of 9214646400 s; expected 0 to 9214646399");
	CHECK_OK(load_times(0, run_max, 1));
	CHECK_ERROR(load_times(0, run_max + 1, 1), -EBADMSG, "a run time of 3155760001 s");
	CHECK_OK(load_times(0, 1, run_max));
	CHECK_INT(arrivals[0].requested_ns, STRATA_DURATION_NS_MAX);
	CHECK_OK(load_times(0, 1, run_max + 1));
	CHECK_INT(arrivals[0].requested_ns, STRATA_DURATION_NS_MAX);
	CHECK_OK(load_times(0, 1, INT64_MAX));
	CHECK_INT(arrivals[0].requested_ns, STRATA_DURATION_NS_MAX);
}

static int load_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_swf_arrival *out = NULL;
	struct strata_arena own;
	size_t out_count = 77;

	strata_arena_init(&own, failing, 0);
	int rc = strata_swf_load(context, STRATA_SWF_PLAIN, &own, &out, &out_count, NULL, ret_err);

	if (rc)
		CHECK(!out && out_count == 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	struct strata_swf swf;

	read_short("1 0 1 1 1 1\n", &swf);
	CHECK_INT(test_every_allocation(load_again, &swf), 1);
}

static void check_file(const char *path, enum strata_swf_rule rule, size_t jobs, size_t left)
{
	struct strata_swf swf;
	const char *text;
	size_t length;

	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(input_read(env_system(), test_shared_file(path), STRATA_INPUT_BYTES_MAX, &arena,
			    &text, &length, &err));
	CHECK_OK(strata_swf_read(text, length, &arena, &swf, &err));
	CHECK_OK(strata_swf_load(&swf, rule, &arena, &arrivals, &count, &left_out, &err));
	CHECK_INT(count, jobs);
	CHECK_INT(left_out, left);
}

TEST(the_public_logs_load)
{
	check_file("traces/kth_sp2.swf.gz", STRATA_SWF_PLAIN, 28481, 0);
	check_file("traces/rl_lublin_256.swf.gz", STRATA_SWF_WINDOWS, 10000, 0);
	check_file("traces/rl_sdsc_sp2_4.2_cln.swf.gz", STRATA_SWF_WINDOWS, 59705, 10);
}
