#include "test.h"

#include "engine/language_sample.h"

#include <math.h>

static struct strata_memory memory;
static struct strata_error err;

static const float logits[] = { 0, 2, 1, 2, -1 };

static int64_t sample(double temperature, int64_t top_k, double top_p, double chance)
{
	const struct strata_sampling how = { temperature, top_k, top_p, 0 };
	struct strata_arena arena;
	int64_t id;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(language_sample(&how, logits, 5, chance, &arena, &id, &err));
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
	return id;
}

TEST(the_likeliest_is_the_first_of_equals)
{
	const float odd[] = { NAN, -3, NAN, -2 };

	CHECK_INT(language_likeliest(logits, 5), 1);
	CHECK_INT(language_likeliest(odd, 4), 3);
	CHECK_INT(sample(0, 0, 0, 0.9), 1);
}

/* How often each comes, over evenly spread chances. */
static void count(double temperature, int64_t top_k, double top_p, double *shares)
{
	for (int i = 0; i < 5; i++)
		shares[i] = 0;
	for (int i = 0; i < 10000; i++)
		shares[sample(temperature, top_k, top_p, (i + 0.5) / 10000)] += 1e-4;
}

TEST(tokens_come_by_their_likelihood)
{
	double shares[5], total = 0;

	for (int i = 0; i < 5; i++)
		total += exp(logits[i] / 0.5);
	count(0.5, 0, 0, shares);
	for (int i = 0; i < 5; i++)
		CHECK_NEAR(shares[i], exp(logits[i] / 0.5) / total, 2e-4);
}

TEST(only_the_likeliest_are_chosen_from)
{
	double shares[5];

	count(1, 2, 0, shares);
	CHECK_NEAR(shares[1], 0.5, 1e-3);
	CHECK_NEAR(shares[3], 0.5, 1e-3);
	count(1, 0, 0.5, shares); /* e^2 of 2e^2 + e + 1 + 1/e: two are needed for a half */
	CHECK_NEAR(shares[1] + shares[3], 1, 1e-9);
	count(1, 0, 1e-9, shares);
	CHECK_NEAR(shares[1], 1, 1e-9);
	count(1, 100, 1, shares);
	CHECK(shares[4] > 0);
}

static int sample_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	const struct strata_sampling how = { .temperature = 1 };
	struct strata_arena arena;
	int64_t id;

	(void)context;
	strata_arena_init(&arena, own, 0);
	int rc = language_sample(&how, logits, 5, 0.3, &arena, &id, why);

	strata_arena_fini(&arena);
	if (rc == 0)
		test_result_int(id);
	return rc;
}

TEST(memory_may_run_out)
{
	test_every_allocation(sample_once, NULL);
}
