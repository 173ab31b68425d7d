/* Learning from observed times: noise averages out, bounds hold, a drift is found and believed, what is new counts as dearer. */
#include "test.h"

#include <strata/place.h>
#include <strata/rng.h>

#include <strata/limits.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>

static struct strata_memory memory;
static struct strata_error err;

static struct strata_corrections *fresh(void)
{
	struct strata_corrections *corrections;

	CHECK_OK(strata_corrections_new(2, &memory, &corrections, &err));
	return corrections;
}

static double noisy(struct strata_rng *rng, double sigma)
{
	return exp(sigma * strata_rng_normal(rng));
}

TEST(noise_averages_out)
{
	struct strata_corrections *corrections = fresh();
	struct strata_rng rng;

	strata_rng_init(&rng, 1, 0);
	CHECK_NEAR(strata_corrections_factor(corrections, "MatMul", 0), 1, 0);
	for (int i = 0; i < 60; i++)
		CHECK_OK(strata_corrections_observe(corrections, "MatMul", 0, 100,
						    200 * noisy(&rng, 0.3), &err));
	CHECK_NEAR(strata_corrections_factor(corrections, "MatMul", 0), 2, 0.3);
	CHECK_NEAR(strata_corrections_sure(corrections, "MatMul", 0), 1, 0);
	CHECK_NEAR(strata_corrections_factor(corrections, "MatMul", 1), 1, 0);
	CHECK_NEAR(strata_corrections_factor(corrections, "Add", 0), 1, 0);
	CHECK_INT(strata_corrections_drifts(corrections), 0);
	strata_corrections_free(corrections);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_uncertain_counts_as_dearer)
{
	struct strata_corrections *corrections = fresh();

	CHECK_OK(strata_corrections_observe(corrections, "MatMul", 0, 100, 100, &err));
	double once = strata_corrections_factor(corrections, "MatMul", 0);

	CHECK(once > 1.1 && once < 1.25);
	for (int i = 0; i < 8; i++)
		CHECK_OK(strata_corrections_observe(corrections, "MatMul", 0, 100, 100, &err));
	CHECK_NEAR(strata_corrections_factor(corrections, "MatMul", 0), 1, 1e-12);
	strata_corrections_free(corrections);
}

TEST(a_drift_is_found)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct strata_corrections *corrections = fresh();
		struct strata_rng rng;
		double speed = seed % 2 ? 2.5 : 0.4;

		strata_rng_init(&rng, seed, 0);
		for (int i = 0; i < 40; i++)
			CHECK_OK(strata_corrections_observe(corrections, "MatMul", 0, 100,
							    100 * noisy(&rng, 0.1), &err));
		CHECK_INT(strata_corrections_drifts(corrections), 0);
		for (int i = 0; i < 20; i++)
			CHECK_OK(strata_corrections_observe(corrections, "MatMul", 0, 100,
							    100 * speed * noisy(&rng, 0.1), &err));
		CHECK_INT(strata_corrections_drifts(corrections), 1);
		CHECK_NEAR(strata_corrections_factor(corrections, "MatMul", 0), speed,
			   0.15 * speed);
		strata_corrections_free(corrections);
	}
}

TEST(bounds_and_nonsense)
{
	struct strata_corrections *corrections = fresh();

	for (int i = 0; i < 50; i++)
		CHECK_OK(strata_corrections_observe(corrections, "MatMul", 0, 1, 1e12, &err));
	CHECK_NEAR(strata_corrections_factor(corrections, "MatMul", 0), 16, 1e-9);
	CHECK_ERROR(strata_corrections_observe(corrections, "MatMul", 2, 1, 1, &err), -EINVAL,
		    "device 2");
	CHECK_ERROR(strata_corrections_observe(corrections, "MatMul", 0, 0, 1, &err), -EINVAL,
		    "expected two finite times above 0");
	CHECK_ERROR(strata_corrections_observe(corrections, "MatMul", 0, 1, NAN, &err), -EINVAL,
		    "expected two finite times above 0");
	strata_corrections_free(corrections);
	CHECK_ERROR(
		strata_corrections_new(STRATA_PLACE_DEVICES_MAX + 1, &memory, &corrections, &err),
		-EINVAL, "65 devices");
}

TEST(kinds_have_a_limit)
{
	struct strata_corrections *corrections = fresh();
	char kind[16];

	for (int i = 0; i < STRATA_PLACE_KINDS_MAX; i++) {
		snprintf(kind, sizeof(kind), "k%d", i);
		CHECK_OK(strata_corrections_observe(corrections, kind, 0, 1, 1, &err));
	}
	CHECK_ERROR(strata_corrections_observe(corrections, "more", 0, 1, 1, &err), -E2BIG,
		    "more than 65536 kinds");
	CHECK_OK(strata_corrections_observe(corrections, "k0", 0, 1, 1, &err));
	strata_corrections_free(corrections);
	CHECK_INT(memory.used_bytes, 0);
}

static int observe(struct strata_memory *mem, void *context, struct strata_error *error)
{
	struct strata_corrections *corrections;
	int rc = strata_corrections_new(1, mem, &corrections, error);

	if (rc)
		return rc;
	rc = strata_corrections_observe(corrections, "MatMul", 0, 1, 1, error);
	strata_corrections_free(corrections);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(observe, NULL) > 2);
}

TEST(what_was_seen_can_be_kept_and_put_back)
{
	struct strata_corrections *seen = fresh(), *again = fresh();
	struct strata_correction one;
	size_t kept = 0;

	for (int i = 0; i < 5; i++) {
		CHECK_OK(strata_corrections_observe(seen, "MatMul", 1, 100, 150, &err));
		CHECK_OK(strata_corrections_observe(seen, "Conv", 0, 100, 300, &err));
	}
	for (size_t i = 0; strata_corrections_at(seen, i, &one); i++)
		if (one.count) {
			CHECK_OK(strata_corrections_restore(again, &one, &err));
			kept++;
		}
	CHECK_INT(kept, 2);
	for (uint32_t device = 0; device < 2; device++) {
		CHECK(strata_corrections_factor(again, "MatMul", device) ==
		      strata_corrections_factor(seen, "MatMul", device));
		CHECK(strata_corrections_sure(again, "Conv", device) ==
		      strata_corrections_sure(seen, "Conv", device));
	}
	strata_corrections_free(seen);
	strata_corrections_free(again);
}

TEST(numbers_that_no_observation_leaves_are_not_put_back)
{
	struct strata_corrections *corrections = fresh();
	static const struct strata_correction wrong[] = {
		{ "MatMul", 2, 1, 1, 1 },           { "MatMul", 0, 4.01, 1, 1 },
		{ "MatMul", 0, 1, -4.01, 1 },       { "MatMul", 0, 1, 1, 0 },
		{ "MatMul", 0, (double)NAN, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERROR(strata_corrections_restore(corrections, &wrong[i], &err), -EINVAL,
			    "is not a correction");
	CHECK(strata_corrections_factor(corrections, "MatMul", 0) == 1);
	strata_corrections_free(corrections);
}

TEST(a_phase_has_corrections_of_its_own)
{
	const struct strata_op decode = { .kind = "MatMul", .phase = STRATA_PHASE_DECODE };
	const struct strata_op prefill = { .kind = "MatMul", .phase = STRATA_PHASE_PREFILL };
	const struct strata_op plain = { .kind = "MatMul" };
	struct strata_corrections *corrections = fresh();

	for (int i = 0; i < 8; i++)
		CHECK_OK(strata_corrections_observe_op(corrections, &decode, 0, 100, 400, &err));
	CHECK(fabs(strata_corrections_factor_op(corrections, &decode, 0) - 4) < 1e-9);
	/* what was never seen in its phase gets what is known of the kind */
	CHECK(fabs(strata_corrections_factor_op(corrections, &prefill, 0) - 4) < 1e-9);
	for (int i = 0; i < 8; i++)
		CHECK_OK(strata_corrections_observe_op(corrections, &prefill, 0, 100, 100, &err));
	CHECK(fabs(strata_corrections_factor_op(corrections, &decode, 0) - 4) < 1e-9);
	CHECK(fabs(strata_corrections_factor_op(corrections, &prefill, 0) - 1) < 1e-9);
	double both = strata_corrections_factor_op(corrections, &plain, 0);

	CHECK(both > 1 && both < 4);
	CHECK(strata_corrections_factor_op(corrections, &decode, 1) == 1);
	strata_corrections_free(corrections);
}
