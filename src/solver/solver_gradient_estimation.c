/*
 * Gradient estimation: Euler along this slope and its change since the last one (Permenter & Yuan 2023). One call per step; gamma 1 is
 * Euler.
 */
#include "solver/k.h"

struct gradient_estimation_conf {
	struct solver_conf common;
	double ge_gamma;
};

static const struct strata_option gradient_estimation_options[] = {
	CONF_ON_SIGMAS,
	CONF_K_DIFFUSION,
	{ "ge_gamma", STRATA_REAL, offsetof(struct gradient_estimation_conf, ge_gamma),
	  .real = { 2, 0, 5 }, .help = "how much the change counts (1: not at all)" },
	{ 0 }
};

static int gradient_estimation_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double gamma = ((const struct gradient_estimation_conf *)run->conf)->ge_gamma;
	double sigma = run->levels.sigmas[i], to = run->levels.sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	k_euler(&row->next, sigma, to);
	if (i > run->levels.first && to > 0) {
		k_slope(&row->next, sigma, (gamma - 1) * (to - sigma));
		row->next.c[0] = (1 - gamma) * (to - sigma);
	}
	k_slope(draft_write(row, 0), sigma, 1);
	return 0;
}

static int gradient_estimation_compile(const void *conf,
				       const struct strata_solver_request *request,
				       struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, gradient_estimation_step, draft, err);
}

const struct strata_solver_class strata_solver_gradient_estimation = {
	.base = {
		.name = "gradient_estimation",
		.aliases = "euler_ge, sample_gradient_estimation",
		.summary = "Euler along the slope and its last change; one call",
		.conf_size = sizeof(struct gradient_estimation_conf),
		.options = gradient_estimation_options,
	},
	.compile = gradient_estimation_compile,
};
