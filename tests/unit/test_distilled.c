#include "solver_sample.h"

#include <errno.h>

static struct solver_sample sample;

TEST(steps_are_some_of_the_distillations)
{
	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, "lcm", 4);
	const double want[] = { 999, 759, 499, 259 };

	for (size_t i = 0; i < 4; i++)
		CHECK(table->rows[i].timestep == want[i]);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(strength_shortens_the_schedule_and_not_the_steps)
{
	struct strata_solver_request request = { .steps = 5,
						 .has_strength = true,
						 .strength = 0.6 };
	struct strata_solver_table *table;

	solver_sample_start(&sample);
	CHECK_INT(solver_sample_compile(&sample, "tcd", &request, &table), 0);
	CHECK_INT(table->row_count, 5);
	CHECK(table->rows[0].timestep == 599 && table->rows[4].timestep == 119);
	CHECK(table->init_clean == table->rows[0].alpha);
	strata_solver_table_free(table, &sample.memory);
	request.strength = 0.05; /* 2 of 50 */
	CHECK_INT(solver_sample_compile(&sample, "tcd", &request, &table), -EINVAL);
	CHECK(strstr(sample.err.text, "1 to 2"));
	request = (struct strata_solver_request){ .steps = 4 };
	CHECK_INT(solver_sample_compile(&sample, "lcm:original_inference_steps=2000", &request,
					&table),
		  -EINVAL);
	CHECK(strstr(sample.err.text, "at most the 1000"));
	solver_sample_end(&sample);
}
