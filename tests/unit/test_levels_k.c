#include "solver_sample.h"

#include "solver/levels.h"

static struct solver_sample sample;

static struct levels levels_of(const char *options, unsigned rules, const char *schedule)
{
	struct strata_solver_request request = { .steps = 5 };
	struct strata_spec spec;
	struct levels levels;

	if (schedule) {
		CHECK_INT(strata_spec_read(sample.schedules, schedule, strlen(schedule),
					   &sample.arena, &spec, &sample.err),
			  0);
		request.schedule = &spec;
	}
	CHECK_INT(levels_k(solver_sample_conf(&sample, options), &request, rules, &sample.arena,
			   &levels, &sample.err),
		  0);
	return levels;
}

TEST(a_schedule_of_the_configuration_spans_the_spaced_timesteps)
{
	solver_sample_start(&sample);
	struct levels levels =
		levels_of("euler:timestep_spacing=leading:use_karras_sigmas", 0, NULL);

	CHECK_NEAR(levels.sigmas[0], 5.134, 1e-3);
	CHECK_NEAR(levels.sigmas[4], 0.0413145, 1e-5);
	CHECK(levels.sigmas[5] == 0);
	/* one that is asked for spans the whole training, as in A1111 */
	levels = levels_of("euler:timestep_spacing=leading", 0, "karras");
	CHECK_NEAR(levels.sigmas[0], 14.6146, 1e-3);
	CHECK_NEAR(levels.sigmas[4], 0.0291675, 1e-6);
	solver_sample_end(&sample);
}

TEST(levels_even_in_the_logarithm_end_at_the_least)
{
	solver_sample_start(&sample);
	struct levels levels = levels_of("euler", LEVELS_LOG, NULL);

	CHECK_NEAR(levels.sigmas[1] / levels.sigmas[0], levels.sigmas[5] / levels.sigmas[4], 1e-7);
	CHECK_NEAR(levels.sigmas[5], 0.0291675, 1e-6);
	CHECK(levels.longer);
	levels = levels_of("euler", LEVELS_LOG | LEVELS_LOG_ALL, NULL);
	CHECK_INT(levels.count, 6); /* the least is stepped from, to no noise */
	CHECK_NEAR(levels.sigmas[5], 0.0291675, 1e-6);
	CHECK(levels.sigmas[6] == 0 && !levels.longer);
	levels = levels_of("euler:final_sigmas_type=sigma_min", 0, NULL);
	CHECK_NEAR(levels.sigmas[5], 0.0291675, 1e-6);
	solver_sample_end(&sample);
}

TEST(trailing_steps_may_be_one_more)
{
	struct strata_solver_request request = { .steps = 61 };
	struct levels levels;

	solver_sample_start(&sample);
	CHECK_INT(levels_k(solver_sample_conf(&sample, "euler:timestep_spacing=trailing"), &request,
			   0, &sample.arena, &levels, &sample.err),
		  0);
	CHECK_INT(levels.count, 62);
	CHECK(levels.timesteps[61] == -1);
	CHECK_NEAR(levels.sigmas[61], 0.0291675, 1e-6);
	/* a schedule has as many as were asked for */
	CHECK_INT(levels_k(solver_sample_conf(&sample,
					      "euler:timestep_spacing=trailing:use_karras_sigmas"),
			   &request, 0, &sample.arena, &levels, &sample.err),
		  0);
	CHECK_INT(levels.count, 61);
	CHECK_NEAR(levels.sigmas[60], 0.0291675, 1e-6);
	solver_sample_end(&sample);
}

TEST(the_penultimate_level_can_be_left_out)
{
	struct strata_solver_request request = { .steps = 5, .drop_penultimate = true };
	struct strata_spec spec;
	struct levels levels, six;

	solver_sample_start(&sample);
	CHECK_INT(
		strata_spec_read(sample.schedules, "karras", 6, &sample.arena, &spec, &sample.err),
		0);
	request.schedule = &spec;
	const void *conf = solver_sample_conf(&sample, "dpm2");

	CHECK_INT(levels_k(conf, &request, 0, &sample.arena, &levels, &sample.err), 0);
	request = (struct strata_solver_request){ .steps = 6, .schedule = &spec };
	CHECK_INT(levels_k(conf, &request, 0, &sample.arena, &six, &sample.err), 0);
	CHECK_INT(levels.count, 5);
	CHECK_BYTES(levels.sigmas, six.sigmas, 5 * sizeof(double));
	CHECK(levels.sigmas[5] == 0);
	solver_sample_end(&sample);
}
