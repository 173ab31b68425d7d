/* Euler ancestral: an Euler step to a little below the next level, and new noise that makes up for it. First order. */
#include "solver/k.h"

static const struct strata_option euler_ancestral_options[] = {
	CONF_ON_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 },
};

static int euler_ancestral_step(void *run_any, size_t i)
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
	k_euler(&row->next, sigma, down);
	row->next.d = up * run->conf->s_noise;
	if (to > 0 || !run->conf->k_diffusion)
		row->flags |= STRATA_ROW_NOISE;
	return 0;
}

static int euler_ancestral_compile(const void *conf, const struct strata_solver_request *request,
				   struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = prediction_check_noise(conf, err);

	return rc ? rc : k_compile(conf, request, 0, euler_ancestral_step, draft, err);
}

const struct strata_solver_class strata_solver_euler_ancestral = {
	.base = {
		.name = "euler_ancestral",
		.aliases = "Euler a, euler_a, k_euler_a, k_euler_ancestral, sample_euler_ancestral, "
			   "EulerAncestralDiscreteScheduler",
		.summary = "Euler with new noise at each step; first order",
		.conf_size = sizeof(struct solver_conf),
		.options = euler_ancestral_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = euler_ancestral_compile,
};
