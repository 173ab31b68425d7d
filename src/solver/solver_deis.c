/*
 * DEIS: the noise as a polynomial in log rho (rho = sigma / alpha) through this and the last one or two predictions, integrated exactly
 * (Zhang & Chen 2022). Order 1 to 3, one call per step.
 */
#include "solver/dpm.h"

#include <math.h>

enum { DEIS_LOGRHO, DEIS };

struct deis_conf {
	struct solver_conf common;
	int64_t solver_order;
	bool lower_order_final;
	int solver_type, algorithm_type;
};

static const struct strata_choice solver_types[] = {
	{ "logrho", DEIS_LOGRHO, "a polynomial in log rho" },
	{ "midpoint", DEIS_LOGRHO, "another solver's: logrho" },
	{ "heun", DEIS_LOGRHO, "another solver's: logrho" },
	{ "bh1", DEIS_LOGRHO, "another solver's: logrho" },
	{ "bh2", DEIS_LOGRHO, "another solver's: logrho" },
	{ 0 }
};

static const struct strata_choice algorithms[] = {
	{ "deis", DEIS, "the noise" },
	{ "dpmsolver", DEIS, "another solver's: deis" },
	{ "dpmsolver++", DEIS, "another solver's: deis" },
	{ 0 },
};

static const struct strata_option deis_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions_flow),
	CONF_THRESHOLDING,
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_FLOW_SIGMAS,
	{ "solver_order", STRATA_INT, offsetof(struct deis_conf, solver_order),
	  .integer = { 2, 1, 3 }, .help = "order of the steps" },
	{ "algorithm_type", STRATA_ENUM, offsetof(struct deis_conf, algorithm_type),
	  .choice = { algorithms, DEIS }, .help = "what is integrated" },
	{ "solver_type", STRATA_ENUM, offsetof(struct deis_conf, solver_type),
	  .choice = { solver_types, DEIS_LOGRHO }, .help = "what the polynomial is in" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct deis_conf, lower_order_final),
	  .boolean = true, .help = "the last steps of a short schedule are of lower order" },
	{ 0 }
};

/* The integral up to rho = e^l of the Lagrange polynomials in log rho that are 1 at b and 0 at c (and d). */
static double integral2(double l, double b, double c)
{
	return exp(l) * (l - c - 1) / (b - c);
}

static double integral3(double l, double b, double c, double d)
{
	return exp(l) * (c * (d - l + 1) - d * l + d + l * l - 2 * l + 2) / ((b - c) * (b - d));
}

/* logs[0] is log rho where the step starts, logs[1] where the one before did …; `to` where it ends. */
static void weigh(size_t order, double to, const double *logs, double weights[3])
{
	for (size_t k = 0; k < order; k++) {
		double b = logs[k], c = logs[(k + 1) % order], d = logs[(k + 2) % order];

		weights[k] = order == 1   ? exp(to) - exp(b)
			     : order == 2 ? integral2(to, b, c) - integral2(logs[0], b, c)
					  : integral3(to, b, c, d) - integral3(logs[0], b, c, d);
	}
}

static size_t order_of(const struct deis_conf *conf, const struct dpm_run *run, size_t i)
{
	size_t left = run->levels.count - i, done = i - run->levels.first;
	bool low = conf->lower_order_final && run->levels.count < 15;
	size_t order = (size_t)conf->solver_order;

	if (low && order > left)
		order = left;
	return order < done + 1 ? order : done + 1;
}

static int deis_step(void *run_any, size_t i)
{
	struct dpm_run *run = run_any;
	const struct deis_conf *conf = (const struct deis_conf *)run->conf;
	size_t done = i - run->levels.first, order = order_of(conf, run, i);
	size_t slots = (size_t)conf->solver_order - 1;
	struct point from = dpm_point(run, i), to = dpm_point(run, i + 1);
	struct strata_solver_sum predicted;
	struct strata_solver_row *row;
	double logs[3], weights[3] = { 0 };
	int rc = dpm_row(run, i, &row, &predicted);

	if (rc)
		return rc;
	for (size_t k = 0; k < order; k++)
		logs[k] = -dpm_point(run, i - k).lambda;
	weigh(order, -to.lambda, logs, weights);
	row->next.a = to.alpha / from.alpha;
	draft_add(&row->next, to.alpha * weights[0], &predicted);
	for (size_t k = 1; k < order; k++)
		row->next.c[(done - k) % slots] = to.alpha * weights[k];
	if (slots)
		*draft_write(row, (uint32_t)(done % slots)) = predicted;
	return 0;
}

static int deis_compile(const void *conf_any, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	struct deis_conf conf = *(const struct deis_conf *)conf_any;
	struct dpm_run run = { .predict_noise = true, .by_rest = true };

	conf.common.final_sigmas_type = FINAL_SIGMA_MIN; /* log rho has no 0 */
	int rc = dpm_start(&run, &conf.common, request, -INFINITY, LEVELS_REPEAT_LAST, draft, err);

	return rc ? rc : dpm_steps(&run, deis_step);
}

const struct strata_solver_class strata_solver_deis = {
	.base = {
		.name = "deis",
		.aliases = "DEIS, DEISMultistepScheduler",
		.summary = "a polynomial in log rho through the last predictions; order 1 to 3",
		.conf_size = sizeof(struct deis_conf),
		.options = deis_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = deis_compile,
};
