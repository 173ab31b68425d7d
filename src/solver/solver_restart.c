/*
 * Restart: Heun, but near the end noise brings the sample back up to a higher level once or twice, and it comes down again (Xu et al. 2023). The
 * steps are shared out as A1111 does it; with fewer than 20 it is Heun.
 */
#include "solver/k.h"

#include <errno.h>
#include <math.h>

static const struct strata_option restart_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	{ "s_noise", STRATA_REAL, CONF_AT(s_noise), .real = { 1, 0, 10 },
	  .help = "scale of the noise that brings it back up" },
	CONF_K_DIFFUSION,
	{ 0 }
};

static const double RESTART_LOW = 0.1, RESTART_HIGH = 2;

/* The level nearest to a sigma. */
static size_t nearest(const double *sigmas, size_t count, double sigma)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (fabs(sigmas[i] - sigma) < fabs(sigmas[best] - sigma))
			best = i;
	return best;
}

/* Noise between two steps, from where one ended up to where the next starts. */
static int rise(struct k_run *run, size_t step, double from, double to)
{
	struct strata_solver_row *row;
	int rc = k_row(run, step, schedule_timestep(&run->levels.train, from), from, &row);

	if (rc)
		return rc;
	row->flags = STRATA_ROW_NO_MODEL | STRATA_ROW_NOISE;
	row->p = row->q = 0;
	row->next.a = 1;
	row->next.d = run->conf->s_noise * sqrt(to * to - from * from);
	return 0;
}

static int fall(struct k_run *run, size_t step, double sigma, double to)
{
	const struct strata_schedule_range *train = &run->levels.train;

	return k_heun(run, step, sigma, schedule_timestep(train, sigma), to,
		      schedule_timestep(train, to));
}

static int fall_once(void *run_any, size_t i)
{
	struct k_run *run = run_any;

	return fall(run, i, run->levels.sigmas[i], run->levels.sigmas[i + 1]);
}

/* Back up from the low level to the high one and down again, in `count` steps. */
static int again(struct k_run *run, size_t *step, size_t count, double low, double high)
{
	struct strata_schedule_range range = run->levels.train;
	double *levels = strata_arena_array(run->draft->arena, count + 1, sizeof(double));

	if (!levels)
		return strata_fail_memory(run->err);
	range.sigma_min = low;
	range.sigma_max = high;
	int rc = schedule_fill(&strata_schedule_karras, NULL, &range, count + 1, run->draft->arena,
			       levels, run->err);

	if (rc == 0)
		rc = rise(run, *step, low, levels[0]);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = fall(run, (*step)++, levels[i], levels[i + 1]);
	return rc;
}

static int restart_rows(struct k_run *run)
{
	size_t n = run->levels.count, extra = n >= 36 ? n / 4 : 9, times = n >= 36 ? 2 : 1;
	size_t plain = n - extra * times, step = 0;
	double *sigmas = strata_arena_array(run->draft->arena, plain + 1, sizeof(double));
	struct strata_schedule_range range = run->levels.train;

	if (!sigmas)
		return strata_fail_memory(run->err);
	range.sigma_max = run->levels.sigmas[0];
	range.sigma_min = run->levels.sigmas[n - 1];
	int rc = schedule_fill(&strata_schedule_karras, NULL, &range, plain, run->draft->arena,
			       sigmas, run->err);
	size_t low = rc ? 0 : nearest(sigmas, plain + 1, RESTART_LOW);
	size_t high = rc ? 0 : nearest(sigmas, plain + 1, RESTART_HIGH);

	for (size_t i = 0; rc == 0 && i < plain; i++) {
		rc = fall(run, step++, sigmas[i], sigmas[i + 1]);
		for (size_t k = 0;
		     rc == 0 && i + 1 == low && high < low && sigmas[low] > 0 && k < times; k++)
			rc = again(run, &step, extra, sigmas[low], sigmas[high]);
	}
	return rc;
}

static int restart_compile(const void *conf, const struct strata_solver_request *request,
			   struct strata_solver_draft *draft, struct strata_error *err)
{
	struct k_run run;

	if (request->has_strength)
		return strata_fail_at(
			err, -EINVAL, "strength",
			"restart goes through a whole schedule; expected no strength, "
			"or the solver heun");
	int rc = k_start(&run, conf, request, 0, draft, err);

	if (rc == 0 && run.levels.count >= 20)
		return restart_rows(&run);
	return rc ? rc : draft_steps(0, run.levels.count, fall_once, &run);
}

const struct strata_solver_class strata_solver_restart = {
	.base = {
		.name = "restart",
		.aliases = "Restart",
		.summary = "Heun that goes back up near the end; two calls",
		.conf_size = sizeof(struct solver_conf),
		.options = restart_options,
	},
	.compile = restart_compile,
};
