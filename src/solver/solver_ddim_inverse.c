/* DDIM inversion: DDIM's step the other way, from a clean sample to the noise that would give it. First order. */
#include "solver/discrete.h"

#include <errno.h>
#include <math.h>

struct ddim_inverse_conf {
	struct solver_conf common;
	bool set_alpha_to_one;
};

static const struct strata_option ddim_inverse_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions),
	CONF_CLIP,
	CONF_SPACING(SPACING_LEADING, 1),
	{ "set_alpha_to_one", STRATA_BOOL, offsetof(struct ddim_inverse_conf, set_alpha_to_one),
	  .help = "the first step starts without noise, not at timestep 0" },
	{ 0 }
};

static int ddim_inverse_step(void *run_any, size_t i)
{
	struct discrete_run *run = run_any;
	const struct ddim_inverse_conf *conf = (const struct ddim_inverse_conf *)run->conf;
	double start = conf->set_alpha_to_one ? 1 : run->alphas.product[0];
	double t = run->timesteps.at[run->timesteps.count - 1 - i];
	double now = discrete_alpha(run, t - (double)run->stride, start);
	double then = discrete_alpha(run, t, start);
	struct strata_solver_row *row;
	int rc = discrete_row(run, i, t, now, &row);

	if (rc)
		return rc;
	row->next.b = sqrt(then);
	prediction_add_noise(run->conf, row, sqrt(1 - then), &row->next);
	return 0;
}

static int ddim_inverse_compile(const void *conf, const struct strata_solver_request *request,
				struct strata_solver_draft *draft, struct strata_error *err)
{
	if (((const struct solver_conf *)conf)->timestep_spacing == SPACING_LINSPACE)
		return strata_fail_at(err, -EINVAL, "timestep_spacing",
				      "inversion has no linspace; expected leading or trailing");
	return discrete_compile(conf, request, ddim_inverse_step, draft, err);
}

const struct strata_solver_class strata_solver_ddim_inverse = {
	.base = {
		.name = "ddim_inverse",
		.aliases = "DDIMInverseScheduler",
		.summary = "DDIM the other way, from a clean sample to its noise",
		.conf_size = sizeof(struct ddim_inverse_conf),
		.options = ddim_inverse_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:clip_sample=true:"
			 "set_alpha_to_one=true:steps_offset=0",
	.compile = ddim_inverse_compile,
};
