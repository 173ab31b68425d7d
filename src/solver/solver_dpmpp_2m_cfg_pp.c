/* DPM++ 2M with CFG++: from the guided clean sample along the unguided slope, with the change of the clean sample since the last call. Second order. */
#include "solver/k.h"

#include <math.h>

enum { OLD = STRATA_SLOT_UNGUIDED + 1 }; /* the unguided clean sample of the last call */

static const struct strata_option dpmpp_2m_cfg_pp_options[] = {
	CONF_ON_SIGMAS,
	CONF_K_DIFFUSION,
	{ 0 },
};

static int dpmpp_2m_cfg_pp_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	const double *sigmas = run->levels.sigmas;
	double sigma = sigmas[i], to = sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	k_unguided(run, row, sigma, to);
	if (i > run->levels.first && to > 0) {
		/* steps in log sigma, this one over twice the last */
		double change = (1 - to / sigma) * log(sigma / to) /
				(2 * log(sigmas[i - 1] / sigma));

		row->next.b += change;
		row->next.c[OLD] = -change;
	}
	struct strata_solver_sum *old = draft_write(row, OLD);

	old->a = row->p;
	old->c[STRATA_SLOT_UNGUIDED] = row->q;
	return 0;
}

static int dpmpp_2m_cfg_pp_compile(const void *conf, const struct strata_solver_request *request,
				   struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, dpmpp_2m_cfg_pp_step, draft, err);
}

const struct strata_solver_class strata_solver_dpmpp_2m_cfg_pp = {
	.base = {
		.name = "dpmpp_2m_cfg_pp",
		.aliases = "DPM++ 2M CFG++, k_dpmpp_2m_cfg_pp, sample_dpmpp_2m_cfg_pp",
		.summary = "DPM++ 2M along the unguided slope (CFG++); second order",
		.conf_size = sizeof(struct solver_conf),
		.options = dpmpp_2m_cfg_pp_options,
	},
	.compile = dpmpp_2m_cfg_pp_compile,
};
