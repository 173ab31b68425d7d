/* DPM-Solver's multistep rule on EDM levels, where the sample is clean + sigma·noise. */
#include "solver/edm_multistep.h"

#include <math.h>

static struct point point_at(double sigma)
{
	return (struct point){ 1, sigma, -log(sigma) };
}

static void fill_row(const struct edm_conf *edm, const struct dpm_conf *dpm,
		     const struct edm_levels *levels, size_t i, struct strata_solver_row *row)
{
	size_t done = i - levels->first, slots = (size_t)dpm->solver_order - 1;
	struct point points[3], to = point_at(levels->sigmas[i + 1]);
	int order =
		dpm_order(dpm, levels->count, levels->count - i, done, levels->sigmas[i + 1] == 0);
	double weights[3];

	for (int k = 0; k < order; k++)
		points[k] = point_at(levels->sigmas[i - (size_t)k]);
	struct dpm_terms terms =
		dpm_terms((enum dpm_algorithm)dpm->algorithm_type, 1, &points[0], &to);

	dpm_multistep(&terms, dpm->solver_type == DPM_HEUN, order, points, &to, weights);
	edm_fill(edm, levels->sigmas[i], levels->sigmas[i], row);
	row->step = (uint32_t)done;
	row->next.a = terms.x;
	row->next.b = weights[0];
	row->next.d = terms.noise;
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % slots] = weights[k];
	if (slots)
		draft_write(row, (uint32_t)(done % slots))->b = 1;
	if (dpm->algorithm_type == DPM_SDE_PP)
		row->flags |= STRATA_ROW_NOISE;
	prediction_limit(&edm->common, row);
}

int edm_multistep(const struct edm_conf *edm, const struct dpm_conf *dpm,
		  const struct strata_solver_request *request, struct strata_solver_draft *draft,
		  struct strata_error *err)
{
	struct edm_levels levels;
	struct strata_solver_row *row;
	int rc = edm_start(edm, request, draft, &levels, err);

	for (size_t i = rc ? 0 : levels.first; rc == 0 && i < levels.count; i++) {
		rc = strata_solver_draft_row(draft, &row, err);
		if (rc == 0)
			fill_row(edm, dpm, &levels, i, row);
	}
	return rc;
}
