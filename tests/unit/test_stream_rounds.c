/* Rounds over a small model: what is measured, what is compared, what a schedule must be of. */
#include "weights_sample.h"

#include "bench/stream_rounds.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct stream_rounds rounds;
static const int64_t bytes[] = { 70000, 10000, 90000 };

static struct stream_rounds_conf usual(void)
{
	struct stream_rounds_conf conf = { .bench = { .compute_ns = 100000 },
					   .budget_bytes = 200000,
					   .page_bytes = 4096,
					   .cached = true,
					   .round_count = 2 };

	return conf;
}

static int run(const struct stream_rounds_conf *conf)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/m.safetensors", test_temp_dir());
	weights_write(path, bytes, 3, 1);
	strata_arena_init(&arena, &memory, 0);
	int rc = stream_rounds_open(&rounds, conf, path, NULL, &memory, &arena, &err);

	CHECK_INT(rc, 0);
	return stream_rounds_run(&rounds, &err);
}

static void end(void)
{
	stream_rounds_close(&rounds);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(rounds_are_measured_and_judged)
{
	struct stream_rounds_conf conf = usual();

	conf.spans = true;
	CHECK_OK(run(&conf));
	struct stream_result result = stream_rounds_judge(&rounds);

	CHECK(result.compute_ns >= 3 * 100000 && result.step_ns > 0);
	CHECK(result.io_ns > 0 && result.overlap > 0);
	CHECK_INT(result.steps, 1 + 2 * 4); /* the first, and four of each round */
	CHECK(rounds.bytes_per_s > 0);      /* it was measured */
	CHECK(rounds.spans.start_count == 2 && rounds.spans.count >= 6);
	CHECK(rounds.planner != NULL);
	end();
}

TEST(an_odd_and_an_even_number_of_rounds_have_a_median)
{
	struct stream_round three[] = { { 4, 1, 8 }, { 2, 3, 4 }, { 6, 1, 6 } };

	rounds = (struct stream_rounds){ .conf = { .round_count = 3 }, .rounds = three };
	struct stream_result result = stream_rounds_judge(&rounds);

	CHECK_NEAR(result.compute_ns, 4, 0);
	CHECK_NEAR(result.bound_ns, 4, 0);   /* of 4, 3, 6 */
	CHECK_NEAR(result.overlap, 0.75, 0); /* of 4/8, 3/4, 6/6 */
	rounds.conf.round_count = 2;
	CHECK_NEAR(stream_rounds_judge(&rounds).compute_ns, 3, 0);
}

TEST(a_schedule_has_the_layers_of_the_model)
{
	static const char whole[] =
		"fetch blocks.0\ncompute blocks.0\nrelease blocks.0\nfetch blocks.1\ncompute "
		"blocks.1\n"
		"release blocks.1\nfetch blocks.2\ncompute blocks.2\nrelease blocks.2\n";
	static const char other[] = "[{\"kind\":\"fetch\",\"layer_name\":\"x\"}]";
	struct stream_rounds_conf conf = usual();

	conf.schedule = whole;
	conf.schedule_bytes = sizeof(whole) - 1;
	CHECK_OK(run(&conf));
	end();
	conf.schedule = other;
	conf.schedule_bytes = sizeof(other) - 1;
	CHECK(run(&conf) != 0);
	end();
}
