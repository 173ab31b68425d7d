/*
 * Cosine DPM-Solver++: Stable Audio's solver, the multistep rule along the SDE on an EDM model that is told the angle of its noise level
 * instead of a logarithm. Order 1 or 2, one call per step.
 */
#include "solver/edm_multistep.h"

#include <math.h>

struct cosine_conf {
	struct edm_conf edm;
	struct dpm_conf dpm; /* its common part is not used */
};

static const struct strata_option cosine_options[] = {
	{ "sigma_min", STRATA_REAL, CONF_AT(sigma_min), .real = { 0.3, 1e-6, 1e6 },
	  .help = "the last noise level" },
	{ "sigma_max", STRATA_REAL, CONF_AT(sigma_max), .real = { 500, 1e-6, 1e6 },
	  .help = "the first noise level" },
	{ "sigma_data", STRATA_REAL, EDM_AT(sigma_data), .real = { 1, 1e-6, 1e6 },
	  .help = "deviation of clean samples" },
	{ "sigma_schedule", STRATA_ENUM, EDM_AT(sigma_schedule),
	  .choice = { edm_schedules, EDM_EXPONENTIAL }, .help = "where the levels lie" },
	{ "rho", STRATA_REAL, EDM_AT(rho), .real = { 7, 0.1, 100 },
	  .help = "which root karras takes" },
	{ "prediction_type", STRATA_ENUM, CONF_AT(prediction_type),
	  .choice = { edm_predictions, PREDICTION_V }, .help = "what the model predicts" },
	CONF_FINAL(FINAL_ZERO),
	{ "solver_order", STRATA_INT, offsetof(struct cosine_conf, dpm.solver_order),
	  .integer = { 2, 1, 3 }, .help = "order of the steps" },
	{ "solver_type", STRATA_ENUM, offsetof(struct cosine_conf, dpm.solver_type),
	  .choice = { dpm_solver_types, DPM_MIDPOINT }, .help = "how a step of second order ends" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct cosine_conf, dpm.lower_order_final),
	  .boolean = true, .help = "the last steps of a short schedule are of lower order" },
	{ "euler_at_final", STRATA_BOOL, offsetof(struct cosine_conf, dpm.euler_at_final),
	  .help = "the last step is of first order" },
	{ 0 }
};

static int cosine_compile(const void *conf_any, const struct strata_solver_request *request,
			  struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct cosine_conf *conf = conf_any;
	struct dpm_conf along_sde = conf->dpm;

	along_sde.algorithm_type = DPM_SDE_PP;
	int rc = edm_multistep(&conf->edm, &along_sde, request, draft, err);

	for (size_t i = 0; rc == 0 && i < draft->row_count; i++) {
		struct strata_solver_row *row = &draft->rows[i];

		row->timestep = atan(row->sigma) / M_PI * 2;
		row->noise_from = row->sigma;
		row->noise_to = i + 1 < draft->row_count ? row[1].sigma
							 : conf->edm.common.sigma_min;
	}
	draft->path_low = conf->edm.common.sigma_min;
	draft->path_high = conf->edm.common.sigma_max;
	return rc;
}

const struct strata_solver_class strata_solver_cosine_dpmpp = {
	.base = {
		.name = "cosine_dpmpp",
		.aliases = "CosineDPMSolverMultistepScheduler",
		.summary = "DPM-Solver++ along the SDE for Stable Audio; order 1 or 2",
		.conf_size = sizeof(struct cosine_conf),
		.options = cosine_options,
	},
	.compile = cosine_compile,
};
