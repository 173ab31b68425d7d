/*
 * The quantile as torch.quantile computes it: linear between the two nearest ranks, in float32. The order statistic is found
 * exactly and without memory: positive floats order as their bits do, so three counting passes over 11, 11 and 9 bits settle
 * it; y is computed anew in each, block by block.
 */
#include "solver/threshold.h"

#include "solver/row.h"

#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

struct scan {
	const struct kernel *kernel;
	const struct terms *terms;
	const struct strata_solver_item *item;
	enum strata_element element;
	size_t count;
};

/* The bits of |y| of the elements from `first` on, and how many there are. */
static size_t magnitudes(const struct scan *scan, size_t first, uint32_t ret_bits[KERNEL_BLOCK])
{
	size_t left = scan->count - first, count = left < KERNEL_BLOCK ? left : KERNEL_BLOCK;
	float clean[KERNEL_BLOCK];

	if (scan->kernel)
		kernel_clean(scan->kernel, scan->terms, scan->item, scan->element, first, count,
			     clean);
	else
		row_clean(scan->terms, scan->item, scan->element, first, count, clean);
	memcpy(ret_bits, clean, count * sizeof(*ret_bits));
	for (size_t i = 0; i < count; i++)
		ret_bits[i] &= 0x7fffffff;
	return count;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The magnitude with `rank` smaller ones before it; and how many further ones are equal to it. */
static uint32_t select_rank(const struct scan *scan, size_t rank, size_t *ret_equal_after)
{
	static const struct digit {
		uint32_t shift, mask;
	} digits[PASSES] = { { 20, DIGITS - 1 }, { 9, DIGITS - 1 }, { 0, (1u << 9) - 1 } };
	uint32_t prefix = 0, settled = 0, bits[KERNEL_BLOCK];

	for (size_t pass = 0; pass < PASSES; pass++) {
		const struct digit *digit = &digits[pass];
		size_t seen[DIGITS] = { 0 };
		uint32_t value = 0;

		for (size_t i = 0, count; i < scan->count; i += count) {
			count = magnitudes(scan, i, bits);
			for (size_t k = 0; k < count; k++)
				if ((bits[k] & settled) == prefix)
					seen[bits[k] >> digit->shift & digit->mask]++;
		}
		while (rank >= seen[value])
			rank -= seen[value++];
		prefix |= value << digit->shift;
		settled |= digit->mask << digit->shift;
		*ret_equal_after = seen[value] - 1 - rank;
	}
	return prefix;
}

/* The smallest magnitude above one that is not the largest. */
static uint32_t next_above(const struct scan *scan, uint32_t magnitude)
{
	uint32_t best = UINT32_MAX, bits[KERNEL_BLOCK];

	for (size_t i = 0, count; i < scan->count; i += count) {
		count = magnitudes(scan, i, bits);
		for (size_t k = 0; k < count; k++)
			if (bits[k] > magnitude && bits[k] < best)
				best = bits[k];
	}
	return best;
}

float threshold_find(const struct kernel *kernel, const struct terms *terms,
		     const struct strata_solver_item *item, enum strata_element element,
		     size_t count)
{
	const struct scan scan = { kernel, terms, item, element, count };
	const float limit = (float)item->row->limit;
	float position = (float)item->row->threshold_ratio * (float)(count - 1);
	size_t below = (size_t)position < count ? (size_t)position : count - 1, equal_after;
	float weight = position - (float)below;
	uint32_t bits = select_rank(&scan, below, &equal_after);
	float value = float_of(bits);

	if (weight > 0 && below + 1 < count && !equal_after) {
		float above = float_of(next_above(&scan, bits));

		value = weight < 0.5f ? value + weight * (above - value)
				      : above - (above - value) * (1 - weight);
	}
	if (!(value > 1))
		value = 1;
	return value < limit ? value : limit;
}
