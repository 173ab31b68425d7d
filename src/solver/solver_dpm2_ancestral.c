/* DPM2 ancestral: DPM2 to a little below the next level, and new noise that makes up for it. */
#include "solver/k.h"

#include <math.h>

static const struct strata_option dpm2_ancestral_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 },
};

static int dpm2_ancestral_step(void *run_any, size_t i)
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
	double middle = sqrt(sigma * down);

	k_euler(&row->next, sigma, middle);
	if (down == 0) {
		row->next.d = up * run->conf->s_noise;
		row->flags |= to > 0 ? STRATA_ROW_NOISE : 0;
		return 0;
	}
	draft_write(row, 0)->a = 1;
	rc = k_row(run, i, schedule_timestep(&run->levels.train, middle), middle, &row);
	if (rc)
		return rc;
	row->flags |= STRATA_ROW_NOISE;
	row->next.c[0] = 1;
	row->next.d = up * run->conf->s_noise;
	k_slope(&row->next, middle, down - sigma);
	return 0;
}

static int dpm2_ancestral_compile(const void *conf, const struct strata_solver_request *request,
				  struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = prediction_check_noise(conf, err);

	return rc ? rc
		  : k_compile(conf, request, LEVELS_ROUND_KARRAS, dpm2_ancestral_step, draft, err);
}

const struct strata_solver_class strata_solver_dpm2_ancestral = {
	.base = {
		.name = "dpm2_ancestral",
		.aliases = "DPM2 a, dpm_2_ancestral, k_dpm_2_a, kdpm2_ancestral, sample_dpm_2_ancestral, "
			   "KDPM2AncestralDiscreteScheduler",
		.summary = "DPM2 with new noise at each step",
		.conf_size = sizeof(struct solver_conf),
		.options = dpm2_ancestral_options,
	},
	.file_defaults = "beta_start=0.00085:beta_end=0.012:beta_schedule=linear:steps_offset=0",
	.compile = dpm2_ancestral_compile,
};
