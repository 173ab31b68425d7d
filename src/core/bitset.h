/* A set of small numbers, one bit each, on words that the caller owns. A word of the caller's that is 0 holds none. */
#ifndef CORE_BITSET_H
#define CORE_BITSET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BITSET_WORDS(bit_count) (((bit_count) + 63) / 64)

struct bitset {
	uint64_t *words; /* borrowed: BITSET_WORDS(bit_count) of them */
	size_t bit_count;
};

/* Empty. */
static inline void bitset_init_on(struct bitset *set, uint64_t *words, size_t bit_count)
{
	*set = (struct bitset){ words, bit_count };
	memset(words, 0, BITSET_WORDS(bit_count) * sizeof(*words));
}

static inline void bitset_set(struct bitset *set, size_t bit)
{
	assert(bit < set->bit_count);
	set->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline bool bitset_test(const struct bitset *set, size_t bit)
{
	assert(bit < set->bit_count);
	return set->words[bit / 64] >> bit % 64 & 1;
}

#endif
