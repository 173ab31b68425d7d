#include "solver_sample.h"

#include "core/half.h"

#include <math.h>

static struct solver_sample sample;
static const float noise[] = { 1, -2, 0.5f }, clean[] = { 3, 0, -1 };

TEST(text_to_image_begins_with_noise)
{
	float got[3];

	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "euler", 5);

	strata_solver_begin(table, NULL, noise, 3, STRATA_F32, got);
	for (size_t i = 0; i < 3; i++)
		CHECK(got[i] == (float)table->init_noise_sigma * noise[i]);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(image_to_image_begins_with_both)
{
	struct strata_solver_request request = { .steps = 10,
						 .has_strength = true,
						 .strength = 0.5 };
	struct strata_solver_table *table;
	float got[3], added[3];

	solver_sample_start(&sample);
	CHECK_INT(solver_sample_compile(&sample, "ddim", &request, &table), 0);
	strata_solver_begin(table, clean, noise, 3, STRATA_F32, got);
	strata_solver_add_noise(&table->rows[0], clean, noise, 3, STRATA_F32, added);
	CHECK_BYTES(got, added, sizeof(got));
	CHECK_NEAR((double)got[0], table->rows[0].alpha * 3 + table->rows[0].sigma, 1e-6);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(sixteen_bits_are_rounded_once)
{
	struct strata_solver_row row = { .alpha = 0.5, .sigma = 0.25 };
	uint16_t half[] = { half_from_float(3), half_from_float(0), half_from_float(-1) }, got[3];

	strata_solver_add_noise(&row, half, noise, 3, STRATA_F16, got);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(got[i], half_from_float(0.25f * noise[i] + 0.5f * clean[i]));
}
