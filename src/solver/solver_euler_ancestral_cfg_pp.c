/* Euler ancestral with CFG++: as euler_cfg_pp, to a little below the next level, and new noise that makes up for it. First order. */
#include "solver/k.h"

static const struct strata_option euler_ancestral_cfg_pp_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 },
};

static int euler_ancestral_cfg_pp_compile(const void *conf,
					  const struct strata_solver_request *request,
					  struct strata_solver_draft *draft,
					  struct strata_error *err)
{
	struct k_run run;
	struct strata_solver_row *row;
	double down, up;
	int rc = k_start(&run, conf, request, 0, draft, err);

	for (size_t i = rc ? 0 : run.levels.first; rc == 0 && i < run.levels.count; i++) {
		double sigma = run.levels.sigmas[i], to = run.levels.sigmas[i + 1];

		rc = k_row(&run, i, run.levels.timesteps[i], sigma, &row);
		if (rc)
			break;
		k_ancestral(sigma, to, run.conf->eta, &down, &up);
		k_unguided(&run, row, sigma, down);
		row->next.d = up * run.conf->s_noise;
		if (to > 0)
			row->flags |= STRATA_ROW_NOISE;
	}
	return rc;
}

const struct strata_solver_class strata_solver_euler_ancestral_cfg_pp = {
	.base = {
		.name = "euler_ancestral_cfg_pp",
		.aliases = "Euler a CFG++, euler_a_cfg_pp, k_euler_a_cfg_pp, sample_euler_ancestral_cfg_pp",
		.summary = "Euler ancestral along the unguided slope (CFG++)",
		.conf_size = sizeof(struct solver_conf),
		.options = euler_ancestral_cfg_pp_options,
	},
	.compile = euler_ancestral_cfg_pp_compile,
};
