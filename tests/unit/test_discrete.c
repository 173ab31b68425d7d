#include "solver_sample.h"

#include "solver/discrete.h"

#include <errno.h>
#include <stdio.h>

static struct solver_sample sample;

TEST(a_row_stands_where_its_timestep_does)
{
	struct strata_solver_request request = { .steps = 5,
						 .has_strength = true,
						 .strength = 0.6 };
	struct discrete_run run;
	struct strata_solver_row *row;

	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);

	CHECK_INT(discrete_start(&run, solver_sample_conf(&sample, "ddim"), &request, &draft,
				 &sample.err),
		  0);
	CHECK_INT(run.first, 2);
	CHECK_INT(run.stride, 200);
	CHECK_INT(draft.step_count, 3);
	CHECK(discrete_alpha(&run, -1, 0.25) == 0.25);
	double alpha = discrete_alpha(&run, 401, 0);

	CHECK_INT(discrete_row(&run, 2, 401, alpha, &row), 0);
	CHECK(row->timestep == 401 && row->step == 0);
	CHECK_NEAR(row->alpha * row->alpha, alpha, 1e-12);
	CHECK_NEAR(row->sigma * row->sigma, 1 - alpha, 1e-12);
	solver_sample_end(&sample);
}

TEST(epsilon_says_nothing_of_pure_noise)
{
	struct strata_solver_request request = { .steps = 5 };
	struct discrete_run run;
	struct strata_solver_row *row;

	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);

	CHECK_INT(discrete_start(&run, solver_sample_conf(&sample, "ddim"), &request, &draft,
				 &sample.err),
		  0);
	CHECK_INT(discrete_row(&run, 0, 999, 0, &row), -EINVAL);
	CHECK(strstr(sample.err.text, "v_prediction or sample"));
	run.conf = solver_sample_conf(&sample, "ddim:prediction_type=v_prediction");
	CHECK_INT(discrete_row(&run, 0, 999, 0, &row), 0);
	CHECK(row->p == 0 && row->q == -1);
	solver_sample_end(&sample);
}

/* Neither is passed over: another picture would come out than the one that was asked for. */
TEST(noise_levels_are_refused_with_what_takes_them)
{
	static const char *const names[] = { "ddim", "ddim_cogvideox", "ddim_inverse", "ddpm",
					     "lcm",  "pndm",           "tcd" };
	const double sigmas[] = { 14, 5, 1 };
	struct strata_solver_request request = { .sigmas = sigmas, .sigma_count = 3 };
	struct strata_solver_table *table;
	char scheduled[64];

	solver_sample_start(&sample);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK_INT(solver_sample_compile(&sample, names[i], &request, &table), -EINVAL);
		CHECK(strstr(sample.err.text, "takes no sigmas; expected timesteps"));
		snprintf(scheduled, sizeof(scheduled), "%s Karras", names[i]);
		CHECK_INT(solver_sample_compile(&sample, scheduled,
						&(struct strata_solver_request){ .steps = 5 },
						&table),
			  -EINVAL);
		CHECK(strstr(sample.err.text, "takes no schedule; expected timesteps"));
	}
	/* what the sentence offers */
	CHECK_INT(solver_sample_compile(&sample, "euler", &request, &table), 0);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}
