/*
 * Heun: an Euler step, a second model call where it ends, and the step done over with the mean of both slopes. Second order, two
 * calls per step but for the last.
 */
#include "solver/k.h"

static const struct strata_option heun_options[] = {
	CONF_TRAINING_BY(conf_beta_schedules_heun),
	CONF_PREDICTION(conf_predictions),
	CONF_CLIP,
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_CHURN,
	CONF_K_DIFFUSION,
	{ 0 },
};

static int heun_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double sigma, to = run->levels.sigmas[i + 1];
	int rc = k_churn(run, i, &sigma);

	double t_to = to > 0 ? run->levels.timesteps[i + 1] : 0;

	return rc ? rc : k_heun(run, i, sigma, run->levels.timesteps[i], to, t_to);
}

static int heun_compile(const void *conf, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, heun_step, draft, err);
}

const struct strata_solver_class strata_solver_heun = {
	.base = {
		.name = "heun",
		.aliases = "Heun, k_heun, sample_heun, HeunDiscreteScheduler",
		.summary = "the mean of the slopes at both ends of a step; second order, two calls",
		.conf_size = sizeof(struct solver_conf),
		.options = heun_options,
	},
	.file_defaults = "beta_start=0.00085:beta_end=0.012:beta_schedule=linear:steps_offset=0",
	.compile = heun_compile,
};
