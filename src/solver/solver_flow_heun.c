/* Flow Heun: a step along the flow, a second model call where it ends, and the step done over with the mean of both. Second order. */
#include "solver/flow.h"

#include <math.h>

static const struct strata_option flow_heun_options[] = {
	FLOW_OPTIONS,
	CONF_CHURN,
	{ 0 },
};

/* The level that churn raises this step's to. It counts model calls, of which there are two per step but for the last. */
static double churned(const struct flow_run *run, size_t i)
{
	double sigma = run->sigmas[i], calls = 2 * (double)run->count - 1;
	double gamma = fmin(run->conf->s_churn / calls, sqrt(2) - 1);

	return sigma >= run->conf->s_tmin && sigma <= run->conf->s_tmax ? sigma * (1 + gamma)
									: sigma;
}

static int flow_heun_step(void *run_any, size_t i)
{
	struct flow_run *run = run_any;
	double sigma = run->sigmas[i], to = run->sigmas[i + 1], raised = churned(run, i);
	/* the slope is (x − clean) / raised, and clean = x − sigma·m */
	double dt = to - raised, slope = sigma / raised;
	double noise = run->conf->s_noise * sqrt(raised * raised - sigma * sigma);
	struct strata_solver_row *row;
	int rc = flow_row(run, i, sigma, &row);

	if (rc)
		return rc;
	row->next = (struct strata_solver_sum){ .a = 1, .e = dt * slope, .d = noise };
	row->flags |= raised > sigma ? STRATA_ROW_NOISE : 0;
	if (to == 0)
		return 0;
	*draft_write(row, 0) =
		(struct strata_solver_sum){ .a = 1, .e = dt * slope / 2, .d = noise };
	rc = flow_row(run, i, to, &row);
	if (rc)
		return rc;
	row->next.c[0] = 1;
	row->next.e = dt / 2;
	row->flags |= raised > sigma ? STRATA_ROW_NOISE : 0; /* drawn, and it cancels out */
	return 0;
}

static int flow_heun_compile(const void *conf, const struct strata_solver_request *request,
			     struct strata_solver_draft *draft, struct strata_error *err)
{
	struct flow_run run;
	int rc = flow_start(&run, conf, request, draft, err);

	return rc ? rc : flow_steps(&run, flow_heun_step);
}

const struct strata_solver_class strata_solver_flow_heun = {
	.base = {
		.name = "flow_heun",
		.aliases = "FlowMatchHeunDiscreteScheduler",
		.summary = "the mean of the flow at both ends of a step; second order, two calls",
		.conf_size = sizeof(struct solver_conf),
		.options = flow_heun_options,
	},
	.file_defaults = "shift=1",
	.compile = flow_heun_compile,
};
