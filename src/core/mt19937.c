/*
 * MT19937 (Matsumoto and Nishimura 1998, 2002 initialisation). 624 words are made at a time and
 * tempered as they are taken; taking many at once is a straight loop.
 */
#include "core/mt19937.h"

#include <string.h>

enum { N = STRATA_MT19937_WORDS, M = 397, LANES = 8 };

void mt19937_init(struct strata_mt19937 *mt, uint32_t seed)
{
	mt->state[0] = seed;
	for (uint32_t i = 1; i < N; i++)
		mt->state[i] = 1812433253u * (mt->state[i - 1] ^ (mt->state[i - 1] >> 30)) + i;
	mt->used_count = N;
}

static inline uint32_t twist(uint32_t current, uint32_t next, uint32_t far)
{
	uint32_t mixed = (current & 0x80000000u) | (next & 0x7fffffffu);

	return far ^ (mixed >> 1) ^ (-(next & 1u) & 0x9908b0dfu);
}

/* New words for s[0] … s[count − 1] from their right neighbours and the words `far` ahead. Eight at
 * a time in a loop of constant length, which every compiler turns into vector code. */
static void twist_run(uint32_t *s, ptrdiff_t far, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		uint32_t made[LANES];

		for (size_t k = 0; k < LANES; k++)
			made[k] = twist(s[i + k], s[i + k + 1], s[(ptrdiff_t)(i + k) + far]);
		memcpy(s + i, made, sizeof(made));
	}
	for (; i < count; i++)
		s[i] = twist(s[i], s[i + 1], s[(ptrdiff_t)i + far]);
}

static void refill(struct strata_mt19937 *mt)
{
	uint32_t *s = mt->state;

	twist_run(s, M, N - M);
	twist_run(s + N - M, M - N, M - 1);
	s[N - 1] = twist(s[N - 1], s[0], s[M - 1]);
	mt->used_count = 0;
}

static inline uint32_t temper(uint32_t x)
{
	x ^= x >> 11;
	x ^= (x << 7) & 0x9d2c5680u;
	x ^= (x << 15) & 0xefc60000u;
	return x ^ (x >> 18);
}

uint32_t mt19937_u32(struct strata_mt19937 *mt)
{
	if (mt->used_count >= N)
		refill(mt);
	return temper(mt->state[mt->used_count++]);
}

uint64_t mt19937_u64(struct strata_mt19937 *mt)
{
	uint64_t high = mt19937_u32(mt);

	return high << 32 | mt19937_u32(mt);
}

static void temper_run(const uint32_t *restrict from, uint32_t *restrict to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			to[i + k] = temper(from[i + k]);
	for (; i < count; i++)
		to[i] = temper(from[i]);
}

void mt19937_fill(struct strata_mt19937 *mt, uint32_t *ret_words, size_t count)
{
	while (count > 0) {
		if (mt->used_count >= N)
			refill(mt);
		size_t left = N - mt->used_count, take = count < left ? count : left;

		temper_run(mt->state + mt->used_count, ret_words, take);
		mt->used_count += (uint32_t)take;
		ret_words += take;
		count -= take;
	}
}
