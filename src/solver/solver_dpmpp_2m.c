/*
 * DPM-Solver and DPM-Solver++ in multiple steps: the prediction as a polynomial in lambda through this and the last one or two, with
 * the linear part of the equation solved exactly; along the ODE, or the SDE with noise. Order 1 to 3, one call per step.
 */
#include "solver/dpm.h"

static const struct strata_option dpmpp_2m_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions_flow),
	CONF_THRESHOLDING,
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	{ "use_lu_lambdas", STRATA_BOOL, CONF_AT(use_lu_lambdas), .help = "even steps in lambda" },
	CONF_FINAL(FINAL_ZERO),
	CONF_FLOW_SIGMAS,
	DPM_OPTIONS,
	DPM_ALGORITHM,
	DPM_LAMBDA_MIN,
	{ "euler_at_final", STRATA_BOOL, DPM_AT(euler_at_final),
	  .help = "the last step is of first order" },
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 }
};

/* Every row draws, but by k-diffusion's rules only those that need to; and there the noise is of a path. */
static void draw_noise(const struct dpm_run *run, struct strata_solver_draft *draft)
{
	bool k_diffusion = run->conf->k_diffusion;

	if (k_diffusion)
		levels_path(&run->levels, true, draft);
	for (size_t i = 0; i < draft->row_count; i++) {
		const double *sigmas = &run->levels.sigmas[run->levels.first + i];

		if (k_diffusion && !(run->conf->eta > 0 && sigmas[1] > 0))
			continue;
		draft->rows[i].flags |= STRATA_ROW_NOISE;
		draft->rows[i].noise_from = k_diffusion ? sigmas[0] : 0;
		draft->rows[i].noise_to = k_diffusion ? sigmas[1] : 0;
	}
}

static int dpmpp_2m_compile(const void *conf_any, const struct strata_solver_request *request,
			    struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct dpm_conf *conf = conf_any;
	bool stochastic = dpm_is_stochastic(conf);
	struct dpm_run run = { .predict_noise = dpm_predicts_noise(conf) };
	int rc = dpm_check_end(conf, err);

	if (rc == 0)
		rc = dpm_start(&run, &conf->common, request, conf->lambda_min_clipped,
			       LEVELS_COSINE_BELOW, draft, err);

	if (rc == 0)
		rc = dpm_steps(&run, dpm_multistep_row);
	if (rc == 0 && stochastic)
		draw_noise(&run, draft);
	return rc;
}

const struct strata_solver_class strata_solver_dpmpp_2m = {
	.base = {
		.name = "dpmpp_2m",
		.aliases = "DPM++ 2M, dpm++2m, k_dpmpp_2m, sample_dpmpp_2m, dpmpp_multistep, "
			   "DPMSolverMultistepScheduler",
		.summary = "DPM-Solver++ in multiple steps; order 1 to 3, ODE or SDE, one call",
		.conf_size = sizeof(struct dpm_conf),
		.options = dpmpp_2m_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = dpmpp_2m_compile,
};
