#include "solver_sample.h"

#include <math.h>

static struct solver_sample sample;

TEST(the_last_step_ends_at_the_clean_sample)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "edm_dpmpp", 8);
	const struct strata_solver_row *last = &table->rows[7];

	CHECK_INT(table->slot_count, 1);
	CHECK_NEAR(last->next.a, last->p, 1e-12);
	CHECK_NEAR(last->next.e, last->q, 1e-12);
	CHECK(table->rows[1].next.c[0] < 0); /* the last prediction is taken off */
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(an_sde_keeps_the_variance)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(
		&sample, "edm_dpmpp:algorithm_type=sde-dpmsolver++:solver_order=1", 8);

	for (size_t i = 0; i + 1 < 8; i++) {
		const struct strata_solver_row *row = &table->rows[i], *next = row + 1;
		/* what is left of the sample once the clean one is taken out */
		double kept = row->next.a - row->p * row->next.e / row->q;

		CHECK_NEAR(hypot(kept * row->sigma, row->next.d), next->sigma, 1e-9 * row->sigma);
		CHECK(row->flags & STRATA_ROW_NOISE);
	}
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}
