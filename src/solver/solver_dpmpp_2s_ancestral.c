/*
 * DPM++ 2S ancestral: a single step of DPM-Solver++ of second order to a little below the next level, and new noise that
 * makes up for it. Two calls per step but for the last.
 */
#include "solver/k.h"

#include <math.h>

static const struct strata_option dpmpp_2s_ancestral_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 }
};

static int dpmpp_2s_ancestral_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	double sigma = run->levels.sigmas[i], to = run->levels.sigmas[i + 1], down, up;
	struct strata_solver_row *row;
	int rc = k_falls(run, sigma, to);

	if (rc == 0)
		rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);
	if (rc)
		return rc;
	k_ancestral(sigma, to, run->conf->eta, &down, &up);
	if (down > 0) {
		double middle = sqrt(sigma * down);

		k_euler(&row->next, sigma, middle);
		draft_write(row, 0)->a = down / sigma;
		rc = k_row(run, i, schedule_timestep(&run->levels.train, middle), middle, &row);
		if (rc)
			return rc;
		row->next.c[0] = 1;
		row->next.b = 1 - down / sigma;
	} else {
		k_euler(&row->next, sigma, down);
	}
	row->next.d = up * run->conf->s_noise;
	if (to > 0)
		row->flags |= STRATA_ROW_NOISE;
	return 0;
}

static int dpmpp_2s_ancestral_compile(const void *conf, const struct strata_solver_request *request,
				      struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, dpmpp_2s_ancestral_step, draft, err);
}

const struct strata_solver_class strata_solver_dpmpp_2s_ancestral = {
	.base = {
		.name = "dpmpp_2s_ancestral",
		.aliases = "DPM++ 2S a, dpmpp_2s_a, k_dpmpp_2s_a, sample_dpmpp_2s_ancestral",
		.summary = "DPM++ in single steps with new noise; second order, two calls",
		.conf_size = sizeof(struct solver_conf),
		.options = dpmpp_2s_ancestral_options,
	},
	.compile = dpmpp_2s_ancestral_compile,
};
