#include "test.h"

#include <strata/rng.h>

#include <math.h>
#include <string.h>

TEST(words_are_philox_blocks_in_order)
{
	struct strata_rng rng;
	uint32_t want[4];

	strata_rng_init(&rng, 0x0000000500000007, 9);
	for (uint32_t block = 0; block < 3; block++) {
		strata_philox((uint32_t[]){ block, 0x80000000, 9, 0 }, (uint32_t[]){ 7, 5 }, want);
		for (int k = 0; k < 4; k++)
			CHECK_INT(strata_rng_u32(&rng), want[k]);
	}
	CHECK_INT(rng.position, 12);
}

TEST(a_seek_gives_the_numbers_that_were_there)
{
	struct strata_rng rng, other;
	uint32_t words[1000];

	strata_rng_init(&rng, 1, 2);
	for (int i = 0; i < 1000; i++)
		words[i] = strata_rng_u32(&rng);
	strata_rng_init(&other, 1, 2);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t at = i * 7919 % 1000;

		strata_rng_seek(&other, at);
		CHECK_INT(strata_rng_u32(&other), words[at]);
	}
	strata_rng_seek(&other,
			UINT64_MAX); /* the last word of the stream, and around to the first */
	strata_rng_u32(&other);
	CHECK_INT(strata_rng_u32(&other), words[0]);
}

TEST(a_copy_is_a_saved_state)
{
	struct strata_rng rng, saved;

	strata_rng_init(&rng, 3, 0);
	strata_rng_u32(&rng);
	saved = rng;
	double first = strata_rng_normal(&rng);

	strata_rng_u64(&rng);
	CHECK(strata_rng_normal(&saved) == first);
}

TEST(seeds_and_streams_differ)
{
	struct strata_rng a, b, c;

	strata_rng_init(&a, 1, 0);
	strata_rng_init(&b, 2, 0);
	strata_rng_init(&c, 1, 1);
	uint64_t x = strata_rng_u64(&a), y = strata_rng_u64(&b), z = strata_rng_u64(&c);

	CHECK(x != y && x != z && y != z);
}

TEST(reals_fill_the_unit_interval_evenly)
{
	struct strata_rng rng;
	int bins[10] = { 0 };
	double sum = 0;

	strata_rng_init(&rng, 4, 0);
	for (int i = 0; i < 100000; i++) {
		double x = strata_rng_real(&rng);

		CHECK(x >= 0 && x < 1 && x * 0x1p53 == floor(x * 0x1p53));
		bins[(int)(x * 10)]++;
		sum += x;
	}
	CHECK_NEAR(sum / 100000, 0.5, 0.004);
	for (int i = 0; i < 10; i++)
		CHECK_NEAR(bins[i], 10000, 500);
}

TEST(bounded_integers_are_in_range_and_even)
{
	static const uint64_t bounds[] = { 1, 2, 3, 7, 1000, UINT64_C(3) << 62, UINT64_MAX };
	struct strata_rng rng;
	int bins[7] = { 0 };

	strata_rng_init(&rng, 5, 0);
	for (size_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++)
		for (int i = 0; i < 1000; i++)
			CHECK(strata_rng_below(&rng, bounds[k]) < bounds[k]);
	for (int i = 0; i < 70000; i++)
		bins[strata_rng_below(&rng, 7)]++;
	for (int i = 0; i < 7; i++)
		CHECK_NEAR(bins[i], 10000, 500);
	/* Four words fall on each three numbers below 3·2^62: without drawing again, every third
	 * number would come half of the time. */
	int thirds = 0;

	for (int i = 0; i < 30000; i++)
		thirds += strata_rng_below(&rng, UINT64_C(3) << 62) % 3 == 0;
	CHECK_NEAR(thirds, 10000, 500);
}

TEST(normals_have_the_moments_and_tails_of_a_normal)
{
	struct strata_rng rng;
	double sum[5] = { 0 };
	int beyond = 0, n = 200000;

	strata_rng_init(&rng, 6, 0);
	for (int i = 0; i < n; i++) {
		double x = strata_rng_normal(&rng), power = 1;

		for (int k = 1; k <= 4; k++)
			sum[k] += power *= x;
		beyond += fabs(x) > 1.959963984540054;
	}
	CHECK_NEAR(sum[1] / n, 0, 0.01);
	CHECK_NEAR(sum[2] / n, 1, 0.015);
	CHECK_NEAR(sum[3] / n, 0, 0.04);
	CHECK_NEAR(sum[4] / n, 3, 0.1);
	CHECK_NEAR((double)beyond / n, 0.05, 0.002);
}

/* Recorded once: what a simulation draws must not change with the compiler, the machine or the C
 * library. */
TEST(normals_have_the_same_bits_everywhere)
{
	struct strata_rng rng;
	double sum = 0;

	strata_rng_init(&rng, 42, 0);
	for (int i = 0; i < 1000; i++)
		sum += strata_rng_normal(&rng);
	CHECK_BYTES(&sum, &(double){ 0x1.81d821b384984p+5 }, sizeof(sum));
}

TEST(the_logarithm_inside_agrees_with_the_library)
{
	struct strata_rng rng, twin;

	strata_rng_init(&rng, 7, 0);
	strata_rng_init(&twin, 7, 0);
	for (int i = 0; i < 10000; i++) {
		double got = strata_rng_normal(&rng), x, square;

		do {
			x = 2 * strata_rng_real(&twin) - 1;
			double y = 2 * strata_rng_real(&twin) - 1;
			square = x * x + y * y;
		} while (square >= 1);
		double want = x * sqrt(-2 * log(square) / square);

		CHECK_NEAR(got, want, 4e-16 * (1 + fabs(want)));
	}
}

TEST(a_shuffle_keeps_the_items_and_reaches_every_order)
{
	struct strata_rng rng;
	int orders[27] = { 0 };

	strata_rng_init(&rng, 8, 0);
	for (int i = 0; i < 6000; i++) {
		uint8_t items[3] = { 0, 1, 2 };

		strata_rng_shuffle(&rng, items, 3, 1);
		CHECK_INT((1 << items[0]) | (1 << items[1]) | (1 << items[2]), 7);
		orders[items[0] * 9 + items[1] * 3 + items[2]]++;
	}
	int seen = 0;

	for (int i = 0; i < 27; i++)
		if (orders[i]) {
			CHECK_NEAR(orders[i], 1000, 150);
			seen++;
		}
	CHECK_INT(seen, 6);
}

TEST(large_items_are_moved_whole)
{
	struct {
		char text[200];
	} items[5];
	struct strata_rng rng;
	int seen = 0;

	strata_rng_init(&rng, 9, 0);
	for (int i = 0; i < 5; i++)
		memset(items[i].text, i, sizeof(items[i].text));
	strata_rng_shuffle(&rng, items, 5, sizeof(items[0]));
	for (int i = 0; i < 5; i++) {
		for (size_t k = 1; k < sizeof(items[i].text); k++)
			CHECK_INT(items[i].text[k], items[i].text[0]);
		seen |= 1 << items[i].text[0];
	}
	CHECK_INT(seen, 31);
	strata_rng_shuffle(&rng, NULL, 0, 8);
	strata_rng_shuffle(&rng, items, 1, sizeof(items[0]));
}
