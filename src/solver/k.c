/* k-diffusion's family: see k.h. */
#include "solver/k.h"

#include <errno.h>
#include <math.h>

int k_start(struct k_run *run, const struct solver_conf *conf,
	    const struct strata_solver_request *request, unsigned rules,
	    struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = levels_k(conf, request, rules, draft->arena, &run->levels, err);

	if (rc)
		return rc;
	double most = run->levels.sigmas[0];

	/* with zero terminal SNR the first level is 4096, and the next may be above it */
	for (size_t i = 1; i < run->levels.count && !conf->k_diffusion; i++)
		most = fmax(most, run->levels.sigmas[i]);
	run->conf = conf;
	run->draft = draft;
	run->err = err;
	draft->step_count = (uint32_t)(run->levels.count - run->levels.first);
	draft->init_noise_sigma = conf->timestep_spacing == SPACING_LEADING && !conf->k_diffusion
					  ? hypot(most, 1)
					  : most;
	return 0;
}

int k_compile(const void *conf, const struct strata_solver_request *request, unsigned rules,
	      int (*step)(void *run, size_t i), struct strata_solver_draft *draft,
	      struct strata_error *err)
{
	struct k_run run;
	int rc = k_start(&run, conf, request, rules, draft, err);

	return rc ? rc : draft_steps(run.levels.first, run.levels.count, step, &run);
}

int k_row(struct k_run *run, size_t step, double timestep, double sigma,
	  struct strata_solver_row **ret_row)
{
	int rc = strata_solver_draft_row(run->draft, ret_row, run->err);

	if (rc)
		return rc;
	struct strata_solver_row *row = *ret_row;

	row->timestep = timestep;
	row->step = (uint32_t)(step - run->levels.first);
	row->input_scale = 1 / hypot(sigma, 1);
	prediction_fill(run->conf, 1, sigma, row);
	return 0;
}

double k_churned(const struct k_run *run, size_t step)
{
	const struct solver_conf *conf = run->conf;
	double sigma = run->levels.sigmas[step];
	double count = (double)run->levels.count + (run->levels.longer ? 1 : 0);
	double gamma = fmin(conf->s_churn / count, sqrt(2) - 1);

	return sigma >= conf->s_tmin && sigma <= conf->s_tmax ? sigma * (gamma + 1) : sigma;
}

int k_churn(struct k_run *run, size_t step, double *ret_sigma)
{
	double sigma = run->levels.sigmas[step], churned = k_churned(run, step);
	struct strata_solver_row *row;

	*ret_sigma = churned;
	if (churned <= sigma)
		return 0;
	int rc = k_row(run, step, run->levels.timesteps[step], sigma, &row);

	if (rc)
		return rc;
	row->flags = STRATA_ROW_NO_MODEL | STRATA_ROW_NOISE;
	row->p = row->q = 0;
	row->next.a = 1;
	row->next.d = run->conf->s_noise * sqrt(churned * churned - sigma * sigma);
	return 0;
}

void k_euler(struct strata_solver_sum *sum, double sigma, double to)
{
	sum->a += to / sigma;
	sum->b += 1 - to / sigma;
}

void k_slope(struct strata_solver_sum *sum, double sigma, double scale)
{
	sum->a += scale / sigma;
	sum->b -= scale / sigma;
}

int k_heun(struct k_run *run, size_t step, double sigma, double t, double to, double t_to)
{
	struct strata_solver_row *row;
	int rc = k_row(run, step, t, sigma, &row);

	if (rc)
		return rc;
	k_euler(&row->next, sigma, to);
	if (to == 0)
		return 0;
	struct strata_solver_sum *half = draft_write(row, 0);

	half->a = 1;
	k_slope(half, sigma, (to - sigma) / 2);
	rc = k_row(run, step, t_to, to, &row);
	if (rc)
		return rc;
	row->next.c[0] = 1;
	k_slope(&row->next, to, (to - sigma) / 2);
	return 0;
}

void k_unguided(struct k_run *run, struct strata_solver_row *row, double sigma, double to)
{
	double ratio = to / sigma;

	row->next.a = ratio * (1 - row->p);
	row->next.b = 1;
	row->next.c[STRATA_SLOT_UNGUIDED] = -ratio * row->q;
	row->flags |= STRATA_ROW_UNGUIDED;
	run->draft->slot_count = STRATA_SLOT_UNGUIDED + 1;
}

int k_falls(struct k_run *run, double sigma, double to)
{
	if (run->conf->eta == 0 || to <= sigma)
		return 0;
	return strata_fail(run->err, -EINVAL,
			   "noise levels rise from %.6g to %.6g, and an ancestral step can only go "
			   "down; take other steps or another timestep_spacing",
			   sigma, to);
}

void k_ancestral(double sigma, double to, double eta, double *ret_down, double *ret_up)
{
	double up = fmin(to, eta * sqrt(fmax(to * to * (sigma * sigma - to * to), 0)) / sigma);

	*ret_up = up;
	*ret_down = sqrt(to * to - up * up);
}

void k_path(struct k_run *run, struct strata_solver_row *row, double sigma, double to)
{
	levels_path(&run->levels, run->conf->k_diffusion, run->draft);
	row->noise_from = (float)sigma;
	row->noise_to = (float)to;
}
