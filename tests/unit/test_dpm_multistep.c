#include "test.h"

#include "solver/dpm.h"
#include "solver_sample.h"

#include <math.h>

static struct point at(double lambda)
{
	double sigma = 1 / sqrt(1 + exp(2 * lambda));

	return (struct point){ sigma * exp(lambda), sigma, lambda };
}

/* The clean sample as a line in lambda, and the exact end of a step along the ODE by fine steps. */
static double clean_at(double lambda, int degree)
{
	return degree == 0   ? 0.7
	       : degree == 1 ? 0.7 - 0.3 * lambda
			     : 0.7 - 0.3 * lambda + 0.11 * lambda * lambda;
}

static double exact(double x, double lambda, double end, int degree)
{
	const int steps = 200000;
	double h = (end - lambda) / steps, scaled = x / at(lambda).sigma;

	/* d(x / sigma) / d lambda = e^lambda · clean */
	for (int i = 0; i < steps; i++) {
		double middle = lambda + (i + 0.5) * h;

		scaled += h * exp(middle) * clean_at(middle, degree);
	}
	return scaled * at(end).sigma;
}

static void check_order(int order, int degree)
{
	const double lambdas[] = { 0.2, -0.1, -0.5 };
	struct point points[] = { at(lambdas[0]), at(lambdas[1]), at(lambdas[2]) }, to = at(0.6);
	struct dpm_terms terms = dpm_terms(DPM_SOLVER_PP, 1, &points[0], &to);
	double weights[3], x = 1.3;

	dpm_multistep(&terms, true, order, points, &to, weights);
	double got = terms.x * x;

	for (int k = 0; k < order; k++)
		got += weights[k] * clean_at(lambdas[k], degree);
	CHECK_NEAR(got, exact(x, lambdas[0], to.lambda, degree), 1e-8);
}

/* The published third order weighs its last difference by half of what a parabola would need; a line it meets. */
TEST(lines_are_met_exactly)
{
	check_order(1, 0);
	check_order(2, 1);
	check_order(3, 1);
}

TEST(the_order_is_lower_at_both_ends)
{
	struct dpm_conf conf = { .solver_order = 3, .lower_order_final = true };

	CHECK_INT(dpm_order(&conf, 20, 20, 0, true), 1);
	CHECK_INT(dpm_order(&conf, 20, 19, 1, true), 2);
	CHECK_INT(dpm_order(&conf, 20, 2, 18, true), 3);
	CHECK_INT(dpm_order(&conf, 20, 1, 19, true), 1);
	CHECK_INT(dpm_order(&conf, 20, 1, 19, false), 3);
	CHECK_INT(dpm_order(&conf, 14, 1, 13, false), 1); /* lower_order_final: fewer than 15 */
	CHECK_INT(dpm_order(&conf, 14, 2, 12, false), 2);
	CHECK_INT(dpm_order(&conf, 15, 1, 14, false), 3);
	conf.lower_order_final = false;
	CHECK_INT(dpm_order(&conf, 14, 1, 13, false), 3);
	conf.euler_at_final = true;
	CHECK_INT(dpm_order(&conf, 20, 1, 19, false), 1);
}

TEST(a_step_of_no_length_adds_nothing)
{
	struct point points[] = { at(0.2), at(0.1), at(0) };
	struct dpm_terms terms = dpm_terms(DPM_SDE_PP, 1, &points[0], &points[0]);
	double weights[3];

	dpm_multistep(&terms, true, 3, points, &points[0], weights);
	CHECK(weights[0] == 0 && weights[1] == 0 && weights[2] == 0);
}

/* Who draws noise where the reference does not has another picture from the same seed: diffusers draws for every step, k-diffusion not for the last and not
 * without eta. */
static void check_draws(const char *text, int64_t drawn, bool at_the_end)
{
	struct solver_sample sample;
	int64_t count = 0;

	solver_sample_start(&sample);
	struct strata_solver_table *table = solver_sample_table(&sample, text, 6);

	CHECK_INT(table->row_count, 6);
	for (size_t i = 0; i < table->row_count; i++)
		count += (table->rows[i].flags & STRATA_ROW_NOISE) != 0;
	CHECK_INT(count, drawn);
	CHECK_INT((table->rows[5].flags & STRATA_ROW_NOISE) != 0, at_the_end);
	strata_solver_table_free(table, &sample.memory);
	solver_sample_end(&sample);
}

TEST(noise_is_drawn_where_the_reference_draws_it)
{
	check_draws("dpmpp_2m", 0, false);
	check_draws("dpmpp_2m:algorithm_type=sde-dpmsolver++", 6, true);
	check_draws("dpmpp_2m:algorithm_type=sde-dpmsolver++:k_diffusion=true", 5, false);
	check_draws("dpmpp_2m:algorithm_type=sde-dpmsolver++:k_diffusion=true:eta=0", 0, false);
}
