#include "solver_sample.h"

#include "solver/edm.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;

TEST(levels_run_from_sigma_max_to_sigma_min)
{
	struct strata_solver_request request = { .steps = 5 };
	struct edm_run run;

	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);

	CHECK_INT(edm_start(&run, solver_sample_conf(&sample, "edm_euler"), &request, &draft,
			    &sample.err),
		  0);
	CHECK_NEAR(run.sigmas[0], 80, 1e-9);
	CHECK_NEAR(run.sigmas[1], 17.5278, 1e-3);
	CHECK_NEAR(run.sigmas[4], 0.002, 1e-9);
	CHECK(run.sigmas[5] == 0);
	CHECK_NEAR(draft.init_noise_sigma, hypot(80, 1), 1e-12);
	CHECK_INT(edm_start(&run,
			    solver_sample_conf(&sample, "edm_euler:sigma_schedule=exponential:"
							"final_sigmas_type=sigma_min"),
			    &request, &draft, &sample.err),
		  0);
	CHECK_NEAR(run.sigmas[2], sqrt(80 * 0.002), 1e-7);
	CHECK(run.sigmas[5] == run.sigmas[4]);
	solver_sample_end(&sample);
}

TEST(own_levels_must_fall)
{
	double rising[] = { 1, 2 }, falling[] = { 5, 1, 0 };
	struct strata_solver_request request = { .sigmas = rising, .sigma_count = 2 };
	struct edm_run run;

	solver_sample_start(&sample);
	struct strata_solver_draft draft = solver_sample_draft(&sample);
	const void *conf = solver_sample_conf(&sample, "edm_euler");

	CHECK_INT(edm_start(&run, conf, &request, &draft, &sample.err), -EINVAL);
	CHECK(strstr(sample.err.text, "sigma 2 is 2"));
	request = (struct strata_solver_request){ .sigmas = falling, .sigma_count = 3 };
	CHECK_INT(edm_start(&run, conf, &request, &draft, &sample.err), 0);
	CHECK_INT(run.count, 2);
	request = (struct strata_solver_request){ .timesteps = falling, .timestep_count = 2 };
	CHECK_INT(edm_start(&run, conf, &request, &draft, &sample.err), -EINVAL);
	solver_sample_end(&sample);
}

/* One row of a run that stands at sigma. */
static struct strata_solver_row row_at(const char *options, double sigma)
{
	struct strata_solver_draft draft = solver_sample_draft(&sample);
	struct edm_run run = {
		.conf = solver_sample_conf(&sample, options),
		.draft = &draft,
		.err = &sample.err,
		.count = 1,
		.sigmas = &sigma,
	};
	struct strata_solver_row *row = NULL;

	CHECK_INT(edm_row(&run, 0, sigma, &row), 0);
	return *row;
}

TEST(the_model_is_preconditioned)
{
	solver_sample_start(&sample);
	struct strata_solver_row row = row_at("edm_euler", 1e-9);

	CHECK_NEAR(row.p, 1, 1e-9); /* without noise the sample is the clean sample */
	CHECK_NEAR(row.q, 0, 1e-8);
	row = row_at("edm_euler", 1e6);
	CHECK_NEAR(row.p, 0, 1e-9); /* and with nothing but noise the model says it all */
	CHECK_NEAR(row.q, 0.5, 1e-6);
	row = row_at("edm_euler:prediction_type=v_prediction", 1e6);
	CHECK_NEAR(row.q, -0.5, 1e-6);
	solver_sample_end(&sample);
}
