/* EDM Euler: Euler's method on an EDM model, with churn. First order. */
#include "solver/edm.h"

#include <math.h>

static const struct strata_option edm_euler_options[] = {
	EDM_OPTIONS,
	CONF_CHURN,
	{ 0 },
};

static int edm_euler_step(void *run_any, size_t i)
{
	struct edm_run *run = run_any;
	const struct solver_conf *conf = &run->conf->common;
	double sigma = run->sigmas[i], raised = sigma;
	struct strata_solver_row *row;

	if (sigma >= conf->s_tmin && sigma <= conf->s_tmax)
		raised *= 1 + fmin(conf->s_churn / (double)run->count, sqrt(2) - 1);
	int rc = edm_row(run, i, raised, &row);

	if (rc)
		return rc;
	row->next.a = run->sigmas[i + 1] / raised;
	row->next.b = 1 - row->next.a;
	if (raised > sigma) { /* the noise is added to x, in y too */
		row->next.d = conf->s_noise * sqrt(raised * raised - sigma * sigma) *
			      (row->next.a + row->next.b * row->p);
		row->flags |= STRATA_ROW_NOISE;
	}
	return 0;
}

static int edm_euler_compile(const void *conf, const struct strata_solver_request *request,
			     struct strata_solver_draft *draft, struct strata_error *err)
{
	struct edm_run run;
	int rc = edm_start(&run, conf, request, draft, err);

	return rc ? rc : edm_steps(&run, edm_euler_step);
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
