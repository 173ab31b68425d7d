/* Repeatable random numbers for tests and benchmarks: same seed, same numbers, everywhere. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

/* The next number after a state, which is any seed at first (splitmix64). */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9E3779B97F4A7C15;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

/* 0 … count − 1; the bias is of no concern here. */
static inline uint64_t random_below(uint64_t *state, uint64_t count)
{
	return random_next(state) % count;
}

#endif
