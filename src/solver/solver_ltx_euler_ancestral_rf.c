/*
 * Euler ancestral for flows, as ComfyUI and LTX-Video have it: a step to below the next level, then scaled and noised back up to it. First
 * order, stochastic.
 */
#include "solver/flow.h"

#include <math.h>

static const struct strata_option ltx_options[] = {
	FLOW_OPTIONS, FLOW_DYNAMIC, CONF_ETA(1, 10), { 0 }
};

static void ltx_row(const struct solver_conf *conf, double sigma, double to,
		    struct strata_solver_row *row)
{
	double down = to * (1 + (to / sigma - 1) * conf->eta);
	double ratio = down / sigma, scale = (1 - to) / (1 - down + 1e-12);
	bool noise = conf->eta > 0 && conf->s_noise > 0 && to > 1e-8;

	if (!noise)
		scale = 1;
	row->next.a = scale * ratio;
	row->next.b = scale * (1 - ratio);
	if (noise) {
		row->next.d = conf->s_noise * sqrt(fmax(to * to - down * down * scale * scale, 0));
		row->flags |= STRATA_ROW_NOISE;
	}
}

static int ltx_step(void *run_any, size_t i)
{
	struct flow_run *run = run_any;
	struct strata_solver_row *row;
	int rc = flow_row(run, i, run->sigmas[i], &row);

	if (rc == 0)
		ltx_row(run->conf, run->sigmas[i], run->sigmas[i + 1], row);
	return rc;
}

static int ltx_compile(const void *conf, const struct strata_solver_request *request,
		       struct strata_solver_draft *draft, struct strata_error *err)
{
	struct solver_conf plain = *(const struct solver_conf *)conf;
	struct strata_solver_request own = *request;
	struct flow_run run;
	struct strata_solver_row *row;

	if (request->timestep_count) { /* another word for sigmas in the reference */
		own.sigmas = request->timesteps;
		own.sigma_count = request->timestep_count;
		own.timestep_count = 0;
	}
	if (own.sigma_count) /* the request's own are taken as they are */
		plain.flow_shift = 1, plain.use_dynamic_shifting = false;
	int rc = flow_start(&run, &plain, &own, draft, err);

	if (rc == 0 && own.sigmas_end && run.count == own.sigma_count)
		run.count--;
	if (rc == 0)
		rc = flow_steps(&run, ltx_step);
	if (rc == 0 && own.sigma_count > run.count) {
		/* diffusers calls the model once more at the end and keeps the sample */
		rc = flow_row(&run, run.count, run.sigmas[run.count], &row);
		if (rc == 0)
			row->next.a = 1;
	}
	return rc;
}

const struct strata_solver_class strata_solver_ltx_euler_ancestral_rf = {
	.base = {
		.name = "ltx_euler_ancestral_rf",
		.aliases = "euler_ancestral_rf, LTXEulerAncestralRFScheduler",
		.summary = "Euler along the flow with new noise at each step; first order",
		.conf_size = sizeof(struct solver_conf),
		.options = ltx_options,
	},
	.file_defaults = "shift=1",
	.compile = ltx_compile,
};
