/* Euler ancestral with CFG++: as euler_cfg_pp, to a little below the next level, and new noise that makes up for it. First order. */
#include "solver/k.h"

static const struct strata_option euler_ancestral_cfg_pp_options[] = {
	CONF_ON_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 },
};

static int euler_ancestral_cfg_pp_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double sigma = run->levels.sigmas[i], to = run->levels.sigmas[i + 1], down, up;
	struct strata_solver_row *row;
	int rc = k_falls(run, sigma, to);

	if (rc == 0)
		rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);
	if (rc)
		return rc;
	k_ancestral(sigma, to, run->conf->eta, &down, &up);
	k_unguided(run, row, sigma, down);
	row->next.d = up * run->conf->s_noise;
	if (to > 0)
		row->flags |= STRATA_ROW_NOISE;
	return 0;
}

static int euler_ancestral_cfg_pp_compile(const void *conf,
					  const struct strata_solver_request *request,
					  struct strata_solver_draft *draft,
					  struct strata_error *err)
{
	return k_compile(conf, request, 0, euler_ancestral_cfg_pp_step, draft, err);
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
