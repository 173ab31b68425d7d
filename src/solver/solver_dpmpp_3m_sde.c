/*
 * DPM++ 3M SDE: k-diffusion's multistep rule of third order along the SDE. It differs from the third order of dpmpp_2m in the last
 * term. One call per step.
 */
#include "solver/dpm.h"

static const struct strata_option dpmpp_3m_sde_options[] = {
	CONF_ON_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ 0 },
};

enum { SLOTS = 2 };

static int dpmpp_3m_sde_step(void *run_any, size_t i)
{
	struct dpm_run *run = run_any;
	size_t done = i - run->levels.first;
	struct point points[3], to = dpm_point(run, i + 1);
	int order = to.sigma == 0 ? 1 : done < 2 ? (int)done + 1 : 3;
	struct strata_solver_sum predicted;
	struct strata_solver_row *row;
	double weights[3];
	int rc = dpm_row(run, i, &row, &predicted);

	if (rc)
		return rc;
	for (int k = 0; k < order; k++)
		points[k] = dpm_point(run, i - (size_t)k);
	struct dpm_terms terms = dpm_terms(DPM_SDE_PP, run->conf->eta, &points[0], &to);

	if (run->conf->eta > 0)
		terms.d2 += to.alpha; /* −1/2 becomes +1/2 */
	dpm_multistep(&terms, true, order, points, &to, weights);
	row->next.a = terms.x;
	draft_add(&row->next, weights[0], &predicted);
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % SLOTS] = weights[k];
	*draft_write(row, (uint32_t)(done % SLOTS)) = predicted;
	if (to.sigma > 0 && run->conf->eta > 0) {
		row->next.d = terms.noise * run->conf->s_noise;
		row->flags |= STRATA_ROW_NOISE;
		levels_path(&run->levels, run->conf->k_diffusion, run->draft);
		row->noise_from = run->levels.sigmas[i];
		row->noise_to = run->levels.sigmas[i + 1];
	}
	return 0;
}

static int dpmpp_3m_sde_compile(const void *conf, const struct strata_solver_request *request,
				struct strata_solver_draft *draft, struct strata_error *err)
{
	struct dpm_run run = { 0 };
	int rc = dpm_start(&run, conf, request, -INFINITY, 0, draft, err);

	return rc ? rc : dpm_steps(&run, dpmpp_3m_sde_step);
}

const struct strata_solver_class strata_solver_dpmpp_3m_sde = {
	.base = {
		.name = "dpmpp_3m_sde",
		.aliases = "DPM++ 3M SDE, dpmpp_3m_sde_gpu, k_dpmpp_3m_sde, sample_dpmpp_3m_sde",
		.summary = "k-diffusion's third-order multistep rule along the SDE; one call",
		.conf_size = sizeof(struct solver_conf),
		.options = dpmpp_3m_sde_options,
	},
	.compile = dpmpp_3m_sde_compile,
};
