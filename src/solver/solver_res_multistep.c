/*
 * RES multistep: the refined exponential integrator of second order on the clean sample (Zhang et al. 2023), with new noise when eta is not 0.
 * One call per step.
 */
#include "solver/k.h"

#include <math.h>

static const struct strata_option res_multistep_options[] = {
	CONF_ON_SIGMAS,
	CONF_ETA(0, 1),
	CONF_K_DIFFUSION,
	{ 0 },
};

static int res_multistep_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	const double *sigmas = run->levels.sigmas;
	double landed = 0, down, up, sigma = sigmas[i];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	if (i > run->levels.first) /* where the last step's deterministic part ended */
		k_ancestral(sigmas[i - 1], sigma, run->conf->eta, &landed, &up);
	k_ancestral(sigma, sigmas[i + 1], run->conf->eta, &down, &up);
	k_euler(&row->next, sigma, down);
	if (down > 0 && landed > 0) {
		double h = log(sigma / down), c2 = log(landed / sigmas[i - 1]) / h;
		/* h·phi2(−h): how much the change of the clean sample counts */
		double bend = 1 + expm1(-h) / h;

		row->next.b -= bend / c2;
		row->next.c[0] = bend / c2;
	}
	draft_write(row, 0)->b = 1;
	if (sigmas[i + 1] > 0 && run->conf->eta > 0) {
		row->next.d = up * run->conf->s_noise;
		row->flags |= STRATA_ROW_NOISE;
	}
	return 0;
}

static int res_multistep_compile(const void *conf, const struct strata_solver_request *request,
				 struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, res_multistep_step, draft, err);
}

const struct strata_solver_class strata_solver_res_multistep = {
	.base = {
		.name = "res_multistep",
		.aliases = "sample_res_multistep",
		.summary = "the refined exponential integrator; second order, one call",
		.conf_size = sizeof(struct solver_conf),
		.options = res_multistep_options,
	},
	.compile = res_multistep_compile,
};
