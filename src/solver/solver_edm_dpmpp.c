/* EDM DPM-Solver++: the multistep solver on an EDM model, along the ODE or the SDE. Order 1 to 3, one call per step. */
#include "solver/dpm.h"
#include "solver/edm.h"

#include <math.h>

struct edm_dpmpp_conf {
	struct edm_conf edm;
	int64_t solver_order;
	int algorithm_type, solver_type;
	bool lower_order_final, euler_at_final;
};

static const struct strata_choice algorithms[] = {
	{ "dpmsolver++", DPM_SOLVER_PP, "along the ODE" },
	{ "sde-dpmsolver++", DPM_SDE_PP, "along the SDE" },
	{ 0 }
};

static const struct strata_option edm_dpmpp_options[] = {
	EDM_OPTIONS,
	CONF_THRESHOLDING,
	{ "solver_order", STRATA_INT, offsetof(struct edm_dpmpp_conf, solver_order),
	  .integer = { 2, 1, 3 }, .help = "order of the steps" },
	{ "algorithm_type", STRATA_ENUM, offsetof(struct edm_dpmpp_conf, algorithm_type),
	  .choice = { algorithms, DPM_SOLVER_PP }, .help = "what is integrated" },
	{ "solver_type", STRATA_ENUM, offsetof(struct edm_dpmpp_conf, solver_type),
	  .choice = { dpm_solver_types, DPM_MIDPOINT }, .help = "how a step of second order ends" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct edm_dpmpp_conf, lower_order_final),
	  .boolean = true, .help = "the last steps of a short schedule are of lower order" },
	{ "euler_at_final", STRATA_BOOL, offsetof(struct edm_dpmpp_conf, euler_at_final),
	  .help = "the last step is of first order" },
	{ 0 }
};

static struct point point_at(double sigma)
{
	return (struct point){ 1, sigma, -log(sigma) };
}

static int order_of(const struct edm_dpmpp_conf *conf, const struct edm_levels *levels, size_t i)
{
	size_t left = levels->count - i, done = i - levels->first;
	bool low = conf->lower_order_final && levels->count < 15;
	int order = (int)conf->solver_order;

	if (done + 1 < (size_t)order)
		order = (int)done + 1;
	if (left == 1 && (conf->euler_at_final || low || levels->sigmas[i + 1] == 0))
		order = 1;
	return left == 2 && low && order > 2 ? 2 : order;
}

static void edm_dpmpp_row(const struct edm_dpmpp_conf *conf, const struct edm_levels *levels,
			  size_t i, struct strata_solver_row *row)
{
	size_t done = i - levels->first, slots = (size_t)conf->solver_order - 1;
	struct point points[3], to = point_at(levels->sigmas[i + 1]);
	int order = order_of(conf, levels, i);
	double weights[3];

	for (int k = 0; k < order; k++)
		points[k] = point_at(levels->sigmas[i - (size_t)k]);
	struct dpm_terms terms =
		dpm_terms((enum dpm_algorithm)conf->algorithm_type, 1, &points[0], &to);

	dpm_multistep(&terms, conf->solver_type == DPM_HEUN, order, points, &to, weights);
	edm_fill(&conf->edm, levels->sigmas[i], levels->sigmas[i], row);
	row->step = (uint32_t)done;
	row->next.a = terms.x;
	row->next.b = weights[0];
	row->next.d = terms.noise;
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % slots] = weights[k];
	if (slots)
		draft_write(row, (uint32_t)(done % slots))->b = 1;
	if (conf->algorithm_type == DPM_SDE_PP)
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
