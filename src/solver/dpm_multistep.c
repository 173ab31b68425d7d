/* DPM-Solver's multistep rule: the prediction as a polynomial in lambda through this and the last one or two. */
#include "solver/dpm.h"

#include <errno.h>

void dpm_multistep(const struct dpm_terms *terms, bool heun, int order, const struct point *points,
		   const struct point *to, double ret_weights[3])
{
	double h = to->lambda - points[0].lambda;
	double r0 = order > 1 ? (points[0].lambda - points[1].lambda) / h : 1;
	double r1 = order > 2 ? (points[1].lambda - points[2].lambda) / h : 1;

	ret_weights[0] = terms->d0;
	ret_weights[1] = ret_weights[2] = 0;
	if (h == 0) /* a step of no length: differences do not count */
		return;
	if (order == 2) {
		double slope = (heun ? terms->d1_heun : terms->d1_midpoint) / r0;

		ret_weights[0] += slope;
		ret_weights[1] -= slope;
	} else if (order == 3) {
		/* D1 = D10 + r0·bend, D2 = bend, bend = (D10 − D11) / (r0 + r1) */
		double bend = (terms->d1_heun * r0 + terms->d2) / (r0 + r1);
		double d10 = (terms->d1_heun + bend) / r0, d11 = -bend / r1;

		ret_weights[0] += d10;
		ret_weights[1] += d11 - d10;
		ret_weights[2] -= d11;
	}
}

int dpm_order(const struct dpm_conf *conf, size_t count, size_t left, size_t done, bool ends_clean)
{
	bool low = conf->lower_order_final && count < 15;
	int order = (int)conf->solver_order;

	if (done + 1 < (size_t)order)
		order = (int)done + 1;
	if (left == 1 && (conf->euler_at_final || low || ends_clean))
		order = 1;
	return left == 2 && low && order > 2 ? 2 : order;
}

/* What the reference has no number for: a third order along the SDE of the noise, and differences over a step of no length. */
static int check(const struct dpm_run *run, const struct dpm_conf *conf, int order,
		 const struct point *points, const struct point *to)
{
	bool still = to->lambda == points[0].lambda;
	bool again = order > 1 && points[0].lambda == points[1].lambda;
	bool rough = order == 2 && conf->solver_type == DPM_MIDPOINT && !again;

	if (conf->common.k_diffusion)
		return 0;
	if (order == 3 && conf->algorithm_type == DPM_SDE)
		return strata_fail_at(
			run->err, -EINVAL, "solver_order",
			"sde-dpmsolver is of order 1 or 2; expected solver_order = 2, "
			"or sde-dpmsolver++");
	if (order > 1 && !rough && still)
		return strata_fail_at(
			run->err, -EINVAL, "final_sigmas_type",
			"a step has no length, which this order divides by; expected fewer "
			"steps, final_sigmas_type = zero, or euler_at_final = true");
	return 0;
}

int dpm_multistep_row(void *run_any, size_t i)
{
	struct dpm_run *run = run_any;
	const struct dpm_conf *conf = (const struct dpm_conf *)run->conf;
	size_t done = i - run->levels.first, slots = (size_t)conf->solver_order - 1;
	int order = dpm_order(conf, run->levels.count, run->levels.count - i, done,
			      run->levels.sigmas[i + 1] == 0);
	struct point points[3], to = dpm_point(run, i + 1);
	struct strata_solver_row *row;
	struct strata_solver_sum predicted;
	double weights[3];
	int rc = dpm_row(run, i, &row, &predicted);

	if (rc)
		return rc;
	for (int k = 0; k < order; k++)
		points[k] = dpm_point(run, i - (size_t)k);
	rc = check(run, conf, order, points, &to);
	if (rc)
		return rc;
	struct dpm_terms terms = dpm_terms((enum dpm_algorithm)conf->algorithm_type,
					   conf->common.eta, &points[0], &to);

	dpm_multistep(&terms, conf->solver_type == DPM_HEUN, order, points, &to, weights);
	row->next.a = terms.x;
	draft_add(&row->next, weights[0], &predicted);
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % slots] = weights[k];
	if (slots)
		*draft_write(row, (uint32_t)(done % slots)) = predicted;
	row->next.d = terms.noise * conf->common.s_noise;
	return 0;
}
