/*
 * A row as the kernels read it: coefficients rounded to float, terms that are 0 left out, operands in an order in which the
 * sums of a row mostly are beginnings of each other. A kernel then loads a value once and adds it to the first so many sums.
 */
#ifndef SOLVER_TERMS_H
#define SOLVER_TERMS_H

#include <strata/solver.h>

/* What a term is a multiple of. */
enum operand {
	OPERAND_CLEAN, /* y, which is computed */
	OPERAND_SAMPLE,
	OPERAND_OUTPUT,
	OPERAND_SLOT, /* the first of them */
	OPERAND_NOISE = OPERAND_SLOT + STRATA_SOLVER_SLOTS_MAX,
	OPERAND_COUNT
};

enum { SUMS_MAX = 1 + STRATA_SOLVER_WRITES_MAX, TARGET_NEXT = STRATA_SOLVER_SLOTS_MAX };

struct terms_sum {
	uint8_t target; /* the slot that is written, or TARGET_NEXT */
	uint8_t count;
	uint8_t operands[OPERAND_COUNT]; /* enum operand, in the order of addition */
	float factors[OPERAND_COUNT];
};

struct terms {
	float p, q; /* y before it is limited: p·x + q·m */
	bool limited;
	bool divided;   /* by the limit: STRATA_ROW_THRESHOLD */
	bool has_model; /* else m is the sample, and q 0 */
	bool nested;    /* the terms of each sum are the first `count` of the first sum's */
	uint8_t operand_count;
	uint8_t sum_count;
	uint8_t operands[OPERAND_COUNT]; /* what any sum reads, those that most sums read first */
	struct terms_sum sums[SUMS_MAX]; /* longest first */
};

void terms_of(const struct strata_solver_row *row, struct terms *ret_terms);

/* Is y among the operands? */
bool terms_have_clean(const struct terms *terms);

/* The buffer of an operand other than OPERAND_CLEAN; NULL for that. */
const void *terms_operand(const struct terms *terms, const struct strata_solver_item *item,
			  enum operand operand);

/* Where a sum goes. */
void *terms_target(const struct terms_sum *sum, const struct strata_solver_item *item);

#endif
