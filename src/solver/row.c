/* The scalar reference: see row.h for what is promised about the arithmetic. */
#include "solver/row.h"

#include "core/half.h"

#include <math.h>

float row_load(const void *buffer, enum strata_element element, size_t i)
{
	switch (element) {
	case STRATA_F16:
		return half_to_float(((const uint16_t *)buffer)[i]);
	case STRATA_BF16:
		return bfloat_to_float(((const uint16_t *)buffer)[i]);
	case STRATA_F32:
		break;
	}
	return ((const float *)buffer)[i];
}

void row_store(void *buffer, enum strata_element element, size_t i, float value)
{
	switch (element) {
	case STRATA_F16:
		((uint16_t *)buffer)[i] = half_from_float(value);
		return;
	case STRATA_BF16:
		((uint16_t *)buffer)[i] = bfloat_from_float(value);
		return;
	case STRATA_F32:
		break;
	}
	((float *)buffer)[i] = value;
}

static float clean(const struct terms *terms, const struct strata_solver_item *item,
		   enum strata_element element, size_t i)
{
	float x = row_load(item->sample, element, i);
	float m = row_load(terms_operand(terms, item, OPERAND_OUTPUT), element, i);

	return fmaf(terms->q, m, terms->p * x);
}

static float limit(const struct terms *terms, float y, float most)
{
	if (!terms->limited)
		return y;
	if (y > most)
		y = most;
	if (y < -most)
		y = -most;
	return terms->divided ? y / most : y;
}

void row_clean(const struct terms *terms, const struct strata_solver_item *item,
	       enum strata_element element, size_t first, size_t count, float *ret_clean)
{
	for (size_t i = 0; i < count; i++)
		ret_clean[i] = clean(terms, item, element, first + i);
}

static float add_up(const struct terms_sum *sum, const float *operands)
{
	float total = sum->count ? sum->factors[0] * operands[sum->operands[0]] : 0;

	for (size_t i = 1; i < sum->count; i++)
		total = fmaf(sum->factors[i], operands[sum->operands[i]], total);
	return total;
}

void row_apply(const struct terms *terms, const struct strata_solver_item *item,
	       enum strata_element element, size_t first, size_t count, float most)
{
	for (size_t i = first; i < first + count; i++) {
		float operands[OPERAND_COUNT], results[SUMS_MAX];

		for (size_t k = 0; k < terms->operand_count; k++) {
			enum operand operand = terms->operands[k];

			if (operand == OPERAND_CLEAN)
				operands[operand] =
					limit(terms, clean(terms, item, element, i), most);
			else
				operands[operand] = row_load(
					terms_operand(terms, item, operand),
					operand == OPERAND_NOISE ? STRATA_F32 : element, i);
		}
		for (size_t s = 0; s < terms->sum_count; s++)
			results[s] = add_up(&terms->sums[s], operands);
		for (size_t s = 0; s < terms->sum_count; s++)
			row_store(terms_target(&terms->sums[s], item), element, i, results[s]);
	}
}
