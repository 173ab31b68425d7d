/* DPM-Solver's multistep rule on EDM levels, where the sample is clean + sigma·noise. */
#include "solver/edm_multistep.h"

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

	return rc ? rc : edm_steps(&run.edm, multistep_step);
}
