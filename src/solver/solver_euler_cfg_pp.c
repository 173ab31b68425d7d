/* Euler with CFG++ (Chung et al. 2024): from the guided clean sample along the unguided slope, so that guidance does not leave the data. First order. */
#include "solver/k.h"

static const struct strata_option euler_cfg_pp_options[] = {
	CONF_ON_SIGMAS,
	CONF_K_DIFFUSION,
	{ 0 },
};

static int euler_cfg_pp_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double sigma = run->levels.sigmas[i];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc == 0)
		k_unguided(run, row, sigma, run->levels.sigmas[i + 1]);
	return rc;
}

static int euler_cfg_pp_compile(const void *conf, const struct strata_solver_request *request,
				struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, euler_cfg_pp_step, draft, err);
}

const struct strata_solver_class strata_solver_euler_cfg_pp = {
	.base = {
		.name = "euler_cfg_pp",
		.aliases = "Euler CFG++, k_euler_cfg_pp, sample_euler_cfg_pp",
		.summary = "Euler along the unguided slope (CFG++); first order",
		.conf_size = sizeof(struct solver_conf),
		.options = euler_cfg_pp_options,
	},
	.compile = euler_cfg_pp_compile,
};
