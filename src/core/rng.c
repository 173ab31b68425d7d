/*
 * The general stream: Philox blocks under key = seed with counter = (block, stream), handed out a
 * word at a time. A position names a word, so jumping is free. The normal uses its own logarithm:
 * the C library's may differ in the last bit from machine to machine, and a simulation must replay
 * byte for byte.
 */
#include <strata/rng.h>

#include "core/int128.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BLOCK_WORDS = 4 };
/* Set in word 1 of each counter, so that a seed shared with noise.c or torch_cuda.c shares no
 * block. */
#define COUNTERS_1 UINT32_C(0x80000000)

void strata_rng_init(struct strata_rng *rng, uint64_t seed, uint64_t stream)
{
	*rng = (struct strata_rng){ .seed = seed, .stream = stream };
}

void strata_rng_seek(struct strata_rng *rng, uint64_t position)
{
	rng->position = position;
}

uint32_t strata_rng_u32(struct strata_rng *rng)
{
	uint64_t block = rng->position / BLOCK_WORDS;

	if (rng->block != block + 1) {
		const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32) | COUNTERS_1,
					      (uint32_t)rng->stream,
					      (uint32_t)(rng->stream >> 32) };
		const uint32_t key[2] = { (uint32_t)rng->seed, (uint32_t)(rng->seed >> 32) };

		strata_philox(counter, key, rng->words);
		rng->block = block + 1;
	}
	return rng->words[rng->position++ % BLOCK_WORDS];
}

uint64_t strata_rng_u64(struct strata_rng *rng)
{
	uint64_t low = strata_rng_u32(rng);

	return (uint64_t)strata_rng_u32(rng) << 32 | low;
}

double strata_rng_real(struct strata_rng *rng)
{
	return (double)(strata_rng_u64(rng) >> 11) * 0x1p-53;
}

/* The high half of word × bound is uniform but for the low halves below 2^64 mod bound, which are
 * drawn again. */
uint64_t strata_rng_below(struct strata_rng *rng, uint64_t bound)
{
	assert(bound > 0);
	uint128 product = (uint128)strata_rng_u64(rng) * bound;

	if ((uint64_t)product < bound) {
		uint64_t surplus = -bound % bound;

		while ((uint64_t)product < surplus)
			product = (uint128)strata_rng_u64(rng) * bound;
	}
	return (uint64_t)(product >> 64);
}

/* ln x for normal x > 0 by additions, multiplications and one division: 2 atanh((m − 1) / (m + 1))
 * + e ln 2 with m in [√½, √2), where the series has converged after eleven terms. */
static double portable_log(double x)
{
	int exponent;
	double m = frexp(x, &exponent);

	if (m < 0.70710678118654752440) {
		m *= 2;
		exponent--;
	}
	static const double terms[] = { 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13,
					1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3 };
	double s = (m - 1) / (m + 1), square = s * s, sum = 0;

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		sum = (sum + terms[i]) * square;
	return 2 * (s + s * sum) + exponent * 0.69314718055994530942;
}

/* Marsaglia's polar method: a point of the unit disc gives a pair, of which one is used. */
double strata_rng_normal(struct strata_rng *rng)
{
	for (;;) {
		double x = 2 * strata_rng_real(rng) - 1, y = 2 * strata_rng_real(rng) - 1;
		double square = x * x + y * y;

		if (square < 1 && square > 0)
			return x * sqrt(-2 * portable_log(square) / square);
	}
}

static void swap_items(char *a, char *b, size_t size_bytes)
{
	char spare[64];

	while (size_bytes > 0) {
		size_t piece = size_bytes < sizeof(spare) ? size_bytes : sizeof(spare);

		memcpy(spare, a, piece);
		memcpy(a, b, piece);
		memcpy(b, spare, piece);
		a += piece;
		b += piece;
		size_bytes -= piece;
	}
}

void strata_rng_shuffle(struct strata_rng *rng, void *items, size_t count, size_t item_bytes)
{
	char *base = items;

	for (size_t i = count; i > 1; i--) {
		size_t k = strata_rng_below(rng, i);

		if (k != i - 1)
			swap_items(base + k * item_bytes, base + (i - 1) * item_bytes, item_bytes);
	}
}
