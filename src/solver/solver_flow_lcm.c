/* Flow LCM: the model jumps to the clean sample, which is noised again to the next level. For flow models distilled to few steps. */
#include "solver/flow.h"

struct flow_lcm_conf {
	struct solver_conf common;
	bool invert_sigmas;
};

static const struct strata_option flow_lcm_options[] = {
	FLOW_OPTIONS,
	FLOW_DYNAMIC,
	{ "invert_sigmas", STRATA_BOOL, offsetof(struct flow_lcm_conf, invert_sigmas),
	  .help = "levels run from 0 up to 1 (Mochi)" },
	{ 0 }
};

static int flow_lcm_step(void *run_any, size_t i)
{
	struct flow_run *run = run_any;
	struct strata_solver_row *row;
	int rc = flow_row(run, i, run->sigmas[i], &row);

	if (rc == 0)
		flow_jump(row, run->sigmas[i + 1]);
	return rc;
}

static int flow_lcm_compile(const void *conf_any, const struct strata_solver_request *request,
			    struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct flow_lcm_conf *conf = conf_any;
	struct flow_run run;
	int rc = flow_start(&run, &conf->common, request, draft, err);

	if (rc == 0 && conf->invert_sigmas)
		flow_invert(&run);
	return rc ? rc : flow_steps(&run, flow_lcm_step);
}

const struct strata_solver_class strata_solver_flow_lcm = {
	.base = {
		.name = "flow_lcm",
		.aliases = "FlowMatchLCMScheduler",
		.summary = "jumps to the clean sample and noises it again; for distilled flows",
		.conf_size = sizeof(struct flow_lcm_conf),
		.options = flow_lcm_options,
	},
	.file_defaults = "shift=1",
	.compile = flow_lcm_compile,
};
