/*
 * DDIM: the clean sample and the noise are predicted, and the clean sample is noised again to the level of the next
 * timestep; eta makes part of that noise new. First order.
 */
#include "solver/discrete.h"

#include <math.h>

struct ddim_conf {
	struct solver_conf common;
	bool set_alpha_to_one;
	bool use_clipped_model_output;
	double eta;
};

static const struct strata_option ddim_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions),
	CONF_THRESHOLDING,
	CONF_CLIP,
	CONF_SPACING(SPACING_LEADING, 1),
	{ "set_alpha_to_one", STRATA_BOOL, offsetof(struct ddim_conf, set_alpha_to_one),
	  .help = "the last step ends without noise, not at timestep 0" },
	{ "use_clipped_model_output", STRATA_BOOL,
	  offsetof(struct ddim_conf, use_clipped_model_output),
	  .help = "the noise is what the limited clean sample leaves" },
	{ "eta", STRATA_REAL, offsetof(struct ddim_conf, eta), .real = { 0, 0, 1 },
	  .help = "how much of the noise is new (1: as in DDPM)" },
	{ 0 }
};

static void ddim_row(const struct ddim_conf *conf, double now, double then,
		     struct strata_solver_row *row)
{
	double deviation = conf->eta * sqrt((1 - then) / (1 - now) * (1 - now / then));
	double kept = sqrt(1 - then - deviation * deviation);

	row->next.b = sqrt(then);
	if (conf->use_clipped_model_output)
		prediction_add_rest(row, kept, &row->next);
	else
		prediction_add_noise(&conf->common, row, kept, &row->next);
	row->next.d = deviation;
	if (conf->eta > 0)
		row->flags |= STRATA_ROW_NOISE;
}

static int ddim_step(void *run_any, size_t i)
{
	struct discrete_run *run = run_any;
	const struct ddim_conf *conf = (const struct ddim_conf *)run->conf;
	double last = conf->set_alpha_to_one ? 1 : run->alphas.product[0];
	double t = run->timesteps.at[i], now = discrete_alpha(run, t, last);
	struct strata_solver_row *row;
	int rc = discrete_row(run, i, t, now, &row);

	if (rc == 0)
		ddim_row(conf, now, discrete_alpha(run, t - (double)run->stride, last), row);
	return rc;
}

static int ddim_compile(const void *conf, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	return discrete_compile(conf, request, ddim_step, draft, err);
}

const struct strata_solver_class strata_solver_ddim = {
	.base = {
		.name = "ddim",
		.aliases = "DDIM, DDIMScheduler",
		.summary = "denoises and noises again, the default; first order",
		.conf_size = sizeof(struct ddim_conf),
		.options = ddim_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:clip_sample=true:"
			 "set_alpha_to_one=true:steps_offset=0",
	.compile = ddim_compile,
};
