#include "solver_sample.h"

#include "solver/levels.h"

#include <math.h>

static struct solver_sample sample;

static struct levels levels_of(const char *options, double lambda_min, unsigned rules)
{
	struct strata_solver_request request = { .steps = 5, .has_mu = true, .mu = 0.9 };
	struct levels levels;

	CHECK_INT(levels_dpm(solver_sample_conf(&sample, options), &request, lambda_min, rules,
			     &sample.arena, &levels, &sample.err),
		  0);
	return levels;
}

TEST(a_schedule_spans_the_whole_training)
{
	solver_sample_start(&sample);
	struct levels levels =
		levels_of("dpmpp_2m:timestep_spacing=leading:use_karras_sigmas", -INFINITY, 0);

	CHECK_NEAR(levels.sigmas[0], 14.6146, 1e-3);
	CHECK_NEAR(levels.sigmas[4], 0.0291675, 1e-6);
	CHECK(levels.timesteps[1] == floor(levels.timesteps[1])); /* whole */
	solver_sample_end(&sample);
}

TEST(what_the_last_step_ends_at)
{
	solver_sample_start(&sample);
	CHECK(levels_of("dpmpp_2m", -INFINITY, 0).sigmas[5] == 0);
	struct levels levels =
		levels_of("dpmpp_2m:final_sigmas_type=sigma_min:use_karras_sigmas", -INFINITY, 0);

	CHECK_NEAR(levels.sigmas[5], 0.0291675, 1e-6);
	levels = levels_of("dpmpp_2m:final_sigmas_type=sigma_min:use_flow_sigmas", -INFINITY,
			   LEVELS_LAST_OWN);
	CHECK(levels.sigmas[5] == levels.sigmas[4]);
	solver_sample_end(&sample);
}

TEST(a_flow_starts_at_1_or_just_below)
{
	solver_sample_start(&sample);
	struct levels levels =
		levels_of("unipc:use_flow_sigmas:flow_shift=3", -INFINITY, LEVELS_FROM_ONE);

	CHECK_NEAR(levels.sigmas[0], 1 - 1e-6, 1e-12); /* where lambda is still finite */
	CHECK_NEAR(levels.sigmas[1], 0.923166, 1e-6);
	CHECK(levels.timesteps[0] == 999);
	levels = levels_of("dpmpp_2m:use_flow_sigmas:flow_shift=3", -INFINITY, 0);
	CHECK_NEAR(levels.sigmas[0], 0.999666, 1e-6);
	levels = levels_of("dpmpp_2m:use_flow_sigmas:use_dynamic_shifting", -INFINITY, 0);
	CHECK_NEAR(levels.sigmas[1], exp(0.9) * 0.7992 / (1 + (exp(0.9) - 1) * 0.7992), 1e-9);
	solver_sample_end(&sample);
}

TEST(the_noisiest_levels_can_be_left_out)
{
	solver_sample_start(&sample);
	struct levels all = levels_of("dpmpp_2m", -INFINITY, 0);
	struct levels fewer = levels_of("dpmpp_2m", -2, 0);

	CHECK(all.timesteps[0] == 999);
	CHECK(fewer.timesteps[0] < 999 && -log(fewer.sigmas[0]) >= -2);
	solver_sample_end(&sample);
}
