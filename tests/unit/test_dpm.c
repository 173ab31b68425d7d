#include "test.h"

#include "solver/dpm.h"

#include <math.h>

static const struct point from = { 0.6, 0.8, -0.28768207245178085 };
static const struct point to = { 0.8, 0.6, 0.28768207245178085 };

/* With the right prediction a step of first order is exact, whatever is predicted. */
static void check_exact(enum dpm_algorithm algorithm, bool noise)
{
	const double clean = 0.7, epsilon = -1.2;
	struct dpm_terms terms = dpm_terms(algorithm, 1, &from, &to);
	double x = from.alpha * clean + from.sigma * epsilon;

	CHECK_NEAR(terms.x * x + terms.d0 * (noise ? epsilon : clean),
		   to.alpha * clean + to.sigma * epsilon, 1e-12);
}

TEST(a_step_of_first_order_is_exact_for_a_constant_prediction)
{
	check_exact(DPM_SOLVER, true);
	check_exact(DPM_SOLVER_PP, false);
}

TEST(an_sde_keeps_the_variance)
{
	struct dpm_terms terms = dpm_terms(DPM_SDE_PP, 1, &from, &to);

	/* of x, whose noise has deviation from.sigma, and of the new noise */
	CHECK_NEAR(hypot(terms.x * from.sigma, terms.noise), to.sigma, 1e-12);
	CHECK_NEAR(terms.x * from.alpha + terms.d0, to.alpha, 1e-12);
	terms = dpm_terms(DPM_SDE_PP, 0, &from, &to);
	struct dpm_terms ode = dpm_terms(DPM_SOLVER_PP, 1, &from, &to);

	CHECK(terms.noise == 0 && terms.x == ode.x && terms.d0 == ode.d0 && terms.d2 == ode.d2);
}

TEST(a_step_to_no_noise_is_finite)
{
	const struct point clean = { 1, 0, INFINITY };

	for (int algorithm = DPM_SOLVER; algorithm <= DPM_SDE_PP; algorithm++) {
		struct dpm_terms terms = dpm_terms((enum dpm_algorithm)algorithm, 1, &from, &clean);

		CHECK(isfinite(terms.x) && isfinite(terms.d0) && isfinite(terms.noise));
	}
	struct dpm_terms still = dpm_terms(DPM_SOLVER_PP, 1, &from, &from);

	CHECK(still.x == 1 && still.d0 == 0 && still.d1_heun == 0 && still.d2 == 0);
}
