/*
 * Dynamic thresholding: the quantile of |y| over one batch member, as torch.quantile computes it (linear between the
 * two nearest ranks). The order statistic is found exactly and without memory: positive floats order as their bits do,
 * so three counting passes over 11, 11 and 9 bits settle it.
 */
#include "solver/row.h"

#include <math.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static uint32_t magnitude_bits(const struct strata_solver_item *item, enum strata_element element,
			       size_t i)
{
	float y = fabsf(row_predict(item->row, row_load(item->sample, element, i),
				    row_load(item->output, element, i)));
	uint32_t bits;

	memcpy(&bits, &y, sizeof(bits));
	return bits;
}

/* The magnitude with `rank` smaller ones before it, as bits. */
static uint32_t select_rank(const struct strata_solver_item *item, enum strata_element element,
			    size_t count, size_t rank)
{
	static const int shifts[] = { 20, 9, 0 };
	uint32_t prefix = 0, mask = 0;

	for (size_t pass = 0; pass < 3; pass++) {
		size_t seen[DIGITS] = { 0 };
		uint32_t digit = 0;
		uint32_t digit_mask = pass < 2 ? DIGITS - 1 : (1u << 9) - 1;

		for (size_t i = 0; i < count; i++) {
			uint32_t bits = magnitude_bits(item, element, i);

			if ((bits & mask) == prefix)
				seen[bits >> shifts[pass] & digit_mask]++;
		}
		while (rank >= seen[digit])
			rank -= seen[digit++];
		prefix |= digit << shifts[pass];
		mask |= digit_mask << shifts[pass];
	}
	return prefix;
}

static float magnitude(const struct strata_solver_item *item, enum strata_element element,
		       size_t count, size_t rank)
{
	uint32_t bits = select_rank(item, element, count, rank);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

float row_threshold(const struct strata_solver_item *item, enum strata_element element,
		    size_t count)
{
	double position = item->row->threshold_ratio * (double)(count - 1);
	size_t below = (size_t)position;
	float weight = (float)(position - (double)below);
	float value = magnitude(item, element, count, below);

	if (weight > 0)
		value += weight * (magnitude(item, element, count, below + 1) - value);
	if (!(value > 1))
		value = 1;
	return value < (float)item->row->limit ? value : (float)item->row->limit;
}
