/*
 * Consistency models: the model maps any noise level to the clean sample, which is noised again to the next level (Song et al. 2023).
 */
#include "solver/edm.h"

#include <errno.h>
#include <math.h>

struct consistency_conf {
	struct solver_conf common;
	double sigma_data, rho;
	bool clip_denoised;
};

static const struct strata_option consistency_options[] = {
	{ "num_train_timesteps", STRATA_INT, CONF_AT(num_train_timesteps),
	  .integer = { 40, 2, STRATA_TRAIN_STEPS_MAX }, .aliases = "train_timesteps",
	  .help = "noise levels the model was trained with" },
	{ "sigma_min", STRATA_REAL, CONF_AT(sigma_min), .real = { 0.002, 1e-6, 1e6 },
	  .help = "the least of them" },
	{ "sigma_max", STRATA_REAL, CONF_AT(sigma_max), .real = { 80, 1e-6, 1e6 },
	  .help = "the greatest" },
	{ "sigma_data", STRATA_REAL, offsetof(struct consistency_conf, sigma_data),
	  .real = { 0.5, 1e-6, 1e6 }, .help = "deviation of clean samples" },
	{ "rho", STRATA_REAL, offsetof(struct consistency_conf, rho), .real = { 7, 0.1, 100 },
	  .help = "which root the levels are even in" },
	{ "s_noise", STRATA_REAL, CONF_AT(s_noise), .real = { 1, 0, 10 },
	  .help = "scale of the noise" },
	{ "clip_denoised", STRATA_BOOL, offsetof(struct consistency_conf, clip_denoised),
	  .boolean = true, .help = "hold the clean sample within -1 and 1" },
	{ 0 }
};

/* Level i of n: every so-many-th of the training's, from the noisiest, or the request's own. */
static double sigma_at(const struct consistency_conf *conf,
		       const struct strata_solver_request *request, size_t n, size_t i)
{
	size_t train = (size_t)conf->common.num_train_timesteps;
	double high = pow(conf->common.sigma_max, 1 / conf->rho);
	double low = pow(conf->common.sigma_min, 1 / conf->rho);
	double place = (double)(i * (train / n));

	if (request->timestep_count && i < n) /* they count noise upwards, from the last */
		place = request->timesteps[n - 1 - i];
	double ramp = place / (double)(train - 1);

	return i < n ? pow(high + ramp * (low - high), conf->rho) : conf->common.sigma_min;
}

/* Two scales that make the model the identity at the least noise. */
static void consistency_row(const struct consistency_conf *conf, double sigma, double to,
			    bool noise, struct strata_solver_row *row)
{
	double least = conf->common.sigma_min, data = conf->sigma_data;
	double above = sigma - least, end = fmin(fmax(to, least), conf->common.sigma_max);

	row->timestep = 250 * log(sigma);
	row->input_scale = 1 / hypot(sigma, data);
	row->sigma = sigma;
	row->p = data * data / (above * above + data * data);
	row->q = above * data / hypot(sigma, data);
	row->next.b = 1;
	if (noise) {
		row->next.d = conf->common.s_noise * sqrt(end * end - least * least);
		row->flags |= STRATA_ROW_NOISE;
	}
	if (conf->clip_denoised) {
		row->flags |= STRATA_ROW_CLIP;
		row->limit = 1;
	}
}

static int consistency_compile(const void *conf_any, const struct strata_solver_request *request,
			       struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct consistency_conf *conf = conf_any;
	size_t n = request->timestep_count ? request->timestep_count : (size_t)request->steps,
	       first;
	struct strata_solver_row *row;
	bool outside = false;

	for (size_t i = 0; i < request->timestep_count; i++)
		outside |= !(request->timesteps[i] >= 0 &&
			     request->timesteps[i] < (double)conf->common.num_train_timesteps &&
			     (i == 0 || request->timesteps[i] < request->timesteps[i - 1]));
	if (outside)
		return strata_fail_at(err, -EINVAL, "timesteps",
				      "own timesteps fall from below %lld to 0",
				      (long long)conf->common.num_train_timesteps);
	if (n < 1 || (int64_t)n > conf->common.num_train_timesteps || request->sigma_count ||
	    request->schedule)
		return strata_fail_at(err, -EINVAL, "steps",
				      "a consistency model takes its own levels in 1 to %lld steps",
				      (long long)conf->common.num_train_timesteps);
	if (!(conf->common.sigma_max > conf->common.sigma_min))
		return strata_fail_at(err, -EINVAL, "sigma_max",
				      "sigma_max is %g; expected more than sigma_min, %g",
				      conf->common.sigma_max, conf->common.sigma_min);
	int rc = spacing_first(request, n, &first, err);

	for (size_t i = rc ? 0 : first; rc == 0 && i < n; i++) {
		rc = strata_solver_draft_row(draft, &row, err);
		if (rc)
			break;
		row->step = (uint32_t)(i - first);
		consistency_row(conf, sigma_at(conf, request, n, i),
				sigma_at(conf, request, n, i + 1), n > 1, row);
	}
	draft->init_noise_sigma = conf->common.sigma_max;
	draft->step_count = rc ? 0 : (uint32_t)(n - first);
	return rc;
}

const struct strata_solver_class strata_solver_consistency = {
	.base = {
		.name = "consistency",
		.aliases = "CMStochasticIterativeScheduler",
		.summary = "a consistency model's jumps to the clean sample",
		.conf_size = sizeof(struct consistency_conf),
		.options = consistency_options,
	},
	.compile = consistency_compile,
};
