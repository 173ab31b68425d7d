/* EDM DPM-Solver++: the multistep solver on an EDM model, along the ODE or the SDE. Order 1 to 3, one call per step. */
#include "solver/dpm.h"
#include "solver/edm.h"

#include <math.h>

struct edm_dpmpp_conf {
	struct edm_conf edm;
	struct dpm_conf dpm; /* its common part is not used */
};

static const struct strata_choice algorithms[] = {
	{ "dpmsolver++", DPM_SOLVER_PP, "along the ODE" },
	{ "sde-dpmsolver++", DPM_SDE_PP, "along the SDE" },
	{ 0 }
};

static const struct strata_option edm_dpmpp_options[] = {
	EDM_OPTIONS,
	CONF_THRESHOLDING,
	{ "solver_order", STRATA_INT, offsetof(struct edm_dpmpp_conf, dpm.solver_order),
	  .integer = { 2, 1, 3 }, .help = "order of the steps" },
	{ "algorithm_type", STRATA_ENUM, offsetof(struct edm_dpmpp_conf, dpm.algorithm_type),
	  .choice = { algorithms, DPM_SOLVER_PP }, .help = "what is integrated" },
	{ "solver_type", STRATA_ENUM, offsetof(struct edm_dpmpp_conf, dpm.solver_type),
	  .choice = { dpm_solver_types, DPM_MIDPOINT }, .help = "how a step of second order ends" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct edm_dpmpp_conf, dpm.lower_order_final),
	  .boolean = true, .help = "the last steps of a short schedule are of lower order" },
	{ "euler_at_final", STRATA_BOOL, offsetof(struct edm_dpmpp_conf, dpm.euler_at_final),
	  .help = "the last step is of first order" },
	{ 0 }
};

static struct point point_at(double sigma)
{
	return (struct point){ 1, sigma, -log(sigma) };
}

static void edm_dpmpp_row(const struct edm_dpmpp_conf *conf, const struct edm_levels *levels,
			  size_t i, struct strata_solver_row *row)
{
	size_t done = i - levels->first, slots = (size_t)conf->dpm.solver_order - 1;
	struct point points[3], to = point_at(levels->sigmas[i + 1]);
	int order = dpm_order(&conf->dpm, levels->count, levels->count - i, done,
			      levels->sigmas[i + 1] == 0);
	double weights[3];

	for (int k = 0; k < order; k++)
		points[k] = point_at(levels->sigmas[i - (size_t)k]);
	struct dpm_terms terms =
		dpm_terms((enum dpm_algorithm)conf->dpm.algorithm_type, 1, &points[0], &to);

	dpm_multistep(&terms, conf->dpm.solver_type == DPM_HEUN, order, points, &to, weights);
	edm_fill(&conf->edm, levels->sigmas[i], levels->sigmas[i], row);
	row->step = (uint32_t)done;
	row->next.a = terms.x;
	row->next.b = weights[0];
	row->next.d = terms.noise;
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % slots] = weights[k];
	if (slots)
		draft_write(row, (uint32_t)(done % slots))->b = 1;
	if (conf->dpm.algorithm_type == DPM_SDE_PP)
		row->flags |= STRATA_ROW_NOISE;
	prediction_limit(&conf->edm.common, row);
}

static int edm_dpmpp_compile(const void *conf_any, const struct strata_solver_request *request,
			     struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct edm_dpmpp_conf *conf = conf_any;
	struct edm_levels levels;
	struct strata_solver_row *row;
	int rc = edm_start(&conf->edm, request, draft, &levels, err);

	for (size_t i = rc ? 0 : levels.first; rc == 0 && i < levels.count; i++) {
		rc = strata_solver_draft_row(draft, &row, err);
		if (rc == 0)
			edm_dpmpp_row(conf, &levels, i, row);
	}
	return rc;
}

const struct strata_solver_class strata_solver_edm_dpmpp = {
	.base = {
		.name = "edm_dpmpp",
		.aliases = "edm_dpmpp_2m, EDMDPMSolverMultistepScheduler",
		.summary = "DPM-Solver++ in multiple steps on an EDM model; order 1 to 3",
		.conf_size = sizeof(struct edm_dpmpp_conf),
		.options = edm_dpmpp_options,
	},
	.compile = edm_dpmpp_compile,
};
