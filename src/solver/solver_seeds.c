/*
 * SEEDS: the stochastic equation by exponential steps of two or three calls (Gonzalez et al. 2023). Noise is added on the way from point to
 * point of a step, and what a point has of it fades towards the next. Without noise these are the exponential Runge–Kutta steps that others
 * call RES 2S (a call in the middle) and exponential Heun (a call at the end).
 */
#include "solver/k.h"

#include <errno.h>
#include <math.h>

enum { SEEDS_PHI_1, SEEDS_PHI_2, STAGES_MAX = 3 };

struct seeds_conf {
	struct solver_conf common;
	int64_t stages;
	double r, r_2;
	int solver_type;
};

static const struct strata_choice solver_types[] = {
	{ "phi_1", SEEDS_PHI_1, "as a step of Euler with a mean of both predictions" },
	{ "phi_2", SEEDS_PHI_2, "exact where the prediction changes evenly" },
	{ 0 },
};

static const struct strata_option seeds_options[] = {
	CONF_ON_SIGMAS,
	CONF_ETA(1, 10),
	CONF_K_DIFFUSION,
	{ "stages", STRATA_INT, offsetof(struct seeds_conf, stages),
	  .integer = { 2, 2, STAGES_MAX }, .help = "calls of a step" },
	{ "r", STRATA_REAL, offsetof(struct seeds_conf, r), .real = { 0, 0, 1 }, .aliases = "r_1",
	  .help = "where inside the step the second call is, in log sigma (0: one of stages)" },
	{ "r_2", STRATA_REAL, offsetof(struct seeds_conf, r_2), .real = { 2.0 / 3, 0.01, 1 },
	  .help = "and the third" },
	{ "solver_type", STRATA_ENUM, offsetof(struct seeds_conf, solver_type),
	  .choice = { solver_types, SEEDS_PHI_1 }, .help = "how two calls are put together" },
	{ 0 }
};

/* A step: point k of it is at[k] of the way to the next level, in log sigma; the last is the next level itself. */
struct step {
	size_t stages;
	double at[STAGES_MAX + 1], sigmas[STAGES_MAX + 1];
	double h;       /* the whole way */
	double eta;     /* new noise on it */
	double s_noise; /* and its scale; 0: none is drawn */
	bool phi_1;     /* weights of the end, with two stages */
};

static struct step step_of(const struct k_run *run, const struct seeds_conf *conf, size_t i)
{
	double from = run->levels.sigmas[i], to = run->levels.sigmas[i + 1];
	size_t stages = (size_t)conf->stages;
	struct step step = { .stages = stages, .h = log(from / to), .eta = run->conf->eta };

	step.s_noise = step.eta > 0 ? run->conf->s_noise : 0;
	step.phi_1 = stages == 2 && conf->solver_type == SEEDS_PHI_1;
	step.at[1] = fmax(conf->r > 0 ? conf->r : 1 / (double)stages, 0.01);
	if (stages > 2)
		step.at[2] = conf->r_2;
	step.at[stages] = 1;
	for (size_t k = 0; k <= stages; k++)
		step.sigmas[k] = k == stages ? to : from * exp(-step.at[k] * step.h);
	return step;
}

/* What is left of the sample at point k. */
static double kept(const struct step *step, size_t k)
{
	return exp(-step->at[k] * step->h * (1 + step->eta));
}

/* How much the prediction at the point before counts at point k, beside that of the start. */
static double weight(const struct step *step, size_t k)
{
	double z = step->at[k] * step->h * (1 + step->eta);

	if (k < 2)
		return 0;
	if (step->phi_1)
		return (1 - kept(step, k)) / (2 * step->at[1]);
	return step->at[k] / step->at[k - 1] * (1 + expm1(-z) / z);
}

/* What point k has of the noise that is drawn on the way to point j. */
static double noise(const struct step *step, size_t j, size_t k)
{
	double rate = step->h * step->eta;
	double drawn = sqrt(fmax(-expm1(-2 * rate * (step->at[j] - step->at[j - 1])), 0));

	return step->s_noise * step->sigmas[k] * drawn * exp(rate * (step->at[j] - step->at[k]));
}

/* Call j leads to point j + 1; slot k − 2 gathers what point k has so far. */
static void fill(const struct step *step, size_t j, struct strata_solver_row *row)
{
	for (size_t k = j + 1; k <= step->stages; k++) {
		bool next = k == j + 1;

		if (j > 0 && !next && step->s_noise <= 0)
			continue;
		struct strata_solver_sum *sum = next ? &row->next
						     : draft_write(row, (uint32_t)(k - 2));

		if (j == 0) {
			sum->a = kept(step, k);
			sum->b = 1 - kept(step, k) - weight(step, k);
		} else {
			sum->c[k - 2] = 1;
			sum->b = next ? weight(step, k) : 0;
		}
		sum->d = noise(step, j + 1, k);
	}
	if (step->s_noise > 0)
		row->flags |= STRATA_ROW_NOISE;
}

static int seeds_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	const struct seeds_conf *conf = (const struct seeds_conf *)run->conf;
	double sigma = run->levels.sigmas[i];
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigma, &row);

	if (rc)
		return rc;
	if (run->levels.sigmas[i + 1] == 0) {
		k_euler(&row->next, sigma, 0);
		return 0;
	}
	struct step step = step_of(run, conf, i);

	fill(&step, 0, row);
	for (size_t j = 1; j < step.stages && rc == 0; j++) {
		double inside = step.sigmas[j];

		rc = k_row(run, i, schedule_timestep(&run->levels.train, inside), inside, &row);
		if (rc == 0)
			fill(&step, j, row);
	}
	return rc;
}

static int seeds_compile(const void *conf_any, const struct strata_solver_request *request,
			 struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct seeds_conf *conf = conf_any;

	if (conf->stages > 2 && conf->r_2 <= (conf->r > 0 ? conf->r : 1 / (double)conf->stages))
		return strata_fail_at(err, -EINVAL, "r_2",
				      "r_2 is %g; expected more than r, where the second call is",
				      conf->r_2);
	return k_compile(conf, request, 0, seeds_step, draft, err);
}

const struct strata_solver_class strata_solver_seeds = {
	.base = {
		.name = "seeds",
		.summary = "exponential steps of the stochastic equation; two or three calls",
		.conf_size = sizeof(struct seeds_conf),
		.options = seeds_options,
	},
	.compile = seeds_compile,
};
