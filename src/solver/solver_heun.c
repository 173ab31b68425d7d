/*
 * Heun: an Euler step, a second model call where it ends, and the step done over with the mean of both slopes. Second order, two
 * calls per step but for the last.
 */
#include "solver/k.h"

static const struct strata_option heun_options[] = {
	CONF_TRAINING,    CONF_PREDICTION(conf_predictions),
	CONF_CLIP,        CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,      CONF_CHURN,
	CONF_K_DIFFUSION, { 0 }
};

static int heun_step(struct k_run *run, size_t i)
{
	double sigma, to = run->levels.sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = k_churn(run, i, &sigma);

	if (rc == 0)
		rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);
	if (rc)
		return rc;
	k_euler(&row->next, sigma, to);
	if (to == 0)
		return 0;
	struct strata_solver_sum *half = draft_write(row, 0);

	half->a = 1;
	k_slope(half, sigma, (to - sigma) / 2);
	rc = k_row(run, i, run->levels.timesteps[i + 1], to, &row);
	if (rc)
		return rc;
	row->next.c[0] = 1;
	k_slope(&row->next, to, (to - sigma) / 2);
	return 0;
}

static int heun_compile(const void *conf, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	struct k_run run;
	int rc = k_start(&run, conf, request, 0, draft, err);

	for (size_t i = rc ? 0 : run.levels.first; rc == 0 && i < run.levels.count; i++)
		rc = heun_step(&run, i);
	return rc;
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
