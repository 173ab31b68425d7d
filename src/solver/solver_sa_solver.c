/*
 * SA-Solver: stochastic Adams steps, a predictor and a corrector that share the noise of a step (Xue et al. 2023). The last sample and
 * its noise enter the corrector with the factors they had in the predictor, so one slot holds both. One call per step.
 */
#include "solver/adams.h"
#include "solver/dpm.h"

#include <errno.h>
#include <math.h>

enum { SA_DATA, SA_NOISE, SA_ORDER_MAX = 3, SA_POINTS_MAX = ADAMS_POINTS_MAX };

struct sa_conf {
	struct solver_conf common;
	int64_t predictor_order, corrector_order;
	int algorithm_type;
	bool lower_order_final;
	double lambda_min_clipped;
};

static const struct strata_choice algorithms[] = {
	{ "data_prediction", SA_DATA, "the clean sample" },
	{ "noise_prediction", SA_NOISE, "the noise" },
	{ 0 },
};

static const struct strata_option sa_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions_flow),
	CONF_THRESHOLDING,
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_FLOW_SIGMAS,
	{ "predictor_order", STRATA_INT, offsetof(struct sa_conf, predictor_order),
	  .integer = { 2, 1, SA_ORDER_MAX }, .help = "order of the predictor" },
	{ "corrector_order", STRATA_INT, offsetof(struct sa_conf, corrector_order),
	  .integer = { 2, 1, SA_POINTS_MAX }, .help = "order of the corrector" },
	{ "algorithm_type", STRATA_ENUM, offsetof(struct sa_conf, algorithm_type),
	  .choice = { algorithms, SA_DATA }, .help = "what is integrated" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct sa_conf, lower_order_final),
	  .boolean = true, .help = "the last steps are of lower order" },
	{ "lambda_min_clipped", STRATA_REAL, offsetof(struct sa_conf, lambda_min_clipped),
	  .real = { -INFINITY, -INFINITY, INFINITY },
	  .help = "noise levels of a smaller log(signal / noise) are left out" },
	{ 0 }
};

/* How stochastic a step is: the published choice, noise in the middle of the schedule only. */
static double tau_at(double timestep)
{
	return timestep >= 200 && timestep <= 800 ? 1 : 0;
}

/* One step of Adams from a point to another: factors of the sample, of the noise and of the predictions at `count` places. */
struct adams {
	double x, noise, weights[SA_POINTS_MAX];
};

static struct adams adams_of(const struct sa_conf *conf, double tau, const struct point *from,
			     const struct point *to, size_t count, const double *lambdas)
{
	double h = to->lambda - from->lambda, t2 = tau * tau, k = 1 + t2;
	bool data = conf->algorithm_type == SA_DATA;
	double places[SA_POINTS_MAX];
	struct adams adams = { .x = to->alpha / from->alpha };

	for (size_t i = 0; i < count; i++)
		places[i] = lambdas[i] - to->lambda;
	adams_integrals(count, places, -h, data ? k : -1, adams.weights);
	if (data && count == 2 && h > 0) {
		/* the published change of a two-point step, of third order in h */
		double extra = (h * h / 2 - (h * k + expm1(-k * h)) / (k * k)) /
			       (places[0] - places[1]);

		adams.weights[0] += extra;
		adams.weights[1] -= extra;
	}
	for (size_t i = 0; i < count; i++)
		adams.weights[i] *= data ? k * to->alpha : -k * to->sigma;
	if (data)
		adams.x = exp(-t2 * h) * to->sigma / from->sigma;
	adams.noise = data ? to->sigma * sqrt(-expm1(-2 * t2 * h))
			   : tau * to->sigma * sqrt(expm1(2 * h));
	return adams;
}

struct sa_run {
	struct dpm_run dpm;
	size_t history;         /* predictions that are kept */
	size_t corrector_order; /* of the correction that is due at the next step */
};

static uint32_t slot_of(const struct sa_run *run, size_t i)
{
	return (uint32_t)((i - run->dpm.levels.first) % run->history);
}

static struct adams step_of(const struct sa_conf *conf, const struct sa_run *run, size_t start,
			    size_t newest, size_t count)
{
	struct point from = dpm_point(&run->dpm, start), to = dpm_point(&run->dpm, start + 1);
	double lambdas[SA_POINTS_MAX];

	for (size_t k = 0; k < count; k++)
		lambdas[k] = dpm_point(&run->dpm, newest - k).lambda;
	return adams_of(conf, tau_at(run->dpm.levels.timesteps[start]), &from, &to, count, lambdas);
}

static struct strata_solver_sum correct(const struct sa_conf *conf, const struct sa_run *run,
					size_t i, const struct strata_solver_sum *predicted)
{
	struct adams adams = step_of(conf, run, i - 1, i, run->corrector_order);
	struct strata_solver_sum sum = { 0 };

	sum.c[run->history] = 1; /* last sample and noise, times their factors already */
	draft_add(&sum, adams.weights[0], predicted);
	for (size_t k = 1; k < run->corrector_order; k++)
		sum.c[slot_of(run, i - k)] += adams.weights[k];
	return sum;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int sa_step(void *run_any, size_t i)
{
	struct sa_run *run = run_any;
	const struct sa_conf *conf = (const struct sa_conf *)run->dpm.conf;
	size_t left = run->dpm.levels.count - i, done = i - run->dpm.levels.first;
	size_t order = (size_t)conf->predictor_order;
	struct strata_solver_sum predicted, corrected = { .a = 1 };
	struct strata_solver_row *row;
	int rc = dpm_row(&run->dpm, i, &row, &predicted);

	if (rc)
		return rc;
	if (done > 0)
		corrected = correct(conf, run, i, &predicted);
	run->corrector_order = (size_t)conf->corrector_order;
	if (conf->lower_order_final) {
		order = least(order, left);
		run->corrector_order = least(run->corrector_order, left + 1);
	}
	order = least(order, done + 1);
	run->corrector_order = least(run->corrector_order, done + 2);
	struct adams adams = step_of(conf, run, i, i, order);
	struct strata_solver_sum *base = draft_write(row, (uint32_t)run->history);

	draft_add(base, adams.x, &corrected);
	base->d = adams.noise;
	draft_add(&row->next, 1, base);
	draft_add(&row->next, adams.weights[0], &predicted);
	for (size_t k = 1; k < order; k++)
		row->next.c[slot_of(run, i - k)] += adams.weights[k];
	*draft_write(row, slot_of(run, i)) = predicted;
	row->flags |= STRATA_ROW_NOISE;
	return 0;
}

/* Image to image starts where the training was at the first timestep, on whatever levels the steps are. */
static void start_by_timestep(const struct sa_run *run, struct strata_solver_draft *draft)
{
	double level = schedule_sigma(&run->dpm.levels.train, draft->rows[0].timestep);

	draft->own_start = true;
	draft->init_clean = 1 / hypot(level, 1);
	draft->init_noise_sigma = level * draft->init_clean;
}

static int sa_compile(const void *conf_any, const struct strata_solver_request *request,
		      struct strata_solver_draft *draft, struct strata_error *err)
{
	struct sa_conf conf = *(const struct sa_conf *)conf_any;
	struct sa_run run = { .dpm = { .predict_noise = conf.algorithm_type == SA_NOISE } };
	size_t corrector_history = (size_t)conf.corrector_order - 1;

	if (conf.algorithm_type == SA_NOISE && conf.common.thresholding)
		return strata_fail_at(err, -EINVAL, "thresholding",
				      "steps of the noise have no clean sample to hold; expected "
				      "algorithm_type = data_prediction");
	run.history = (size_t)conf.predictor_order;
	if (run.history < corrector_history)
		run.history = corrector_history;
	conf.common.final_sigmas_type = FINAL_SIGMA_MIN;
	int rc = dpm_start(&run.dpm, &conf.common, request, conf.lambda_min_clipped,
			   LEVELS_REPEAT_LAST, draft, err);

	if (rc == 0)
		rc = dpm_steps(&run.dpm, sa_step);
	if (rc == 0 && request->has_strength)
		start_by_timestep(&run, draft);
	return rc;
}

const struct strata_solver_class strata_solver_sa_solver = {
	.base = {
		.name = "sa_solver",
		.aliases = "sasolver, SASolverScheduler",
		.summary = "stochastic Adams steps, predicted and corrected; one call",
		.conf_size = sizeof(struct sa_conf),
		.options = sa_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = sa_compile,
};
