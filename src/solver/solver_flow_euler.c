/* Flow Euler: one straight step along the flow per model call, or a jump to the clean sample that is noised again. First order. */
#include "solver/flow.h"

struct flow_euler_conf {
	struct solver_conf common;
	bool invert_sigmas, stochastic_sampling;
};

static const struct strata_option flow_euler_options[] = {
	FLOW_OPTIONS,
	FLOW_DYNAMIC,
	{ "invert_sigmas", STRATA_BOOL, offsetof(struct flow_euler_conf, invert_sigmas),
	  .help = "levels run from 0 up to 1 (Mochi)" },
	{ "stochastic_sampling", STRATA_BOOL, offsetof(struct flow_euler_conf, stochastic_sampling),
	  .help = "noise the clean sample again at each step" },
	{ 0 }
};

static int flow_euler_step(void *run_any, size_t i)
{
	struct flow_run *run = run_any;
	const struct flow_euler_conf *conf = (const struct flow_euler_conf *)run->conf;
	double to = run->sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = flow_row(run, i, run->sigmas[i], &row);

	if (rc)
		return rc;
	if (conf->stochastic_sampling) {
		flow_jump(row, to);
	} else {
		row->next.a = 1;
		row->next.e = to - run->sigmas[i];
	}
	return 0;
}

static int flow_euler_compile(const void *conf_any, const struct strata_solver_request *request,
			      struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct flow_euler_conf *conf = conf_any;
	struct flow_run run;
	int rc = flow_start(&run, &conf->common, request, draft, err);

	if (rc == 0 && conf->invert_sigmas)
		flow_invert(&run);
	return rc ? rc : flow_steps(&run, flow_euler_step);
}

const struct strata_solver_class strata_solver_flow_euler = {
	.base = {
		.name = "flow_euler",
		.aliases = "FlowMatchEulerDiscreteScheduler",
		.summary = "one straight step along the flow (FLUX, SD3); first order",
		.conf_size = sizeof(struct flow_euler_conf),
		.options = flow_euler_options,
	},
	.file_defaults = "shift=1",
	.compile = flow_euler_compile,
};
