/* EDM DPM-Solver++: the multistep solver on an EDM model, along the ODE or the SDE. Order 1 to 3, one call per step. */
#include "solver/edm_multistep.h"

struct edm_dpmpp_conf {
	struct edm_conf edm;
	struct dpm_conf dpm; /* its common part is not used */
};

static const struct strata_choice algorithms[] = {
	{ "dpmsolver++", DPM_SOLVER_PP, "along the ODE" },
	{ "sde-dpmsolver++", DPM_SDE_PP, "along the SDE" },
	{ "deis", DPM_DEIS, "another solver's: dpmsolver++" },
	{ 0 }
};

static const struct strata_option edm_dpmpp_options[] = {
	EDM_OPTIONS,
	CONF_THRESHOLDING,
	{ "solver_order", STRATA_INT, offsetof(struct edm_dpmpp_conf, dpm.solver_order),
	  .integer = { 2, 1, 3 }, .help = "order of the steps" },
	{ "algorithm_type", STRATA_ENUM, offsetof(struct edm_dpmpp_conf, dpm.algorithm_type),
	  .choice = { algorithms, DPM_SOLVER_PP }, .help = "what is integrated" },
	{ "solver_type", STRATA_ENUM, offsetof(struct edm_dpmpp_conf, dpm.solver_type),
	  .choice = { dpm_solver_types, DPM_MIDPOINT }, .help = "how a step of second order ends" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct edm_dpmpp_conf, dpm.lower_order_final),
	  .boolean = true, .help = "the last steps of a short schedule are of lower order" },
	{ "euler_at_final", STRATA_BOOL, offsetof(struct edm_dpmpp_conf, dpm.euler_at_final),
	  .help = "the last step is of first order" },
	{ 0 }
};

static int edm_dpmpp_compile(const void *conf_any, const struct strata_solver_request *request,
			     struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct edm_dpmpp_conf *conf = conf_any;

	return edm_multistep(&conf->edm, &conf->dpm, request, draft, err);
}

const struct strata_solver_class strata_solver_edm_dpmpp = {
	.base = {
		.name = "edm_dpmpp",
		.aliases = "edm_dpmpp_2m, EDMDPMSolverMultistepScheduler",
		.summary = "DPM-Solver++ in multiple steps on an EDM model; order 1 to 3",
		.conf_size = sizeof(struct edm_dpmpp_conf),
		.options = edm_dpmpp_options,
	},
	.compile = edm_dpmpp_compile,
};
