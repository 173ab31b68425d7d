/*
 * Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC'11): a keyed function from a 128-bit counter to
 * 128 random bits. There is no state to carry, so any number of any stream can be computed by
 * itself, in any order, on any thread. The constants are the paper's.
 */
#include <strata/rng.h>

#include "core/philox.h"
#include "core/wide.h"

#define MULTIPLIER_0 UINT32_C(0xD2511F53)
#define MULTIPLIER_1 UINT32_C(0xCD9E8D57)
#define WEYL_0 UINT32_C(0x9E3779B9)
#define WEYL_1 UINT32_C(0xBB67AE85)
enum { ROUNDS = 10 };

void strata_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret_words[4])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	uint32_t k0 = key[0], k1 = key[1];

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0, p1 = (uint64_t)MULTIPLIER_1 * c2;

		c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t)p1;
		c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t)p0;
		k0 += WEYL_0;
		k1 += WEYL_1;
	}
	ret_words[0] = c0;
	ret_words[1] = c1;
	ret_words[2] = c2;
	ret_words[3] = c3;
}

void philox_fill_plain(const struct philox_series *series, uint32_t *const ret_words[4],
		       size_t count)
{
	const uint32_t key[2] = { (uint32_t)series->key, (uint32_t)(series->key >> 32) };

	for (size_t i = 0; i < count; i++) {
		uint64_t low = series->low + i * series->low_step;
		uint64_t high = series->high + i * series->high_step;
		uint32_t words[4];

		strata_philox((const uint32_t[4]){ (uint32_t)low, (uint32_t)(low >> 32),
						   (uint32_t)high, (uint32_t)(high >> 32) },
			      key, words);
		for (int k = 0; k < 4; k++)
			ret_words[k][i] = words[k];
	}
}

#ifdef WIDE
/* Both halves of eight 32 × 32 products. */
WIDE static inline void multiply_wide(__m256i a, uint32_t b, __m256i *ret_low, __m256i *ret_high)
{
	__m256i factor = _mm256_set1_epi32((int)b);
	__m256i even = _mm256_mul_epu32(a, factor);
	__m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);

	*ret_low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
	*ret_high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

/* The low and high words of start + i·step for eight lanes i. */
WIDE static inline void count_wide(uint64_t start, uint32_t step, __m256i *ret_low,
				   __m256i *ret_high)
{
	uint32_t low[PHILOX_LANES], high[PHILOX_LANES];

	for (uint32_t i = 0; i < PHILOX_LANES; i++) {
		low[i] = (uint32_t)(start + i * step);
		high[i] = (uint32_t)((start + i * step) >> 32);
	}
	*ret_low = _mm256_loadu_si256((const __m256i *)low);
	*ret_high = _mm256_loadu_si256((const __m256i *)high);
}

WIDE static void fill_wide(const struct philox_series *series, uint32_t *const ret_words[4],
			   size_t count)
{
	for (size_t i = 0; i < count; i += PHILOX_LANES) {
		uint32_t k0 = (uint32_t)series->key, k1 = (uint32_t)(series->key >> 32);
		__m256i c[4];

		count_wide(series->low + i * series->low_step, series->low_step, &c[0], &c[1]);
		count_wide(series->high + i * series->high_step, series->high_step, &c[2], &c[3]);
		for (int round = 0; round < ROUNDS; round++) {
			__m256i low0, high0, low1, high1;

			multiply_wide(c[0], MULTIPLIER_0, &low0, &high0);
			multiply_wide(c[2], MULTIPLIER_1, &low1, &high1);
			c[0] = _mm256_xor_si256(_mm256_xor_si256(high1, c[1]),
						_mm256_set1_epi32((int)k0));
			c[1] = low1;
			c[2] = _mm256_xor_si256(_mm256_xor_si256(high0, c[3]),
						_mm256_set1_epi32((int)k1));
			c[3] = low0;
			k0 += WEYL_0;
			k1 += WEYL_1;
		}
		for (int k = 0; k < 4; k++)
			_mm256_storeu_si256((__m256i *)(ret_words[k] + i), c[k]);
	}
}
#endif

void philox_fill(const struct philox_series *series, uint32_t *const ret_words[4], size_t count)
{
#ifdef WIDE
	if (wide_present()) {
		fill_wide(series, ret_words, count);
		return;
	}
#endif
	philox_fill_plain(series, ret_words, count);
}
