#include "test.h"

#include "solver/terms.h"

static struct terms terms_for(const struct strata_solver_row *row)
{
	struct terms terms;

	terms_of(row, &terms);
	return terms;
}

TEST(what_has_no_coefficient_is_not_read)
{
	struct terms terms = terms_for(&(struct strata_solver_row){
		.next = { .a = 0.5, .c = { [2] = 0.25 }, .d = 1e-60 } });

	CHECK_INT(terms.operand_count, 2); /* 1e-60 is 0 as a float */
	CHECK_INT(terms.operands[0], OPERAND_SAMPLE);
	CHECK_INT(terms.operands[1], OPERAND_SLOT + 2);
	CHECK_INT(terms.sum_count, 1);
	CHECK(terms.sums[0].factors[0] == 0.5f && terms.sums[0].factors[1] == 0.25f);
	CHECK(!terms_have_clean(&terms));
	CHECK(terms.nested);
}

TEST(what_most_sums_read_comes_first)
{
	/* As DPM++ 2M: the next sample from x, m and the last y; y is kept. */
	struct terms terms = terms_for(
		&(struct strata_solver_row){ .next = { .a = 1, .e = 2, .c = { 3 } },
					     .writes = { { .slot = 1, .sum = { .e = 4 } } },
					     .write_count = 1 });

	CHECK_INT(terms.operands[0], OPERAND_OUTPUT);
	CHECK_INT(terms.operands[1], OPERAND_SAMPLE);
	CHECK_INT(terms.operands[2], OPERAND_SLOT);
	CHECK_INT(terms.sums[0].target, TARGET_NEXT);
	CHECK_INT(terms.sums[1].target, 1);
	CHECK_INT(terms.sums[1].count, 1);
	CHECK(terms.sums[1].factors[0] == 4);
	CHECK(terms.nested);
}

TEST(the_longest_sum_comes_first)
{
	struct terms terms = terms_for(
		&(struct strata_solver_row){ .next = { .b = 1 },
					     .writes = { { .slot = 5, .sum = { .a = 1, .b = 1 } } },
					     .write_count = 1 });

	CHECK_INT(terms.sums[0].target, 5);
	CHECK_INT(terms.sums[1].target, TARGET_NEXT);
	CHECK_INT(terms.operands[0], OPERAND_CLEAN);
	CHECK(terms_have_clean(&terms));
	CHECK(terms.nested);
}

TEST(sums_of_different_things_are_not_nested)
{
	struct terms terms = terms_for(
		&(struct strata_solver_row){ .next = { .a = 1 },
					     .writes = { { .slot = 0, .sum = { .e = 1 } } },
					     .write_count = 1 });

	CHECK(!terms.nested);
}

TEST(without_a_model_its_output_is_not_read)
{
	struct strata_solver_row row = {
		.p = 1, .q = 1, .next = { .a = 1, .e = 1, .d = 1 }, .flags = STRATA_ROW_NO_MODEL
	};
	struct terms terms = terms_for(&row);
	float sample[1];
	struct strata_solver_item item = { .row = &row, .sample = sample };

	CHECK_INT(terms.operand_count, 2);
	CHECK(terms.q == 0);
	CHECK(terms_operand(&terms, &item, OPERAND_OUTPUT) == sample);
}
