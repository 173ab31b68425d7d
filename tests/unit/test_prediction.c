#include "solver_sample.h"

#include "solver/prediction.h"

#include <errno.h>
#include <math.h>

static struct solver_sample sample;

/* A sample of known parts, and what a perfect model would say of it. */
enum { CLEAN_TENTHS = 7, NOISE_TENTHS = -12 };

static double output_for(int type, double alpha, double sigma)
{
	double clean = CLEAN_TENTHS / 10.0, noise = NOISE_TENTHS / 10.0;
	double norm = hypot(alpha, sigma);

	switch (type) {
	case PREDICTION_EPSILON:
		return noise;
	case PREDICTION_V:
		return (alpha * noise - sigma * clean) / norm;
	case PREDICTION_SAMPLE:
		return clean;
	default:
		return noise - clean;
	}
}

static void check(const char *options, double alpha, double sigma)
{
	const struct solver_conf *conf = solver_sample_conf(&sample, options);
	double x = alpha * CLEAN_TENTHS / 10.0 + sigma * NOISE_TENTHS / 10.0;
	double m = output_for(conf->prediction_type, alpha, sigma);
	struct strata_solver_row row = { 0 };
	struct strata_solver_sum noise = { 0 }, rest = { 0 };

	prediction_fill(conf, alpha, sigma, &row);
	double y = row.p * x + row.q * m;

	CHECK_NEAR(y, CLEAN_TENTHS / 10.0, 1e-12);
	prediction_add_noise(conf, &row, 2, &noise);
	CHECK_NEAR(noise.a * x + noise.e * m, 2 * NOISE_TENTHS / 10.0, 1e-12);
	prediction_add_rest(&row, 2, &rest);
	CHECK_NEAR(rest.a * x + rest.b * y, 2 * NOISE_TENTHS / 10.0, 1e-12);
}

TEST(every_prediction_gives_clean_sample_and_noise)
{
	solver_sample_start(&sample);
	check("ddim", 0.8, 0.6);
	check("ddim:prediction_type=v_prediction", 0.8, 0.6);
	check("ddim:prediction_type=sample", 0.8, 0.6);
	check("euler", 1, 7.5); /* clean + sigma · noise */
	check("euler:prediction_type=v_prediction", 1, 7.5);
	check("unipc:prediction_type=flow_prediction:use_flow_sigmas", 0.25, 0.75);
	solver_sample_end(&sample);
}

TEST(a_flow_on_other_levels_goes_by_the_level)
{
	struct strata_solver_row row = { 0 };

	solver_sample_start(&sample);
	prediction_fill(solver_sample_conf(&sample, "unipc:prediction_type=flow_prediction"), 0.8,
			0.6, &row);
	CHECK(row.p == 1);
	CHECK_NEAR(row.q, -0.75, 1e-12);
	/* and along a flow the velocity is not brought to a variance of 1 */
	prediction_fill(
		solver_sample_conf(&sample, "unipc:prediction_type=v_prediction:use_flow_sigmas"),
		0.25, 0.75, &row);
	CHECK(row.p == 0.25);
	CHECK(row.q == -0.75);
	solver_sample_end(&sample);
}

TEST(what_the_reference_does_not_define_is_refused)
{
	struct strata_error err;

	solver_sample_start(&sample);
	CHECK_ERROR(prediction_check_noise(
			    solver_sample_conf(&sample, "dpm2:prediction_type=sample"), &err),
		    -EINVAL, "expected epsilon or v_prediction");
	CHECK_OK(prediction_check_noise(
		solver_sample_conf(&sample, "dpm2:prediction_type=sample:k_diffusion"), &err));
	CHECK_OK(prediction_check_noise(solver_sample_conf(&sample, "dpm2"), &err));
	solver_sample_end(&sample);
}

TEST(thresholding_goes_before_clipping)
{
	struct strata_solver_row row = { 0 };

	solver_sample_start(&sample);
	prediction_fill(solver_sample_conf(&sample, "ddim:clip_sample:clip_sample_range=1.5"), 1, 1,
			&row);
	CHECK(row.flags == STRATA_ROW_CLIP && row.limit == 1.5);
	row.flags = 0;
	prediction_fill(solver_sample_conf(&sample, "ddim:clip_sample:thresholding:"
						    "sample_max_value=3:"
						    "dynamic_thresholding_ratio=0.9"),
			1, 1, &row);
	CHECK(row.flags == STRATA_ROW_THRESHOLD && row.limit == 3 && row.threshold_ratio == 0.9);
	solver_sample_end(&sample);
}
