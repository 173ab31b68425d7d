/*
 * DPM++ SDE: an ancestral step to a point inside the interval, a second model call there, and the whole ancestral step with
 * what it predicts. Two calls and two draws of noise per step but for the last.
 */
#include "solver/k.h"

#include <math.h>

struct dpmpp_sde_conf {
	struct solver_conf common;
	double r;
};

static const struct strata_option dpmpp_sde_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ "r", STRATA_REAL, offsetof(struct dpmpp_sde_conf, r), .real = { 0.5, 0.01, 1 },
	  .help = "where inside the step the second call is, in log sigma" },
	{ 0 }
};

/* Names the stretch of the path from sigma to a part of the way to `to`. A path is rough: a level that is a bit off has another value,
 * so levels go through the logarithms in float that the reference takes them through. */
static void name_path(struct k_run *run, struct strata_solver_row *row, double sigma, double to,
		      double part)
{
	float start = -(float)log(sigma), end = -(float)log(to);
	float at = part < 1 ? start + (end - start) * (float)part : end;

	k_path(run, row, exp(-(double)start), exp(-(double)at));
}

static int dpmpp_sde_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double r = ((const struct dpmpp_sde_conf *)run->conf)->r;
	double sigma = run->levels.sigmas[i], to = run->levels.sigmas[i + 1];
	double inside = exp(log(sigma) + r * (log(to) - log(sigma))), fac = 1 / (2 * r), down, up;
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	if (to == 0) {
		k_euler(&row->next, sigma, 0);
		return 0;
	}
	k_ancestral(sigma, inside, run->conf->eta, &down, &up);
	k_euler(&row->next, sigma, down);
	row->next.d = up * run->conf->s_noise;
	row->flags |= STRATA_ROW_NOISE;
	name_path(run, row, sigma, to, r);
	k_ancestral(sigma, to, run->conf->eta, &down, &up);
	struct strata_solver_sum *start = draft_write(row, 0);

	start->a = down / sigma;
	start->b = (1 - down / sigma) * (1 - fac);
	rc = k_row(run, i, schedule_timestep(&run->levels.train, inside), inside, &row);
	if (rc)
		return rc;
	row->next.c[0] = 1;
	row->next.b = (1 - down / sigma) * fac;
	row->next.d = up * run->conf->s_noise;
	row->flags |= STRATA_ROW_NOISE;
	name_path(run, row, sigma, to, 1);
	return 0;
}

static int dpmpp_sde_compile(const void *conf, const struct strata_solver_request *request,
			     struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = prediction_check_noise(conf, err);

	return rc ? rc : k_compile(conf, request, 0, dpmpp_sde_step, draft, err);
}

const struct strata_solver_class strata_solver_dpmpp_sde = {
	.base = {
		.name = "dpmpp_sde",
		.aliases = "DPM++ SDE, dpmpp_sde_gpu, k_dpmpp_sde, sample_dpmpp_sde, DPMSolverSDEScheduler",
		.summary = "the stochastic equation with a call inside each step; two calls",
		.conf_size = sizeof(struct dpmpp_sde_conf),
		.options = dpmpp_sde_options,
	},
	.file_defaults = "beta_start=0.00085:beta_end=0.012:beta_schedule=linear:steps_offset=0",
	.compile = dpmpp_sde_compile,
};
