/* Figures are measured, so they are only checked for sense: what must hold on any machine, however busy. */
#include "test.h"

#include <strata/machine.h>

#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static int calls;
static void count_calls(void *context, int n, const float *a, const float *b, float *c)
{
	(void)context, (void)a, (void)b;
	calls++;
	memset(c, 0, (size_t)n * (size_t)n * sizeof(*c));
}

static double last;
static void follow(void *context, const char *what, double done)
{
	(void)context;
	CHECK(done >= last && done <= 1 && what[0]);
	last = done;
}

TEST(a_machine_is_measured)
{
	const struct strata_measure_conf conf = { .time_ns = 20000000, .progress = follow };
	struct strata_measured result;

	last = 0;
	CHECK_OK(strata_machine_measure(&conf, &memory, &result, &err));
	CHECK(result.flops_per_s > 1e6 && result.flops_per_s < 1e16);
	CHECK(result.bytes_per_s > 1e7 && result.bytes_per_s < 1e14);
	CHECK(result.overhead_ns > 0 && result.overhead_ns < 1e9);
	CHECK(result.network_bytes_per_s > 1e6 && result.network_latency_ns > 10);
	CHECK(last == 1);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_library_multiplies_when_there_is_one)
{
	const struct strata_measure_conf conf = { .time_ns = 1000000, .matmul = count_calls };
	struct strata_measured result;

	calls = 0;
	CHECK_OK(strata_machine_measure(&conf, &memory, &result, &err));
	CHECK(calls > 2);
	CHECK_INT(memory.used_bytes, 0);
}
