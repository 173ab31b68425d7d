#include "solver_sample.h"

#include "solver/levels.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;
static struct strata_error err;

static struct levels levels_of(const char *options, double lambda_min, unsigned rules)
{
	const struct solver_conf *conf = solver_sample_conf(&sample, options);
	struct strata_solver_request request = { .steps = 5,
						 .has_mu = conf->use_dynamic_shifting,
						 .mu = 0.9 };
	struct levels levels;

	CHECK_INT(
		levels_dpm(conf, &request, lambda_min, rules, &sample.arena, &levels, &sample.err),
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

	CHECK_NEAR(levels.sigmas[0], 1 - 1e-6, 1e-7); /* where lambda is still finite */
	CHECK_NEAR(levels.sigmas[1], 0.923166, 1e-6);
	CHECK(levels.timesteps[0] == 999);
	levels = levels_of("dpmpp_2m:use_flow_sigmas:flow_shift=3", -INFINITY, 0);
	CHECK_NEAR(levels.sigmas[0], 0.999666, 1e-6);
	levels = levels_of("dpmpp_2m:use_flow_sigmas:use_dynamic_shifting", -INFINITY, 0);
	CHECK_NEAR(levels.sigmas[1], exp(0.9) * 0.7992 / (1 + (exp(0.9) - 1) * 0.7992), 1e-7);
	/* karras on a flow: sigma / (sigma + 1) */
	levels = levels_of("unipc:use_flow_sigmas:use_karras_sigmas", -INFINITY, LEVELS_FROM_ONE);
	CHECK_NEAR(levels.sigmas[0], 14.6146 / 15.6146, 1e-5);
	CHECK(levels.timesteps[0] == 935);
	solver_sample_end(&sample);
}

TEST(a_schedule_on_a_flow_is_stepped_below_one)
{
	struct strata_solver_request request = { .steps = 12 };
	struct levels levels;

	solver_sample_start(&sample);
	const struct solver_conf *conf =
		solver_sample_conf(&sample, "dpmpp_2m:use_flow_sigmas:use_exponential_sigmas");

	CHECK_ERROR(levels_dpm(conf, &request, -INFINITY, 0, &sample.arena, &levels, &err), -EINVAL,
		    "a flow has noise levels below 1, and this schedule is at 14.6146");
	request.has_strength = true;
	request.strength = 0.4;
	CHECK_OK(levels_dpm(conf, &request, -INFINITY, 0, &sample.arena, &levels, &err));
	CHECK_INT(levels.first, 8);
	CHECK_NEAR(levels.sigmas[8], 14.6146 * pow(0.0291675 / 14.6146, 8.0 / 11), 1e-5);
	solver_sample_end(&sample);
}

TEST(a_timestep_is_cut_off_where_the_reference_cuts_it)
{
	struct strata_solver_request three = { .steps = 3 };
	struct levels levels;

	solver_sample_start(&sample);
	/* 1 - (1 - 0.333) is a bit below 0.333, and so another timestep */
	CHECK_INT(levels_dpm(solver_sample_conf(&sample, "deis:use_flow_sigmas"), &three, -INFINITY,
			     LEVELS_REPEAT_LAST, &sample.arena, &levels, &sample.err),
		  0);
	CHECK(levels.timesteps[0] == 999 && levels.timesteps[1] == 666 &&
	      levels.timesteps[2] == 332);
	/* a level at the training's end is its last timestep, whatever the last bit of its logarithm */
	CHECK(levels_of("dpmpp_2m:use_exponential_sigmas", -INFINITY, 0).timesteps[0] == 999);
	/* cosine betas: karras is cut off in one solver and rounded in the others */
	const struct solver_conf *cosine = solver_sample_conf(
		&sample, "dpmpp_2m:use_karras_sigmas:beta_schedule=squaredcos_cap_v2");
	struct strata_solver_request twenty = { .steps = 20 };
	struct levels below;
	double more = 0;

	CHECK_OK(levels_dpm(cosine, &twenty, -INFINITY, 0, &sample.arena, &levels, &err));
	CHECK_OK(levels_dpm(cosine, &twenty, -INFINITY, LEVELS_COSINE_BELOW, &sample.arena, &below,
			    &err));
	for (size_t i = 0; i < 20; i++)
		more += levels.timesteps[i] - below.timesteps[i];
	CHECK(more >= 1 && more <= 19);
	solver_sample_end(&sample);
}

TEST(what_excludes_each_other_is_refused)
{
	double own[] = { 900, 100 };
	struct strata_solver_request request = { .timesteps = own, .timestep_count = 2 };
	struct levels levels;

	solver_sample_start(&sample);
	CHECK_ERROR(levels_dpm(solver_sample_conf(&sample, "dpmpp_2m:use_beta_sigmas"), &request,
			       -INFINITY, 0, &sample.arena, &levels, &err),
		    -EINVAL, "exclude each other");
	CHECK_ERROR(levels_dpm(solver_sample_conf(&sample, "dpmpp_2m:use_flow_sigmas"), &request,
			       -INFINITY, 0, &sample.arena, &levels, &err),
		    -EINVAL, "exclude each other");
	CHECK_OK(levels_dpm(solver_sample_conf(&sample, "dpmpp_2m:use_flow_sigmas"), &request,
			    -INFINITY, LEVELS_FLOW_COUNTS, &sample.arena, &levels, &err));
	CHECK_INT(levels.count, 2);
	request = (struct strata_solver_request){ .steps = 5, .has_mu = true, .mu = 1 };
	CHECK_ERROR(levels_dpm(solver_sample_conf(&sample, "dpmpp_2m:use_flow_sigmas"), &request,
			       -INFINITY, 0, &sample.arena, &levels, &err),
		    -EINVAL, "use_dynamic_shifting = true");
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
