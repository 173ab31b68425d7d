/* What every prediction must keep. */
#include "test.h"

#include "core/class.h"

#include <strata/cluster.h>
#include <strata/rng.h>

#include <errno.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

struct open {
	const struct strata_prediction_class *cls;
	void *conf, *state;
};

static struct open start(const struct strata_class *cls)
{
	struct strata_schema schema = class_schema(cls);
	struct open open = { .cls = (const struct strata_prediction_class *)cls };

	open.conf = strata_arena_get(&arena, schema.conf_size);
	CHECK_OK(strata_schema_defaults(&schema, &arena, open.conf, &err));
	if (open.cls->open)
		CHECK_OK(open.cls->open(open.conf, &memory, &open.state, &err));
	return open;
}

static void stop(struct open *open)
{
	if (open->cls->close)
		open->cls->close(open->state);
}

static void each(void (*check)(const struct strata_class *cls))
{
	for (const struct strata_class *const *at = strata_prediction_kind.classes; *at; at++) {
		strata_arena_init(&arena, &memory, 0);
		check(*at);
		strata_arena_fini(&arena);
		CHECK_INT(memory.used_bytes, 0);
	}
}

static struct strata_run run_of(struct strata_rng *rng)
{
	return (struct strata_run){
		.user = 1 + strata_rng_below(rng, 300),
		.name = strata_rng_below(rng, 50),
		.size = (double)(1 + strata_rng_below(rng, 64)),
		.submit_ns = (int64_t)strata_rng_below(rng, 1000000) * 1000000000,
		.requested_ns = 1 + (int64_t)strata_rng_below(rng, 100000) * 1000000000,
	};
}

static void bounded(const struct strata_class *cls)
{
	struct open one = start(cls), two = start(cls);
	struct strata_rng rng;

	strata_rng_init(&rng, 7, 0);
	for (int i = 0; i < 5000; i++) {
		struct strata_run run = run_of(&rng);
		int64_t predicted = one.cls->predict(one.conf, one.state, &run);
		int64_t ran = 1 + (int64_t)strata_rng_below(&rng, (uint64_t)run.requested_ns);
		uint32_t corrections = (uint32_t)strata_rng_below(&rng, 20);
		int64_t more = one.cls->correct ? one.cls->correct(one.conf, one.state, &run, ran,
								   corrections)
						: run.requested_ns;

		CHECK_INT(two.cls->predict(two.conf, two.state, &run),
			  predicted); /* the same history, the same answer */
		CHECK(predicted >= 0);
		CHECK(more > ran || more >= run.requested_ns);
		if (one.cls->learn) {
			one.cls->learn(one.conf, one.state, &run, ran);
			two.cls->learn(two.conf, two.state, &run, ran);
		}
	}
	stop(&one);
	stop(&two);
}

TEST(predictions_are_repeatable_and_corrections_go_on)
{
	each(bounded);
}

static void learns(const struct strata_class *cls)
{
	struct open open = start(cls);
	struct strata_run run = { .user = 3, .name = 1, .size = 4, .requested_ns = 36000000000000 };

	for (int i = 0; open.cls->learn && i < 50; i++)
		open.cls->learn(open.conf, open.state, &run, 60000000000);
	int64_t predicted = open.cls->predict(open.conf, open.state, &run);

	if (open.cls->exact)
		CHECK_INT(predicted, run.requested_ns);
	else
		CHECK(predicted >= 30000000000 &&
		      predicted <= 600000000000); /* a minute each time, ten hours asked for */
	stop(&open);
}

TEST(the_same_run_again_and_again_is_learned)
{
	each(learns);
}

static int use(struct strata_memory *given, void *context, struct strata_error *error)
{
	const struct strata_prediction_class *cls = context;
	struct strata_schema schema = class_schema(&cls->base);
	struct strata_arena scratch;
	void *state = NULL;

	strata_arena_init(&scratch, given, 0);
	void *conf = strata_arena_get(&scratch, schema.conf_size);
	int rc = conf ? strata_schema_defaults(&schema, &scratch, conf, error)
		      : strata_fail_memory(error);

	if (rc == 0 && cls->open)
		rc = cls->open(conf, given, &state, error);
	for (uint64_t user = 1; rc == 0 && cls->learn && user < 200; user++) {
		struct strata_run run = { .user = user, .requested_ns = 1000 };

		cls->learn(conf, state, &run, 500); /* may forget */
		int64_t predicted = cls->predict(conf, state, &run);

		CHECK(predicted >= 0 && predicted <= 1000);
		test_result_int(cls->exact ? predicted : 0); /* what was forgotten is not known */
	}
	if (rc == 0 && cls->close)
		cls->close(state);
	strata_arena_fini(&scratch);
	return rc;
}

static void survives(const struct strata_class *cls)
{
	test_every_allocation(use, (void *)(uintptr_t)cls);
}

TEST(lack_of_memory_makes_it_forget_not_fail)
{
	each(survives);
}
