/* turnaround: which goes first, and that nobody is passed once the bound is reached. */
#include "test.h"
#include "random.h"

#include "sim/replay.h"

#include <math.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define HOUR   (3600 * SECOND)

static struct strata_memory memory;
static struct strata_error err;

static double key(const char *text, int64_t wait_ns, int64_t predicted_ns, double size)
{
	struct strata_arena arena;
	struct strata_registry *registry;
	struct strata_spec spec;
	const struct strata_order_job job = { .submit_ns = 5 * SECOND,
					      .now_ns = 5 * SECOND + wait_ns,
					      .requested_ns = 10 * HOUR,
					      .predicted_ns = predicted_ns,
					      .size = size,
					      .cluster_size = 16 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(&strata_order_kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, text, strlen(text), &arena, &spec, &err));
	double found = ((const struct strata_order_class *)spec.cls)->key(spec.conf, &job);

	strata_registry_free(registry);
	strata_arena_fini(&arena);
	return found;
}

TEST(short_and_small_jobs_go_first_and_more_so_the_longer_they_wait)
{
	CHECK(key("turnaround", HOUR, HOUR, 1) < key("turnaround", HOUR, 2 * HOUR, 1));
	CHECK(key("turnaround", HOUR, HOUR, 1) < key("turnaround", HOUR, HOUR, 2));
	CHECK(key("turnaround", 2 * HOUR, HOUR, 1) < key("turnaround", HOUR, HOUR, 1));
	/* four times the size weighs as much as twice the time, unless told otherwise */
	CHECK_NEAR(key("turnaround", HOUR, 2 * HOUR - SECOND, 1),
		   key("turnaround", HOUR, HOUR - SECOND, 4) + log2(7200.0 / 3600) - 1, 1e-9);
	CHECK_NEAR(key("turnaround:size=0", HOUR, HOUR, 1),
		   key("turnaround:size=0", HOUR, HOUR, 16), 0);
}

TEST(whoever_has_waited_for_the_bound_goes_before_all_who_have_not)
{
	const char *const bound = "turnaround:bound=10h:large=0";

	CHECK(key(bound, 10 * HOUR, 9 * HOUR, 16) < key(bound, 10 * HOUR - 1, SECOND, 1));
	CHECK(key(bound, 10 * HOUR - 1, 9 * HOUR, 16) > key(bound, 10 * HOUR - 1, SECOND, 1));
	CHECK(key(bound, 11 * HOUR, 9 * HOUR, 16) < key(bound, 10 * HOUR, SECOND, 1));
	/* half of the cluster: a quarter of the half sooner */
	CHECK(key("turnaround:bound=10h:large=0.5", 15 * HOUR / 2, HOUR, 8) < -1e9);
	CHECK(key("turnaround:bound=10h:large=0.5", 15 * HOUR / 2 - 1, HOUR, 8) > -1e9);
	CHECK(key("turnaround:bound=10h:large=0.5", 5 * HOUR, HOUR, 40) < -1e9);
}

/* 16 processors, jobs that ask for more than there is over hours. */
static void check_world(uint64_t seed, const char *text, int64_t bound_ns)
{
	enum { COUNT = 60 };
	static const struct strata_node_conf pool = { .name = "pool", .cpu_milli = 16000 };
	static const struct machine machine = { &pool, 1, .flat = true, .capacity = 16 };
	struct strata_swf_arrival arrivals[COUNT];
	struct replay_conf conf = { .machine = &machine, .arrivals = arrivals, .arrival_count = COUNT };
	struct replay_result result;
	struct strata_registry *orders, *backfills;
	struct strata_arena arena;
	int64_t at_ns = 0;

	for (int i = 0; i < COUNT; i++) {
		at_ns += (int64_t)random_below(&seed, 1200) * SECOND;
		arrivals[i] = (struct strata_swf_arrival){
			.number = i + 1,
			.submit_ns = at_ns,
			.run_ns = (int64_t)(1 + random_below(&seed, 7200)) * SECOND,
			.procs = (int64_t)(1 + random_below(&seed, 16)),
			.user = i % 3,
		};
		arrivals[i].requested_ns = arrivals[i].run_ns;
	}
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(&strata_order_kind, &memory, &orders, &err));
	CHECK_OK(strata_registry_new(&strata_backfill_kind, &memory, &backfills, &err));
	CHECK_OK(strata_spec_read(orders, text, strlen(text), &arena, &conf.cluster.order, &err));
	CHECK_OK(strata_spec_read(backfills, "none", 4, &arena, &conf.cluster.backfill, &err));
	CHECK_OK(replay_run(&conf, &arena, &result, &err));
	CHECK_INT(result.job_count, COUNT);
	for (size_t i = 0; i < result.job_count; i++)
		for (size_t k = 0; k < result.job_count; k++)
			if (result.jobs[k].submit_ns > result.jobs[i].submit_ns &&
			    result.jobs[k].start_ns >= result.jobs[i].submit_ns + bound_ns)
				CHECK(result.jobs[i].start_ns <= result.jobs[k].start_ns);
	strata_registry_free(orders);
	strata_registry_free(backfills);
	strata_arena_fini(&arena);
}

TEST(nobody_who_was_submitted_later_passes_a_job_that_has_waited_for_its_bound)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		check_world(seed, "turnaround:bound=3h:large=0", 3 * HOUR);
}

