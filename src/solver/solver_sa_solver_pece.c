/*
 * SA-Solver that predicts, calls, corrects and calls again (PECE), as ComfyUI has it: stochastic Adams steps of third and fourth order on
 * clean + sigma·noise, with new noise in the middle of the training's timesteps. The last sample and its noise enter the correction with the
 * factors they had in the prediction, so one slot holds both. Two calls per step but for the first.
 */
#include "solver/adams.h"
#include "solver/k.h"

#include <math.h>

enum { PREDICTOR = 3, CORRECTOR = 4, HISTORY = 3, SLOT_BASE = HISTORY };
_Static_assert((int)CORRECTOR <= (int)ADAMS_POINTS_MAX && CORRECTOR - 1 <= HISTORY,
	       "all of them are kept");

static const struct strata_option pece_options[] = { CONF_TRAINING,
						     CONF_ZERO_SNR,
						     CONF_PREDICTION(conf_predictions),
						     CONF_SPACING(SPACING_LINSPACE, 1),
						     CONF_SIGMAS,
						     CONF_ETA(1, 10),
						     CONF_K_DIFFUSION,
						     { 0 } };

static uint32_t slot_of(const struct k_run *run, size_t i)
{
	return (uint32_t)((i - run->levels.first) % HISTORY);
}

/* How stochastic the step to a level is: noise between a fifth and four fifths of the training. */
static double tau_at(const struct k_run *run, double sigma)
{
	double last = (double)run->levels.train.train_count - 1;
	double timestep = schedule_timestep(&run->levels.train, sigma);

	return timestep >= 0.2 * last && timestep <= 0.8 * last ? run->conf->eta : 0;
}

/* Weights of the clean samples at levels newest, newest − 1 … in the step from level i to the next. */
static void weigh(const struct k_run *run, size_t i, size_t newest, size_t count,
		  double *ret_weights)
{
	const double *sigmas = run->levels.sigmas;
	double tau = tau_at(run, sigmas[i + 1]), k = 1 + tau * tau, places[ADAMS_POINTS_MAX];

	for (size_t n = 0; n < count; n++)
		places[n] = log(sigmas[i + 1] / sigmas[newest - n]);
	adams_integrals(count, places, log(sigmas[i + 1] / sigmas[i]), k, ret_weights);
	for (size_t n = 0; n < count; n++)
		ret_weights[n] *= k;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Corrects the sample that was predicted for level i by what the model says there. */
static int correct(struct k_run *run, size_t i)
{
	size_t done = i - run->levels.first, left = run->levels.count - i;
	size_t order = least(least(CORRECTOR, done + 1), left);
	double weights[ADAMS_POINTS_MAX];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], run->levels.sigmas[i], &row);

	if (rc)
		return rc;
	weigh(run, i - 1, i, order, weights);
	row->next.c[SLOT_BASE] = 1;
	row->next.b = weights[0];
	for (size_t n = 1; n < order; n++)
		row->next.c[slot_of(run, i - n)] += weights[n];
	return 0;
}

/* Predicts the sample at the next level. */
static int predict(struct k_run *run, size_t i)
{
	const double *sigmas = run->levels.sigmas;
	size_t done = i - run->levels.first, left = run->levels.count - i;
	size_t order = least(least(PREDICTOR, done + 1), left - 1);
	double weights[ADAMS_POINTS_MAX];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigmas[i], &row);

	if (rc)
		return rc;
	if (sigmas[i + 1] == 0 || order == 0) {
		k_euler(&row->next, sigmas[i], sigmas[i + 1]);
		return 0;
	}
	double tau = tau_at(run, sigmas[i + 1]), h = log(sigmas[i] / sigmas[i + 1]);
	struct strata_solver_sum *base = draft_write(row, SLOT_BASE);

	weigh(run, i, i, order, weights);
	base->a = exp(-(1 + tau * tau) * h);
	if (tau > 0 && run->conf->s_noise > 0) {
		base->d = run->conf->s_noise * sigmas[i + 1] * sqrt(-expm1(-2 * tau * tau * h));
		row->flags |= STRATA_ROW_NOISE;
	}
	draft_add(&row->next, 1, base);
	row->next.b = weights[0];
	for (size_t n = 1; n < order; n++)
		row->next.c[slot_of(run, i - n)] += weights[n];
	draft_write(row, slot_of(run, i))->b = 1;
	return 0;
}

static int pece_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	int rc = i > run->levels.first ? correct(run, i) : 0;

	return rc ? rc : predict(run, i);
}

static int pece_compile(const void *conf, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, pece_step, draft, err);
}

const struct strata_solver_class strata_solver_sa_solver_pece = {
	.base = {
		.name = "sa_solver_pece",
		.aliases = "sample_sa_solver_pece",
		.summary = "stochastic Adams steps, each corrected and called again; two calls",
		.conf_size = sizeof(struct solver_conf),
		.options = pece_options,
	},
	.compile = pece_compile,
};
