#include "solver_sample.h"

#include "solver/flow.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;

static int start(const char *options, const struct strata_solver_request *request,
		 struct flow_run *run)
{
	static struct strata_solver_draft draft;

	draft = solver_sample_draft(&sample);
	return flow_start(run, solver_sample_conf(&sample, options), request, &draft, &sample.err);
}

TEST(levels_are_shifted_towards_noise)
{
	struct strata_solver_request request = { .steps = 5 };
	struct flow_run run;

	solver_sample_start(&sample);
	CHECK_INT(start("flow_euler:shift=1", &request, &run), 0);
	CHECK_NEAR(run.sigmas[1], 0.75025, 1e-6);
	CHECK_INT(start("flow_euler:shift=3", &request, &run), 0);
	CHECK_NEAR(run.sigmas[0], 1, 1e-12);
	CHECK_NEAR(run.sigmas[1], 0.900359, 1e-6);
	CHECK(run.sigmas[5] == 0);
	flow_invert(&run);
	CHECK_NEAR(run.sigmas[1], 1 - 0.900359, 1e-6);
	CHECK(run.sigmas[5] == 1);
	solver_sample_end(&sample);
}

TEST(dynamic_shifting_asks_for_mu)
{
	double flux[] = { 1, 0.75, 0.5, 0.25 };
	struct strata_solver_request request = { .sigmas = flux, .sigma_count = 4 };
	struct flow_run run;

	solver_sample_start(&sample);
	CHECK_INT(start("flow_euler:use_dynamic_shifting", &request, &run), -EINVAL);
	CHECK(strstr(sample.err.text, "expected mu"));
	request.has_mu = true;
	request.mu = log(3);
	CHECK_INT(start("flow_euler:use_dynamic_shifting", &request, &run), 0);
	CHECK_NEAR(run.sigmas[1], 0.9, 1e-12);
	request.mu = 3;
	CHECK_INT(start("flow_euler:use_dynamic_shifting:time_shift_type=linear", &request, &run),
		  0);
	CHECK_NEAR(run.sigmas[1], 0.9, 1e-12);
	solver_sample_end(&sample);
}

TEST(own_levels_lie_between_0_and_1)
{
	double high[] = { 1.5, 0.5 }, rising[] = { 0.2, 0.5 };
	struct strata_solver_request request = { .sigmas = high, .sigma_count = 2 };
	struct flow_run run;

	solver_sample_start(&sample);
	CHECK_INT(start("flow_euler", &request, &run), -EINVAL);
	CHECK(strstr(sample.err.text, "sigma 1 is 1.5"));
	request.sigmas = rising;
	CHECK_INT(start("flow_euler", &request, &run), -EINVAL);
	CHECK(strstr(sample.err.text, "sigma 2 is 0.5"));
	solver_sample_end(&sample);
}

TEST(strength_cuts_the_steps_left_out)
{
	struct strata_solver_request request = { .steps = 5,
						 .has_strength = true,
						 .strength = 0.5 };
	struct flow_run run;

	solver_sample_start(&sample);
	CHECK_INT(start("flow_euler", &request, &run), 0);
	CHECK_INT(run.first, 2); /* the others would leave out 3 */
	request.strength = 0;
	CHECK_INT(start("flow_euler", &request, &run), -EINVAL);
	solver_sample_end(&sample);
}
