/* Euler with CFG++ (Chung et al. 2024): from the guided clean sample along the unguided slope, so that guidance does not leave the data. First order. */
#include "solver/k.h"

static const struct strata_option euler_cfg_pp_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_K_DIFFUSION,
	{ 0 },
};

static int euler_cfg_pp_compile(const void *conf, const struct strata_solver_request *request,
				struct strata_solver_draft *draft, struct strata_error *err)
{
	struct k_run run;
	struct strata_solver_row *row;
	int rc = k_start(&run, conf, request, 0, draft, err);

	for (size_t i = rc ? 0 : run.levels.first; rc == 0 && i < run.levels.count; i++) {
		rc = k_row(&run, i, run.levels.timesteps[i], run.levels.sigmas[i], &row);
		if (rc == 0)
			k_unguided(&run, row, run.levels.sigmas[i], run.levels.sigmas[i + 1]);
	}
	return rc;
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
