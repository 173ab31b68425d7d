#include "solver_sample.h"

#include <math.h>

static struct solver_sample sample;

TEST(a_walk_gives_the_rows_in_order)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "heun", 4);
	struct strata_solver_walk walk = { .table = table };

	for (size_t i = 0; i < table->row_count; i++)
		CHECK(strata_solver_next(&walk) == &table->rows[i]);
	CHECK(!strata_solver_next(&walk));
	CHECK(!strata_solver_next(&walk));
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

/* Walks the adaptive solver while every step has this error; returns the model calls. */
static size_t calls_with(const char *name, double error, double *ret_last_sigma)
{
	struct strata_solver_table *table = solver_sample_table(&sample, name, 20);
	struct strata_solver_walk walk = { .table = table };
	const struct strata_solver_row *row;
	size_t calls = 0;

	while ((row = strata_solver_next(&walk))) {
		calls += !(row->flags & STRATA_ROW_NO_MODEL);
		walk.error = error;
		*ret_last_sigma = row->sigma;
	}
	strata_solver_table_free(table, &sample.memory);
	return calls;
}

TEST(the_adaptive_solver_takes_longer_steps_when_the_error_is_small)
{
	double sigma;

	solver_sample_start(&sample);
	size_t easy = calls_with("dpm_adaptive", 1e-6, &sigma);
	size_t hard = calls_with("dpm_adaptive", 1, &sigma);

	CHECK(easy >= 9 && easy < hard);
	CHECK(hard % 3 == 0);
	CHECK(calls_with("dpm_adaptive:order=2", 1, &sigma) % 2 == 0);
	/* an error that is never small enough does not stop it */
	CHECK(calls_with("dpm_adaptive", 1e9, &sigma) > hard);
	solver_sample_end(&sample);
}

TEST(a_walk_can_be_copied)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "dpm_adaptive", 20);
	struct strata_solver_walk walk = { .table = table }, saved;

	for (int i = 0; i < 7; i++) {
		CHECK(strata_solver_next(&walk));
		walk.error = 0.5;
	}
	saved = walk;
	double sigma = strata_solver_next(&walk)->sigma;

	CHECK(strata_solver_next(&saved)->sigma == sigma);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(an_error_is_measured_in_units_of_what_is_allowed)
{
	float fine[] = { 1, 2 }, rough[] = { 1.1f, 2 }, before[] = { 0, 4 };
	void *slots[] = { rough, before };
	struct strata_solver_row row = { .limit = 0.01, .threshold_ratio = 0.1 };
	struct strata_solver_item item = { &row, fine, NULL, fine, slots, NULL };

	/* 0.1 off where 0.11 is allowed, 0 where 0.4 is */
	CHECK_NEAR(strata_solver_measure(&item, 2, STRATA_F32), 0.1 / 0.11 / sqrt(2), 1e-6);
	row.threshold_ratio = 0;
	CHECK_NEAR(strata_solver_measure(&item, 2, STRATA_F32), 10 / sqrt(2), 1e-4);
}
