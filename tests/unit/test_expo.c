#include "test.h"

#include "solver/expo.h"

#include <math.h>
#include <string.h>

/* A model whose noise is a polynomial of t of degree below the order: the step must be exact. dx/dt = −sigma·noise. */
static double noise_at(double t, int order)
{
	return order == 1 ? 0.5 : order == 2 ? 0.5 + 0.3 * t : 0.5 + 0.3 * t - 0.2 * t * t;
}

static double exact(double x, double from, double to, int order)
{
	const int steps = 200000;
	double h = (to - from) / steps;

	for (int i = 0; i < steps; i++) {
		double t = from + (i + 0.5) * h;

		x -= h * exp(-t) * noise_at(t, order);
	}
	return x;
}

static double apply(const struct strata_solver_sum *sum, double x, double y, const double *slots)
{
	double total = sum->a * x + sum->b * y;

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		total += sum->c[k] * slots[k];
	return total;
}

static double run(const struct expo_step *step, double x)
{
	double slots[STRATA_SOLVER_SLOTS_MAX] = { 0 };

	for (int call = 0; call < step->order; call++) {
		struct strata_solver_row row = { 0 };
		double sigma = expo_sigma(step, call);
		double y = x - sigma * noise_at(-log(sigma), step->order);
		double before = x, written[STRATA_SOLVER_SLOTS_MAX];

		expo_fill(step, call, &row);
		x = apply(&row.next, before, y, slots);
		for (uint32_t w = 0; w < row.write_count; w++)
			written[w] = apply(&row.writes[w].sum, before, y, slots);
		for (uint32_t w = 0; w < row.write_count; w++)
			slots[row.writes[w].slot] = written[w];
	}
	return x;
}

/* Their error falls with the power order + 1 of the step; a constant noise is met exactly. */
TEST(single_steps_have_their_order)
{
	for (int order = 1; order <= 3; order++) {
		struct expo_step step = { .from = 0,
					  .r1 = order == 2 ? 0.5 : 1.0 / 3,
					  .r2 = 2.0 / 3,
					  .order = order,
					  .slot_middle = 0,
					  .slot_end = 1 };
		double errors[2];

		for (int i = 0; i < 2; i++) {
			step.to = i ? 0.1 : 0.2;
			errors[i] = fabs(run(&step, 1.3) - exact(1.3, 0, step.to, order));
		}
		if (order == 1)
			CHECK(errors[0] < 1e-9);
		else
			CHECK(log2(errors[0] / errors[1]) > order + 0.6 || errors[0] < 1e-9);
	}
}

TEST(an_ancestral_step_keeps_the_variance)
{
	double to, up;

	expo_ancestral(0, 1, 3, 1, &to, &up);
	CHECK(to > 1 && up > 0);
	CHECK_NEAR(exp(-2 * to) + up * up, exp(-2), 1e-12);
	expo_ancestral(0, 1, 3, 0, &to, &up);
	CHECK(to == 1 && up == 0);
	expo_ancestral(0, 1, 1.05, 1, &to, &up);
	CHECK(to == 1.05); /* not past the end */
}
