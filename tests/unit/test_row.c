#include "row_sample.h"

#include "solver/row.h"

#include <math.h>

/* The formula of the header in double. */
static double want_sum(const struct strata_solver_sum *sum, const struct sample_item *sample,
		       double y, size_t i)
{
	double total = sum->a * (double)((float *)sample->tensors[0])[i] +
		       sum->e * (double)((float *)sample->tensors[1])[i] + sum->b * y +
		       sum->d * (double)((float *)sample->tensors[3])[i];

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		total += sum->c[k] * (double)((float *)sample->tensors[4 + k])[i];
	return total;
}

TEST(a_row_is_what_its_formula_says)
{
	enum { COUNT = 20 };
	uint64_t seed = 1;

	for (int round = 0; round < 500; round++) {
		struct strata_solver_row row = sample_row(&seed);
		struct sample_item before, after;
		struct terms terms;
		float most = 1.5f;

		row.flags &= ~(uint32_t)STRATA_ROW_NO_MODEL;
		terms_of(&row, &terms);
		sample_init(&before, &seed, STRATA_F32, COUNT, false, &row);
		sample_copy(&before, &after);
		row_apply(&terms, &after.item, STRATA_F32, 0, COUNT, most);
		for (size_t i = 0; i < COUNT; i++) {
			double y = row.p * (double)((float *)before.tensors[0])[i] +
				   row.q * (double)((float *)before.tensors[1])[i];

			if (row.flags & (STRATA_ROW_CLIP | STRATA_ROW_THRESHOLD))
				y = fmin(fmax(y, -(double)most), (double)most);
			if (row.flags & STRATA_ROW_THRESHOLD)
				y /= (double)most;
			CHECK_NEAR((double)((float *)after.item.next)[i],
				   want_sum(&row.next, &before, y, i), 2e-5);
			for (uint32_t w = 0; w < row.write_count; w++)
				CHECK_NEAR(
					(double)((float *)after.item.slots[row.writes[w].slot])[i],
					want_sum(&row.writes[w].sum, &before, y, i), 2e-5);
		}
		sample_fini(&after);
		sample_fini(&before);
	}
}

TEST(all_is_read_before_anything_is_written)
{
	/* The sample goes to a slot, the slot to the sample, in place. */
	struct strata_solver_row row = { .next = { .c = { 1 } },
					 .writes = { { .slot = 0, .sum = { .a = 1 } } },
					 .write_count = 1 };
	float sample[2] = { 1, 2 }, slot[2] = { 3, 4 };
	struct strata_solver_item item = {
		.row = &row, .sample = sample, .next = sample, .slots = (void *[]){ slot }
	};
	struct terms terms;

	terms_of(&row, &terms);
	row_apply(&terms, &item, STRATA_F32, 0, 2, 0);
	CHECK(sample[0] == 3 && sample[1] == 4 && slot[0] == 1 && slot[1] == 2);
}

TEST(a_sum_of_nothing_is_0)
{
	struct strata_solver_row row = { 0 };
	float sample[1] = { 1 }, next[1] = { 9 };
	struct strata_solver_item item = { .row = &row, .sample = sample, .next = next };
	struct terms terms;

	terms_of(&row, &terms);
	row_apply(&terms, &item, STRATA_F32, 0, 1, 0);
	CHECK(next[0] == 0);
}

TEST(what_is_not_a_number_stays_so_when_it_is_limited)
{
	struct strata_solver_row row = { .p = 1, .next = { .b = 1 }, .flags = STRATA_ROW_CLIP };
	float sample[3] = { NAN, 5, -5 };
	struct strata_solver_item item = {
		.row = &row, .sample = sample, .output = sample, .next = sample
	};
	struct terms terms;

	terms_of(&row, &terms);
	row_apply(&terms, &item, STRATA_F32, 0, 3, 2);
	CHECK(isnan(sample[0]) && sample[1] == 2 && sample[2] == -2);
}
