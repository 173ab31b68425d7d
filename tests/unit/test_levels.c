#include "solver_sample.h"

#include "solver/levels_int.h"

#include <errno.h>

static struct solver_sample sample;

TEST(training_levels_rise)
{
	struct levels levels = { 0 };

	solver_sample_start(&sample);
	CHECK_INT(levels_train(solver_sample_conf(&sample, "euler"), &sample.arena, &levels,
			       &sample.err),
		  0);
	CHECK_INT(levels.train.train_count, 1000);
	CHECK_NEAR(levels.train.sigma_min, 0.0291675, 1e-7);
	CHECK_NEAR(levels.train.sigma_max, 14.6146, 1e-4);
	for (size_t t = 1; t < 1000; t++)
		CHECK(levels.train.train_sigmas[t] > levels.train.train_sigmas[t - 1]);
	/* pure noise counts as 2^-24 of signal */
	CHECK_INT(levels_train(solver_sample_conf(&sample, "euler:rescale_betas_zero_snr"),
			       &sample.arena, &levels, &sample.err),
		  0);
	CHECK_NEAR(levels.train.sigma_max, 4096, 1e-3);
	CHECK_INT(levels_train(solver_sample_conf(&sample, "euler:beta_start=0:beta_end=0"),
			       &sample.arena, &levels, &sample.err),
		  -EINVAL);
	CHECK(strstr(sample.err.text, "add no noise"));
	solver_sample_end(&sample);
}

TEST(own_levels_have_timesteps_of_the_training)
{
	double sigmas[] = { 14.6146, 1, 0.0291675, 0 }, equal[] = { 2, 2 };
	struct strata_solver_request request = { .sigmas = sigmas, .sigma_count = 4 };
	struct levels levels = { 0 };

	solver_sample_start(&sample);
	CHECK_INT(levels_train(solver_sample_conf(&sample, "euler"), &sample.arena, &levels,
			       &sample.err),
		  0);
	CHECK_INT(levels_given(&request, &sample.arena, &levels, &sample.err), 0);
	CHECK_INT(levels.count, 3);
	CHECK_NEAR(levels.timesteps[0], 999, 1e-2);
	CHECK_NEAR(levels.timesteps[2], 0, 1e-2);
	CHECK(levels.timesteps[1] > 300 && levels.timesteps[1] < 400);
	request = (struct strata_solver_request){ .sigmas = equal, .sigma_count = 2 };
	CHECK_INT(levels_given(&request, &sample.arena, &levels, &sample.err), -EINVAL);
	CHECK(strstr(sample.err.text, "falling"));
	static double many[STRATA_SOLVER_STEPS_MAX + 2];

	for (size_t i = 0; i <= STRATA_SOLVER_STEPS_MAX; i++)
		many[i] = 14.0 - 0.001 * (double)i;
	request = (struct strata_solver_request){ .sigmas = many,
						  .sigma_count = STRATA_SOLVER_STEPS_MAX + 1 };
	CHECK_INT(levels_given(&request, &sample.arena, &levels, &sample.err), -EINVAL);
	CHECK(strstr(sample.err.text, "expected at most"));
	many[STRATA_SOLVER_STEPS_MAX] = 0; /* the end, which counts for none */
	CHECK_INT(levels_given(&request, &sample.arena, &levels, &sample.err), 0);
	CHECK_INT(levels.count, STRATA_SOLVER_STEPS_MAX);
	solver_sample_end(&sample);
}

TEST(stretching_ends_at_the_terminal)
{
	double sigmas[] = { 1, 0.6, 0.2 };
	struct strata_error err;

	CHECK_OK(levels_stretch(0.1, sigmas, 3, &err));
	CHECK_NEAR(sigmas[0], 1, 1e-12);
	CHECK_NEAR(sigmas[1], 1 - 0.4 * 0.9 / 0.8, 1e-12);
	CHECK_NEAR(sigmas[2], 0.1, 1e-12);
	CHECK_ERROR(levels_stretch(0.1, sigmas, 1, &err), -EINVAL, "at least two steps");
}
