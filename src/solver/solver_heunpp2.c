/*
 * Heun++: Heun with a look two levels ahead; the slopes count by the noise of their levels. Three calls per step, two in the last but one, one
 * in the last.
 */
#include "solver/k.h"

static const struct strata_option heunpp2_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_CHURN,
	CONF_K_DIFFUSION,
	{ 0 },
};

enum { SLOT_TOTAL }; /* the step as far as its slopes are known */

/* One look ahead: on to the next level, and this slope's share of the step put aside. */
static int look(struct k_run *run, size_t i, size_t at, double sigma, double to, double share,
		struct strata_solver_row **ret_row)
{
	int rc = k_row(run, i, run->levels.timesteps[at], sigma, ret_row);

	if (rc)
		return rc;
	struct strata_solver_sum *total = draft_write(*ret_row, SLOT_TOTAL);

	k_euler(&(*ret_row)->next, sigma, to);
	if (at == i)
		total->a = 1;
	else
		total->c[SLOT_TOTAL] = 1;
	k_slope(total, sigma, share);
	return 0;
}

static int heunpp2_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	const double *sigmas = run->levels.sigmas;
	size_t left = run->levels.count - i;
	bool far = left > 2;
	double sigma, to = sigmas[i + 1];
	struct strata_solver_row *row;
	int rc = k_churn(run, i, &sigma);

	if (rc)
		return rc;
	if (left == 1 || to == 0) {
		rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);
		if (rc == 0)
			k_euler(&row->next, sigma, to);
		return rc;
	}
	double dt = to - sigma, all = (far ? 3 : 2) * sigmas[0];
	double second = to / all, third = far ? sigmas[i + 2] / all : 0;

	rc = look(run, i, i, sigma, to, (1 - second - third) * dt, &row);
	if (rc == 0 && far)
		rc = look(run, i, i + 1, to, sigmas[i + 2], second * dt, &row);
	size_t last = far ? i + 2 : i + 1;

	if (rc == 0)
		rc = k_row(run, i, run->levels.timesteps[last], sigmas[last], &row);
	if (rc)
		return rc;
	row->next.c[SLOT_TOTAL] = 1;
	k_slope(&row->next, sigmas[last], (far ? third : second) * dt);
	return 0;
}

static int heunpp2_compile(const void *conf, const struct strata_solver_request *request,
			   struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, heunpp2_step, draft, err);
}

const struct strata_solver_class strata_solver_heunpp2 = {
	.base = {
		.name = "heunpp2",
		.aliases = "Heun++, sample_heunpp2",
		.summary = "Heun with a look two levels ahead; three calls",
		.conf_size = sizeof(struct solver_conf),
		.options = heunpp2_options,
	},
	.compile = heunpp2_compile,
};
