/* Exponential single steps: see expo.h. */
#include "solver/expo.h"

#include "solver/k.h"

#include <math.h>

static double place(const struct expo_step *step, int call)
{
	return call == 0 ? 0 : call == 1 ? step->r1 : step->r2;
}

double expo_sigma(const struct expo_step *step, int call)
{
	return exp(-(step->from + place(step, call) * (step->to - step->from)));
}

void expo_noise(struct strata_solver_sum *sum, double sigma, double scale)
{
	k_slope(sum, sigma, scale);
}

/* How much the difference of a later prediction to the first counts, up to a part r of the step. */
static double bend(const struct expo_step *step, double r)
{
	double h = step->to - step->from, sigma = exp(-(step->from + r * h));

	return sigma * (expm1(r * h) / (r * h) - 1);
}

/* And when there is but one later prediction. */
static double single_bend(const struct expo_step *step)
{
	return exp(-step->to) * expm1(step->to - step->from) / (2 * step->r1);
}

static void first_call(const struct expo_step *step, double sigma, struct strata_solver_row *row)
{
	double h = step->to - step->from, whole = exp(-step->to) * expm1(h);

	row->next.a = 1;
	if (step->order == 1) {
		expo_noise(&row->next, sigma, -whole);
		return;
	}
	expo_noise(&row->next, sigma, -expo_sigma(step, 1) * expm1(step->r1 * h));
	struct strata_solver_sum *end = draft_write(row, step->slot_end);

	end->a = 1;
	if (step->order == 2) {
		expo_noise(end, sigma, single_bend(step) - whole);
		return;
	}
	expo_noise(end, sigma, bend(step, 1) / step->r2 - whole);
	struct strata_solver_sum *middle = draft_write(row, step->slot_middle);

	middle->a = 1;
	expo_noise(middle, sigma,
		   bend(step, step->r2) * step->r2 / step->r1 -
			   expo_sigma(step, 2) * expm1(step->r2 * h));
}

void expo_fill(const struct expo_step *step, int call, struct strata_solver_row *row)
{
	double sigma = expo_sigma(step, call);

	if (call == 0) {
		first_call(step, sigma, row);
	} else if (call == step->order - 1) {
		row->next.c[step->slot_end] = 1;
		expo_noise(&row->next, sigma,
			   step->order == 2 ? -single_bend(step) : -bend(step, 1) / step->r2);
	} else {
		row->next.c[step->slot_middle] = 1;
		expo_noise(&row->next, sigma, -bend(step, step->r2) * step->r2 / step->r1);
	}
}

void expo_ancestral(double from, double to, double end, double eta, double *ret_to, double *ret_up)
{
	double down, up, sigma = exp(-to);

	k_ancestral(exp(-from), sigma, eta, &down, &up);
	*ret_to = eta > 0 && down > 0 ? fmin(end, -log(down)) : eta > 0 ? end : to;
	*ret_up = eta > 0 ? sqrt(fmax(sigma * sigma - exp(-2 * *ret_to), 0)) : 0;
}
