#include "solver_sample.h"

#include "solver/edm.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;

TEST(levels_run_from_sigma_max_to_sigma_min)
{
	struct strata_solver_request request = { .steps = 5 };
	struct edm_levels levels;

	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);

	CHECK_INT(edm_start(solver_sample_conf(&sample, "edm_euler"), &request, &draft, &levels,
			    &sample.err),
		  0);
	CHECK_NEAR(levels.sigmas[0], 80, 1e-9);
	CHECK_NEAR(levels.sigmas[1], 17.5278, 1e-3);
	CHECK_NEAR(levels.sigmas[4], 0.002, 1e-12);
	CHECK(levels.sigmas[5] == 0);
	CHECK_NEAR(draft.init_noise_sigma, hypot(80, 1), 1e-12);
	CHECK_INT(edm_start(solver_sample_conf(&sample, "edm_euler:sigma_schedule=exponential:"
							"final_sigmas_type=sigma_min"),
			    &request, &draft, &levels, &sample.err),
		  0);
	CHECK_NEAR(levels.sigmas[2], sqrt(80 * 0.002), 1e-9);
	CHECK(levels.sigmas[5] == levels.sigmas[4]);
	solver_sample_end(&sample);
}

TEST(own_levels_must_fall)
{
	double rising[] = { 1, 2 }, falling[] = { 5, 1, 0 };
	struct strata_solver_request request = { .sigmas = rising, .sigma_count = 2 };
	struct edm_levels levels;

	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);
	const void *conf = solver_sample_conf(&sample, "edm_euler");

	CHECK_INT(edm_start(conf, &request, &draft, &levels, &sample.err), -EINVAL);
	CHECK(strstr(sample.err.text, "sigma 2 is 2"));
	request = (struct strata_solver_request){ .sigmas = falling, .sigma_count = 3 };
	CHECK_INT(edm_start(conf, &request, &draft, &levels, &sample.err), 0);
	CHECK_INT(levels.count, 2);
	request = (struct strata_solver_request){ .timesteps = falling, .timestep_count = 2 };
	CHECK_INT(edm_start(conf, &request, &draft, &levels, &sample.err), -EINVAL);
	solver_sample_end(&sample);
}

TEST(the_model_is_preconditioned)
{
	struct strata_solver_row row = { 0 };

	solver_sample_start(&sample);
	edm_fill(solver_sample_conf(&sample, "edm_euler"), 1e-9, 1e-9, &row);
	CHECK_NEAR(row.p, 1, 1e-9); /* without noise the sample is the clean sample */
	CHECK_NEAR(row.q, 0, 1e-8);
	edm_fill(solver_sample_conf(&sample, "edm_euler"), 1e6, 1e6, &row);
	CHECK_NEAR(row.p, 0, 1e-9); /* and with nothing but noise the model says it all */
	CHECK_NEAR(row.q, 0.5, 1e-6);
	edm_fill(solver_sample_conf(&sample, "edm_euler:prediction_type=v_prediction"), 1e6, 1e6,
		 &row);
	CHECK_NEAR(row.q, -0.5, 1e-6);
	solver_sample_end(&sample);
}
