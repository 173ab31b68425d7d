/*
 * A set of small numbers, 0 … bit_count − 1, one bit each, worked on a word at a time: the GPUs of
 * a node, the nodes of a cluster, the frames of a buffer. The size is fixed at _init. Bits past the
 * end are always 0, which is what lets every operation use whole words.
 */
#ifndef CORE_BITSET_H
#define CORE_BITSET_H

#include <strata/memory.h>

#include <assert.h>

/* Words that hold so many bits. */
#define BITSET_WORDS(bit_count) (((bit_count) + 63) / 64)

struct bitset {
	uint64_t *words; /* owned if memory is set, else borrowed from the caller */
	size_t bit_count;
	struct strata_memory *memory; /* borrowed until bitset_fini; NULL: none was needed */
};

/* Empty, with words from memory. 0 or -ENOMEM. */
int bitset_init(struct bitset *set, struct strata_memory *memory, size_t bit_count);
/* Empty, on BITSET_WORDS(bit_count) words of the caller's, which must outlive it. */
void bitset_init_on(struct bitset *set, uint64_t *words, size_t bit_count);
void bitset_fini(struct bitset *set);

static inline void bitset_set(struct bitset *set, size_t bit)
{
	assert(bit < set->bit_count);
	set->words[bit / 64] |= 1ull << bit % 64;
}

static inline void bitset_clear(struct bitset *set, size_t bit)
{
	assert(bit < set->bit_count);
	set->words[bit / 64] &= ~(1ull << bit % 64);
}

static inline bool bitset_test(const struct bitset *set, size_t bit)
{
	assert(bit < set->bit_count);
	return set->words[bit / 64] >> bit % 64 & 1;
}

/* The bits first … first + count − 1, all of which must exist. */
void bitset_set_range(struct bitset *set, size_t first, size_t count);
void bitset_clear_range(struct bitset *set, size_t first, size_t count);

/* The first bit at or after `from` that is set (clear); bit_count when there is none. */
size_t bitset_find_set(const struct bitset *set, size_t from);
size_t bitset_find_clear(const struct bitset *set, size_t from);

/* Where the first run of `count` bits that are all `value` begins, at or after `from`; bit_count
 * when there is none. count must not be 0. */
size_t bitset_find_run(const struct bitset *set, size_t from, size_t count, bool value);

/* How many bits are set: in all, and in both of two sets. */
size_t bitset_count(const struct bitset *set);
size_t bitset_count_both(const struct bitset *a, const struct bitset *b);

/* The sets of the next functions have the same bit_count. */
void bitset_copy(struct bitset *set, const struct bitset *from);
void bitset_and(struct bitset *set, const struct bitset *with);
void bitset_or(struct bitset *set, const struct bitset *with);
void bitset_andnot(struct bitset *set, const struct bitset *without);
bool bitset_equal(const struct bitset *a, const struct bitset *b);
/* Every bit of `part` is in `whole`. */
bool bitset_contains(const struct bitset *whole, const struct bitset *part);
/* Some bit is in both. */
bool bitset_overlap(const struct bitset *a, const struct bitset *b);

#endif
