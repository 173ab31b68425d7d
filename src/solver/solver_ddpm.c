/* DDPM: the posterior of the diffusion's own chain, sampled at each step (Ho et al. 2020). First order, stochastic. */
#include "solver/discrete.h"

#include <errno.h>
#include <math.h>

enum { FIXED_SMALL, FIXED_SMALL_LOG, FIXED_LARGE, FIXED_LARGE_LOG, LEARNED };

struct ddpm_conf {
	struct solver_conf common;
	int variance_type;
};

static const struct strata_choice variance_types[] = {
	{ "fixed_small", FIXED_SMALL, "the posterior's" },
	{ "fixed_small_log", FIXED_SMALL_LOG, "the same, by its logarithm" },
	{ "fixed_large", FIXED_LARGE, "beta" },
	{ "fixed_large_log", FIXED_LARGE_LOG, "the same, by its logarithm (refused)" },
	{ "learned", LEARNED, "the model's (refused)" },
	{ "learned_range", LEARNED, "the model's (refused)" },
	{ 0 }
};

static const struct strata_option ddpm_options[] = {
	CONF_TRAINING_BY(conf_beta_schedules_ddpm),
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions),
	CONF_THRESHOLDING,
	CONF_CLIP,
	CONF_SPACING(SPACING_LEADING, 1),
	{ "variance_type", STRATA_ENUM, offsetof(struct ddpm_conf, variance_type),
	  .choice = { variance_types, FIXED_SMALL }, .help = "the variance of the new noise" },
	{ 0 }
};

static void ddpm_row(const struct ddpm_conf *conf, double now, double then,
		     struct strata_solver_row *row)
{
	double alpha = now / then, beta = 1 - alpha;
	double variance = fmax((1 - then) / (1 - now) * beta, 1e-20);

	row->next.b = sqrt(then) * beta / (1 - now);
	row->next.a = sqrt(alpha) * (1 - then) / (1 - now);
	if (conf->variance_type == FIXED_LARGE)
		variance = beta;
	if (row->timestep > 0) {
		row->next.d = sqrt(variance);
		row->flags |= STRATA_ROW_NOISE;
	}
}

/* The variance counts from timestep 1 on. */
static int check(const struct discrete_run *run, double t)
{
	int type = ((const struct ddpm_conf *)run->conf)->variance_type;

	if (t > 0 && type == LEARNED)
		return strata_fail_at(run->err, -EINVAL, "variance_type",
				      "a learned variance is not linear in the model's output; "
				      "expected fixed_small or fixed_large");
	if (t > 0 && type == FIXED_LARGE_LOG)
		return strata_fail_at(run->err, -EINVAL, "variance_type",
				      "fixed_large_log is the root of a negative number; expected "
				      "fixed_large");
	return 0;
}

static int ddpm_step(void *run_any, size_t i)
{
	struct discrete_run *run = run_any;
	double t = run->timesteps.at[i], now = discrete_alpha(run, t, 1);
	double to = i + 1 < run->timesteps.count ? run->timesteps.at[i + 1] : -1;
	struct strata_solver_row *row;
	int rc = check(run, t);

	if (rc == 0)
		rc = discrete_row(run, i, t, now, &row);
	if (rc == 0)
		ddpm_row((const struct ddpm_conf *)run->conf, now, discrete_alpha(run, to, 1), row);
	return rc;
}

static int ddpm_compile(const void *conf, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	return discrete_compile(conf, request, ddpm_step, draft, err);
}

const struct strata_solver_class strata_solver_ddpm = {
	.base = {
		.name = "ddpm",
		.aliases = "DDPM, DDPMScheduler",
		.summary = "samples the posterior of the diffusion's own chain; first order",
		.conf_size = sizeof(struct ddpm_conf),
		.options = ddpm_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:clip_sample=true:"
			 "steps_offset=0",
	.compile = ddpm_compile,
};
