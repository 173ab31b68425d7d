/*
 * DPM++ 2M v2: dpmpp_2m with the two last steps' lengths made alike, as stable-diffusion.cpp has it. It keeps a sample smooth where steps
 * change their length much. One call per step.
 */
#include "solver/k.h"

#include <math.h>

static const struct strata_option dpmpp_2m_v2_options[] = {
	CONF_ON_SIGMAS,
	CONF_K_DIFFUSION,
	{ 0 },
};

static int dpmpp_2m_v2_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	const double *sigmas = run->levels.sigmas;
	double sigma = sigmas[i], to = sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	k_euler(&row->next, sigma, to);
	if (i > run->levels.first && to > 0) {
		double h = log(sigma / to), last = log(sigmas[i - 1] / sigma);
		double ratio = fmin(h, last) / fmax(h, last), clean = -expm1(-(h + last) / 2);

		row->next.b = clean * (1 + ratio / 2);
		row->next.c[0] = -clean * ratio / 2;
	}
	draft_write(row, 0)->b = 1;
	return 0;
}

static int dpmpp_2m_v2_compile(const void *conf, const struct strata_solver_request *request,
			       struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, dpmpp_2m_v2_step, draft, err);
}

const struct strata_solver_class strata_solver_dpmpp_2m_v2 = {
	.base = {
		.name = "dpmpp_2m_v2",
		.aliases = "DPM++ 2M v2, dpm++2mv2",
		.summary = "dpmpp_2m for steps of uneven length; one call",
		.conf_size = sizeof(struct solver_conf),
		.options = dpmpp_2m_v2_options,
	},
	.compile = dpmpp_2m_v2_compile,
};
