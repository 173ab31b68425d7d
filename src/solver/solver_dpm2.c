/*
 * DPM2: half a step in log sigma, a second model call there, and the whole step with its slope. Second order, two calls per
 * step but for the last.
 */
#include "solver/k.h"

#include <math.h>

static const struct strata_option dpm2_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_CHURN,
	CONF_K_DIFFUSION,
	{ 0 },
};

static int dpm2_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double sigma, to = run->levels.sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = k_churn(run, i, &sigma);
	double middle = sqrt(sigma * to);

	if (rc == 0)
		rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);
	if (rc)
		return rc;
	k_euler(&row->next, sigma, middle); /* which is the whole step when it ends at 0 */
	if (to == 0)
		return 0;
	draft_write(row, 0)->a = 1;
	rc = k_row(run, i, schedule_timestep(&run->levels.train, middle), middle, &row);
	if (rc)
		return rc;
	row->next.c[0] = 1;
	k_slope(&row->next, middle, to - sigma);
	return 0;
}

static int dpm2_compile(const void *conf, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = prediction_check_noise(conf, err);

	return rc ? rc : k_compile(conf, request, LEVELS_ROUND_KARRAS, dpm2_step, draft, err);
}

const struct strata_solver_class strata_solver_dpm2 = {
	.base = {
		.name = "dpm2",
		.aliases = "DPM2, dpm_2, k_dpm_2, kdpm2, sample_dpm_2, KDPM2DiscreteScheduler",
		.summary = "the slope at the middle of a step; second order, two calls",
		.conf_size = sizeof(struct solver_conf),
		.options = dpm2_options,
	},
	.file_defaults = "beta_start=0.00085:beta_end=0.012:beta_schedule=linear:steps_offset=0",
	.compile = dpm2_compile,
};
