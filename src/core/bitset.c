/* The bitset of bitset.h. */
#include "core/bitset.h"

#include <errno.h>
#include <string.h>

int bitset_init(struct bitset *set, struct strata_memory *memory, size_t bit_count)
{
	uint64_t *words = NULL;

	if (bit_count > SIZE_MAX - 63)
		return -ENOMEM;
	if (bit_count > 0) {
		words = strata_memory_get(memory, BITSET_WORDS(bit_count) * sizeof(*words));
		if (!words)
			return -ENOMEM;
	}
	*set = (struct bitset){ .words = words, .bit_count = bit_count, .memory = memory };
	return 0;
}

void bitset_init_on(struct bitset *set, uint64_t *words, size_t bit_count)
{
	*set = (struct bitset){ .words = words, .bit_count = bit_count };
	if (bit_count > 0)
		memset(words, 0, BITSET_WORDS(bit_count) * sizeof(*words));
}

void bitset_fini(struct bitset *set)
{
	if (set->memory)
		strata_memory_put(set->memory, set->words,
				  BITSET_WORDS(set->bit_count) * sizeof(*set->words));
	*set = (struct bitset){ 0 };
}

/* The bits of word `index` that lie in first … end − 1; 0 for a word outside. */
static uint64_t range_mask(size_t index, size_t first, size_t end)
{
	uint64_t mask = UINT64_MAX;

	if (index == first / 64)
		mask &= UINT64_MAX << first % 64;
	if (index == end / 64)
		mask &= (1ull << end % 64) - 1;
	return mask;
}

void bitset_set_range(struct bitset *set, size_t first, size_t count)
{
	assert(first <= set->bit_count && count <= set->bit_count - first);
	for (size_t i = first / 64; i < BITSET_WORDS(first + count); i++)
		set->words[i] |= range_mask(i, first, first + count);
}

void bitset_clear_range(struct bitset *set, size_t first, size_t count)
{
	assert(first <= set->bit_count && count <= set->bit_count - first);
	for (size_t i = first / 64; i < BITSET_WORDS(first + count); i++)
		set->words[i] &= ~range_mask(i, first, first + count);
}

/* The first bit at or after `from` that differs from those of `flip` (all 0 or all 1). */
static size_t find(const struct bitset *set, size_t from, uint64_t flip)
{
	if (from >= set->bit_count)
		return set->bit_count;
	size_t i = from / 64, end = BITSET_WORDS(set->bit_count);
	uint64_t word = (set->words[i] ^ flip) & UINT64_MAX << from % 64;

	while (word == 0) {
		if (++i == end)
			return set->bit_count;
		word = set->words[i] ^ flip;
	}
	/* Past the end all bits are 0: the first clear one there is bit_count itself. */
	return i * 64 + (size_t)__builtin_ctzll(word);
}

size_t bitset_find_set(const struct bitset *set, size_t from)
{
	return find(set, from, 0);
}

size_t bitset_find_clear(const struct bitset *set, size_t from)
{
	return find(set, from, UINT64_MAX);
}

size_t bitset_find_run(const struct bitset *set, size_t from, size_t count, bool value)
{
	uint64_t flip = value ? 0 : UINT64_MAX;

	assert(count > 0);
	for (;;) {
		size_t first = find(set, from, flip);

		if (count > set->bit_count - first)
			return set->bit_count;
		from = find(set, first, ~flip); /* where the run ends */
		if (from - first >= count)
			return first;
	}
}

size_t bitset_count(const struct bitset *set)
{
	size_t count = 0;

	for (size_t i = 0; i < BITSET_WORDS(set->bit_count); i++)
		count += (size_t)__builtin_popcountll(set->words[i]);
	return count;
}

size_t bitset_count_both(const struct bitset *a, const struct bitset *b)
{
	size_t count = 0;

	assert(a->bit_count == b->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(a->bit_count); i++)
		count += (size_t)__builtin_popcountll(a->words[i] & b->words[i]);
	return count;
}

void bitset_copy(struct bitset *set, const struct bitset *from)
{
	assert(set->bit_count == from->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(set->bit_count); i++)
		set->words[i] = from->words[i];
}

void bitset_and(struct bitset *set, const struct bitset *with)
{
	assert(set->bit_count == with->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(set->bit_count); i++)
		set->words[i] &= with->words[i];
}

void bitset_or(struct bitset *set, const struct bitset *with)
{
	assert(set->bit_count == with->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(set->bit_count); i++)
		set->words[i] |= with->words[i];
}

void bitset_andnot(struct bitset *set, const struct bitset *without)
{
	assert(set->bit_count == without->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(set->bit_count); i++)
		set->words[i] &= ~without->words[i];
}

bool bitset_equal(const struct bitset *a, const struct bitset *b)
{
	assert(a->bit_count == b->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(a->bit_count); i++)
		if (a->words[i] != b->words[i])
			return false;
	return true;
}

bool bitset_contains(const struct bitset *whole, const struct bitset *part)
{
	assert(whole->bit_count == part->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(whole->bit_count); i++)
		if (part->words[i] & ~whole->words[i])
			return false;
	return true;
}

bool bitset_overlap(const struct bitset *a, const struct bitset *b)
{
	assert(a->bit_count == b->bit_count);
	for (size_t i = 0; i < BITSET_WORDS(a->bit_count); i++)
		if (a->words[i] & b->words[i])
			return true;
	return false;
}
