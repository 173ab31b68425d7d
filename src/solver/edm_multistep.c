/* DPM-Solver's multistep rule on EDM levels, where the sample is clean + sigma·noise. */
#include "solver/edm_multistep.h"

#include <errno.h>
#include <math.h>

static struct point point_at(double sigma)
{
	return (struct point){ 1, sigma, -log(sigma) };
}

struct multistep_run {
	struct edm_run edm;
	const struct dpm_conf *dpm;
};

static int multistep_step(void *run_any, size_t i)
{
	struct multistep_run *run = run_any;
	const struct dpm_conf *dpm = run->dpm;
	const double *sigmas = run->edm.sigmas;
	size_t done = i - run->edm.first, slots = (size_t)dpm->solver_order - 1;
	struct point points[3], to = point_at(sigmas[i + 1]);
	int order = dpm_order(dpm, run->edm.count, run->edm.count - i, done, sigmas[i + 1] == 0);
	struct strata_solver_row *row;
	double weights[3];
	int rc = edm_row(&run->edm, i, sigmas[i], &row);

	if (rc)
		return rc;
	if (order == 3 && dpm->algorithm_type == DPM_SDE_PP)
		return strata_fail_at(
			run->edm.err, -EINVAL, "solver_order",
			"along the SDE the order is 1 or 2; expected solver_order = 2");
	if (order > 1 && (order == 3 || dpm->solver_type == DPM_HEUN) &&
	    sigmas[i + 1] == sigmas[i] && run->edm.conf->sigma_schedule == EDM_EXPONENTIAL)
		return strata_fail_at(
			run->edm.err, -EINVAL, "final_sigmas_type",
			"the last step has no length, which this order divides by; "
			"expected final_sigmas_type = zero, or euler_at_final = true");
	for (int k = 0; k < order; k++)
		points[k] = point_at(sigmas[i - (size_t)k]);
	struct dpm_terms terms =
		dpm_terms((enum dpm_algorithm)dpm->algorithm_type, 1, &points[0], &to);

	dpm_multistep(&terms, dpm->solver_type == DPM_HEUN, order, points, &to, weights);
	row->next.a = terms.x;
	row->next.b = weights[0];
	row->next.d = terms.noise;
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % slots] = weights[k];
	if (slots)
		draft_write(row, (uint32_t)(done % slots))->b = 1;
	if (dpm->algorithm_type == DPM_SDE_PP)
		row->flags |= STRATA_ROW_NOISE;
	prediction_limit(&run->edm.conf->common, row);
	return 0;
}

int edm_multistep(const struct edm_conf *edm, const struct dpm_conf *dpm,
		  const struct strata_solver_request *request, struct strata_solver_draft *draft,
		  struct strata_error *err)
{
	struct multistep_run run = { .dpm = dpm };
	int rc = edm_start(&run.edm, edm, request, draft, err);

	if (rc == 0 && edm->common.final_sigmas_type == FINAL_SIGMA_MIN)
		run.edm.sigmas[run.edm.count] = (float)edm->common.sigma_min;
	if (rc == 0 && dpm->algorithm_type == DPM_DEIS &&
	    edm->common.final_sigmas_type == FINAL_ZERO)
		rc = strata_fail_at(err, -EINVAL, "final_sigmas_type",
				    "another solver's steps do not end at no noise; expected "
				    "final_sigmas_type = sigma_min, or algorithm_type = "
				    "dpmsolver++");
	return rc ? rc : edm_steps(&run.edm, multistep_step);
}
