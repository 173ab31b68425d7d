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

/* Betas of scaled_linear, and what follows from them, are doubles in the reference; others are floats. */
static void fill_product(const struct solver_conf *conf, const struct alphas *alphas,
			 double *product)
{
	bool wide = !conf->trained_betas.count && conf->beta_schedule == BETAS_SCALED_LINEAR;
	double first = sqrt(conf->beta_start), last = sqrt(conf->beta_end), running = 1;
	double step = alphas->count > 1 ? (last - first) / (double)(alphas->count - 1) : 0;

	for (size_t t = 0; t < alphas->count; t++) {
		double root = first + step * (double)t;

		running *= 1 - root * root;
		product[t] = wide ? running : alphas->product[t];
	}
}

static void shift_snr(double scale, bool zero, struct alphas *alphas, double *product)
{
	size_t last = alphas->count - 1;

	for (size_t t = 0; t <= last; t++)
		product[t] /= scale + (1 - scale) * product[t];
	double high = sqrt(product[0]), low = sqrt(product[last]);

	for (size_t t = 0; zero && high > low && t <= last; t++) {
		double root = (sqrt(product[t]) - low) * high / (high - low);

		product[t] = root * root;
	}
	alphas->product = product;
}

struct ddim_cogvideox_run {
	struct discrete_run discrete;
	double last; /* ā past the first timestep */
};

static int ddim_cogvideox_step(void *run_any, size_t i)
{
	struct ddim_cogvideox_run *run = run_any;
	struct discrete_run *discrete = &run->discrete;
	double t = discrete->timesteps.at[i], now = discrete_alpha(discrete, t, run->last);
	double then = discrete_alpha(discrete, t - (double)discrete->stride, run->last);
	struct strata_solver_row *row;
	int rc = discrete_row(discrete, i, t, now, &row);

	if (rc)
		return rc;
	row->next.a = sqrt((1 - then) / (1 - now));
	row->next.b = sqrt(then) - sqrt(now) * row->next.a;
	return 0;
}

static int ddim_cogvideox_compile(const void *conf_any, const struct strata_solver_request *request,
				  struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct ddim_cogvideox_conf *conf = conf_any;
	struct solver_conf plain = conf->common;
	struct ddim_cogvideox_run run;

	plain.rescale_betas_zero_snr = false; /* done here, after the shift */
	int rc = discrete_check_steps(&plain, request, err);

	if (rc == 0)
		rc = discrete_start(&run.discrete, &plain, request, draft, err);
	double *product =
		rc ? NULL
		   : strata_arena_array(draft->arena, run.discrete.alphas.count, sizeof(double));

	if (rc || !product)
		return rc ? rc : strata_fail_memory(err);
	fill_product(&conf->common, &run.discrete.alphas, product);
	shift_snr(conf->snr_shift_scale, conf->common.rescale_betas_zero_snr, &run.discrete.alphas,
		  product);
	run.last = conf->set_alpha_to_one ? 1 : product[0];
	return discrete_steps(&run.discrete, ddim_cogvideox_step);
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
