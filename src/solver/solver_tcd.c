/*
 * TCD: the model jumps to a timestep below the next one, and noise brings the sample back up; eta says how far below (Zheng et al.
 * 2024). For models distilled to it.
 */
#include "solver/distilled.h"

#include <math.h>

struct tcd_conf {
	struct distilled_conf distilled;
	double eta;
};

static const struct strata_option tcd_options[] = {
	DISTILLED_OPTIONS,
	{ "over_training", STRATA_BOOL, DISTILLED_AT(over_training),
	  .help = "steps lie on any timesteps of the training, not on those of the distillation "
		  "(what "
		  "diffusers makes of original_inference_steps in set_timesteps)" },
	{ "eta", STRATA_REAL, offsetof(struct tcd_conf, eta), .real = { 0.3, 0, 1 },
	  .help = "how stochastic it is (0: not at all)" },
	{ 0 }
};

static int tcd_step(void *run_any, size_t i)
{
	struct discrete_run *run = run_any;
	double eta = ((const struct tcd_conf *)run->conf)->eta;
	bool last = i + 1 == run->timesteps.count;
	/* of own timesteps that a strength cuts, the reference does not know the last */
	bool noise = eta > 0 && (!last || run->first);
	double t = run->timesteps.at[i], to = last ? 0 : run->timesteps.at[i + 1];
	double below = discrete_alpha(run, floor((1 - eta) * to), 1);
	double then = discrete_alpha(run, to, 1), up = noise ? then / below : 1;
	struct strata_solver_row *row;
	int rc = discrete_row(run, i, t, discrete_alpha(run, t, 1), &row);

	if (rc)
		return rc;
	row->next.b = sqrt(up * below);
	prediction_add_noise(run->conf, row, sqrt(up * (1 - below)), &row->next);
	row->next.d = sqrt(fmax(1 - up, 0));
	row->flags |= noise ? STRATA_ROW_NOISE : 0;
	return 0;
}

static int tcd_compile(const void *conf, const struct strata_solver_request *request,
		       struct strata_solver_draft *draft, struct strata_error *err)
{
	return distilled_compile(conf, request, tcd_step, draft, err);
}

const struct strata_solver_class strata_solver_tcd = {
	.base = {
		.name = "tcd",
		.aliases = "TCD, TCDScheduler",
		.summary = "jumps below the next timestep and noises back; for distilled models",
		.conf_size = sizeof(struct tcd_conf),
		.options = tcd_options,
	},
	.compile = tcd_compile,
};
