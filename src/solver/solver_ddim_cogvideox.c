/*
 * DDIM as CogVideoX has it: the signal-to-noise ratio of the training is divided by a factor, the last timestep is made pure
 * noise, and a step is written in the sample and the clean sample, which stays finite there.
 */
#include "solver/discrete.h"

#include <math.h>

struct ddim_cogvideox_conf {
	struct solver_conf common;
	bool set_alpha_to_one;
	double snr_shift_scale;
};

static const struct strata_option ddim_cogvideox_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LEADING, 0),
	{ "set_alpha_to_one", STRATA_BOOL, offsetof(struct ddim_cogvideox_conf, set_alpha_to_one),
	  .boolean = true, .help = "the last step ends without noise, not at timestep 0" },
	{ "snr_shift_scale", STRATA_REAL, offsetof(struct ddim_cogvideox_conf, snr_shift_scale),
	  .real = { 3, 1e-3, 1e3 }, .help = "what the signal-to-noise ratio is divided by" },
	{ 0 }
};

static void shift_snr(double scale, bool zero, struct alphas *alphas, double *product)
{
	size_t last = alphas->count - 1;

	for (size_t t = 0; t <= last; t++)
		product[t] = alphas->product[t] / (scale + (1 - scale) * alphas->product[t]);
	double high = sqrt(product[0]), low = sqrt(product[last]);

	for (size_t t = 0; zero && high > low && t <= last; t++) {
		double root = (sqrt(product[t]) - low) * high / (high - low);

		product[t] = root * root;
	}
	alphas->product = product;
}

static int ddim_cogvideox_compile(const void *conf_any, const struct strata_solver_request *request,
				  struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct ddim_cogvideox_conf *conf = conf_any;
	struct solver_conf plain = conf->common;
	struct discrete_run run;
	struct strata_solver_row *row;

	plain.rescale_betas_zero_snr = false; /* done here, after the shift */
	int rc = discrete_start(&run, &plain, request, draft, err);
	double *product = rc ? NULL
			     : strata_arena_array(draft->arena, run.alphas.count, sizeof(double));

	if (rc || !product)
		return rc ? rc : strata_fail_memory(err);
	shift_snr(conf->snr_shift_scale, conf->common.rescale_betas_zero_snr, &run.alphas, product);
	double last = conf->set_alpha_to_one ? 1 : product[0];

	for (size_t i = run.first; rc == 0 && i < run.timesteps.count; i++) {
		double t = run.timesteps.at[i], now = discrete_alpha(&run, t, last);
		double then = discrete_alpha(&run, t - (double)run.stride, last);

		rc = discrete_row(&run, i, t, now, &row);
		if (rc)
			break;
		row->next.a = sqrt((1 - then) / (1 - now));
		row->next.b = sqrt(then) - sqrt(now) * row->next.a;
	}
	return rc;
}

const struct strata_solver_class strata_solver_ddim_cogvideox = {
	.base = {
		.name = "ddim_cogvideox",
		.aliases = "CogVideoXDDIMScheduler",
		.summary = "DDIM with a shifted signal-to-noise ratio",
		.conf_size = sizeof(struct ddim_cogvideox_conf),
		.options = ddim_cogvideox_options,
	},
	.compile = ddim_cogvideox_compile,
};
