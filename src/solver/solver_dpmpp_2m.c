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
	CONF_ETA(1),
	CONF_K_DIFFUSION,
	{ 0 }
};

/* The order of step i: what was asked for, less while there is too little history and at the end of short schedules. */
static int order_of(const struct dpm_conf *conf, const struct dpm_run *run, size_t i)
{
	size_t left = run->levels.count - i, done = i - run->levels.first;
	bool low = conf->lower_order_final && run->levels.count < 15;
	int order = (int)conf->solver_order;

	if (done + 1 < (size_t)order)
		order = (int)done + 1;
	if (left == 1 && (conf->euler_at_final || low || run->levels.sigmas[i + 1] == 0))
		order = 1;
	if (left == 2 && low && order > 2)
		order = 2;
	return order;
}

static int dpmpp_2m_step(const struct dpm_conf *conf, struct dpm_run *run, size_t i)
{
	size_t done = i - run->levels.first, slots = (size_t)conf->solver_order - 1;
	int order = order_of(conf, run, i);
	struct point points[3], to = dpm_point(run, i + 1);
	struct strata_solver_row *row;
	struct strata_solver_sum predicted;
	double weights[3];
	int rc = dpm_row(run, i, &row, &predicted);

	if (rc)
		return rc;
	for (int k = 0; k < order; k++)
		points[k] = dpm_point(run, i - (size_t)k);
	struct dpm_terms terms = dpm_terms((enum dpm_algorithm)conf->algorithm_type,
					   conf->common.eta, &points[0], &to);

	dpm_multistep(&terms, conf->solver_type == DPM_HEUN, order, points, &to, weights);
	row->next.a = terms.x;
	draft_add(&row->next, weights[0], &predicted);
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % slots] = weights[k];
	if (slots)
		*draft_write(row, (uint32_t)(done % slots)) = predicted;
	row->next.d = terms.noise * conf->common.s_noise;
	return 0;
}

static int dpmpp_2m_compile(const void *conf_any, const struct strata_solver_request *request,
			    struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct dpm_conf *conf = conf_any;
	bool noise = conf->algorithm_type == DPM_SOLVER || conf->algorithm_type == DPM_SDE;
	bool stochastic = conf->algorithm_type == DPM_SDE || conf->algorithm_type == DPM_SDE_PP;
	struct dpm_run run = { .predict_noise = noise };
	int rc = dpm_start(&run, &conf->common, request, conf->lambda_min_clipped, 0, draft, err);

	for (size_t i = rc ? 0 : run.levels.first; rc == 0 && i < run.levels.count; i++)
		rc = dpmpp_2m_step(conf, &run, i);
	for (size_t i = 0; rc == 0 && stochastic && i < draft->row_count; i++)
		if (!conf->common.k_diffusion ||
		    (conf->common.eta > 0 && run.levels.sigmas[run.levels.first + i + 1] > 0))
			draft->rows[i].flags |= STRATA_ROW_NOISE;
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
