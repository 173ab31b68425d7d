/* EDM Euler: Euler's method on an EDM model, with churn. First order. */
#include "solver/edm.h"

#include <math.h>

static const struct strata_option edm_euler_options[] = {
	EDM_OPTIONS,
	CONF_CHURN,
	{ 0 },
};

static int edm_euler_compile(const void *conf_any, const struct strata_solver_request *request,
			     struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct edm_conf *conf = conf_any;
	struct edm_levels levels;
	struct strata_solver_row *row;
	int rc = edm_start(conf, request, draft, &levels, err);

	for (size_t i = rc ? 0 : levels.first; rc == 0 && i < levels.count; i++) {
		double sigma = levels.sigmas[i], raised = sigma;

		rc = strata_solver_draft_row(draft, &row, err);
		if (rc)
			break;
		if (sigma >= conf->common.s_tmin && sigma <= conf->common.s_tmax)
			raised *= 1 +
				  fmin(conf->common.s_churn / (double)levels.count, sqrt(2) - 1);
		row->step = (uint32_t)(i - levels.first);
		edm_fill(conf, sigma, raised, row);
		row->next.a = levels.sigmas[i + 1] / raised;
		row->next.b = 1 - row->next.a;
		if (raised > sigma) { /* the noise is added to x, in y too */
			row->next.d = conf->common.s_noise * sqrt(raised * raised - sigma * sigma) *
				      (row->next.a + row->next.b * row->p);
			row->flags |= STRATA_ROW_NOISE;
		}
	}
	return rc;
}

const struct strata_solver_class strata_solver_edm_euler = {
	.base = {
		.name = "edm_euler",
		.aliases = "EDMEulerScheduler",
		.summary = "Euler's method on an EDM model; first order",
		.conf_size = sizeof(struct edm_conf),
		.options = edm_euler_options,
	},
	.compile = edm_euler_compile,
};
