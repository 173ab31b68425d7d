/* From a row's doubles to what is added up, in which order: see terms.h. */
#include "solver/terms.h"

/* The factors of a sum, 0 where it has no term. */
static void round_sum(const struct strata_solver_row *row, const struct strata_solver_sum *sum,
		      float ret_factors[OPERAND_COUNT])
{
	ret_factors[OPERAND_CLEAN] = (float)sum->b;
	ret_factors[OPERAND_SAMPLE] = (float)sum->a;
	ret_factors[OPERAND_OUTPUT] = row->flags & STRATA_ROW_NO_MODEL ? 0 : (float)sum->e;
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		ret_factors[OPERAND_SLOT + k] = (float)sum->c[k];
	ret_factors[OPERAND_NOISE] = (float)sum->d;
}

/* Operands by the number of sums that read them; equal ones stay as the enumeration has them. */
static void order_operands(float (*factors)[OPERAND_COUNT], struct terms *terms)
{
	uint8_t reads[OPERAND_COUNT] = { 0 };

	for (size_t s = 0; s < terms->sum_count; s++)
		for (size_t k = 0; k < OPERAND_COUNT; k++)
			reads[k] += factors[s][k] != 0;
	for (uint8_t most = terms->sum_count; most > 0; most--)
		for (size_t k = 0; k < OPERAND_COUNT; k++)
			if (reads[k] == most)
				terms->operands[terms->operand_count++] = (uint8_t)k;
}

static void fill_sum(const struct terms *terms, const float *factors, uint8_t target,
		     struct terms_sum *sum)
{
	sum->target = target;
	sum->count = 0;
	for (size_t i = 0; i < terms->operand_count; i++) {
		uint8_t k = terms->operands[i];

		if (factors[k] == 0)
			continue;
		sum->operands[sum->count] = k;
		sum->factors[sum->count++] = factors[k];
	}
}

static void order_sums(struct terms *terms)
{
	for (size_t s = 1; s < terms->sum_count; s++)
		for (size_t i = s; i > 0 && terms->sums[i].count > terms->sums[i - 1].count; i--) {
			struct terms_sum sum = terms->sums[i];

			terms->sums[i] = terms->sums[i - 1];
			terms->sums[i - 1] = sum;
		}
}

static bool is_nested(const struct terms *terms)
{
	if (terms->sums[0].count != terms->operand_count)
		return false;
	for (size_t s = 1; s < terms->sum_count; s++)
		for (size_t i = 0; i < terms->sums[s].count; i++)
			if (terms->sums[s].operands[i] != terms->operands[i])
				return false;
	return true;
}

void terms_of(const struct strata_solver_row *row, struct terms *ret_terms)
{
	const uint32_t limits = STRATA_ROW_CLIP | STRATA_ROW_THRESHOLD;
	float factors[SUMS_MAX][OPERAND_COUNT];
	struct terms *terms = ret_terms;

	terms->has_model = !(row->flags & STRATA_ROW_NO_MODEL);
	terms->p = (float)row->p;
	terms->q = terms->has_model ? (float)row->q : 0;
	terms->limited = row->flags & limits;
	terms->divided = row->flags & STRATA_ROW_THRESHOLD;
	terms->operand_count = 0;
	terms->sum_count = (uint8_t)(1 + row->write_count);
	round_sum(row, &row->next, factors[0]);
	for (size_t w = 0; w < row->write_count; w++)
		round_sum(row, &row->writes[w].sum, factors[1 + w]);
	order_operands(factors, terms);
	fill_sum(terms, factors[0], TARGET_NEXT, &terms->sums[0]);
	for (size_t w = 0; w < row->write_count; w++)
		fill_sum(terms, factors[1 + w], (uint8_t)row->writes[w].slot, &terms->sums[1 + w]);
	order_sums(terms);
	terms->nested = is_nested(terms);
}

bool terms_have_clean(const struct terms *terms)
{
	for (size_t i = 0; i < terms->operand_count; i++)
		if (terms->operands[i] == OPERAND_CLEAN)
			return true;
	return false;
}

const void *terms_operand(const struct terms *terms, const struct strata_solver_item *item,
			  enum operand operand)
{
	switch (operand) {
	case OPERAND_CLEAN:
		return NULL;
	case OPERAND_SAMPLE:
		return item->sample;
	case OPERAND_OUTPUT:
		return terms->has_model ? item->output : item->sample;
	case OPERAND_NOISE:
		return item->noise;
	default:
		return item->slots[operand - OPERAND_SLOT];
	}
}

void *terms_target(const struct terms_sum *sum, const struct strata_solver_item *item)
{
	return sum->target == TARGET_NEXT ? item->next : item->slots[sum->target];
}
