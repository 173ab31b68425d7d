/*
 * UniPC: each model call first corrects the step that led to it and then predicts the next one, both from the same exponential
 * integrals (Zhao et al. 2023). Order 1 to 3, one call per step.
 */
#include "solver/dpm.h"
#include "solver/levels_int.h"

#include <errno.h>
#include <math.h>

enum { UNIPC_BH1, UNIPC_BH2, UNIPC_ORDER_MAX = 3 };

struct unipc_conf {
	struct solver_conf common;
	int64_t solver_order;
	bool predict_x0, lower_order_final;
	int solver_type;
	struct strata_list disable_corrector; /* int64_t */
};

static const struct strata_choice solver_types[] = {
	{ "bh2", UNIPC_BH2, "B(h) = e^h - 1" },
	{ "bh1", UNIPC_BH1, "B(h) = h, for few steps" },
	{ "midpoint", UNIPC_BH2, "another solver's: bh2" },
	{ "heun", UNIPC_BH2, "another solver's: bh2" },
	{ "logrho", UNIPC_BH2, "another solver's: bh2" },
	{ 0 }
};
static const struct strata_option step_item = { .type = STRATA_INT,
						.integer = { 0, 0, STRATA_SOLVER_STEPS_MAX } };

static const struct strata_option unipc_options[] = {
	CONF_TRAINING,
	CONF_ZERO_SNR,
	CONF_PREDICTION(conf_predictions_flow),
	CONF_THRESHOLDING,
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_SIGMA_RANGE,
	CONF_FINAL(FINAL_ZERO),
	CONF_FLOW_SIGMAS,
	{ "shift_terminal", STRATA_REAL, CONF_AT(shift_terminal), .real = { 0, 0, 0.999 },
	  .help = "the last level of a flow (0: as it comes)" },
	{ "solver_order", STRATA_INT, offsetof(struct unipc_conf, solver_order),
	  .integer = { 2, 1, UNIPC_ORDER_MAX }, .help = "order of the steps" },
	{ "predict_x0", STRATA_BOOL, offsetof(struct unipc_conf, predict_x0), .boolean = true,
	  .help = "integrate the clean sample, not the noise" },
	{ "solver_type", STRATA_ENUM, offsetof(struct unipc_conf, solver_type),
	  .choice = { solver_types, UNIPC_BH2 }, .help = "the function B(h)" },
	{ "lower_order_final", STRATA_BOOL, offsetof(struct unipc_conf, lower_order_final),
	  .boolean = true, .help = "the last steps are of lower order" },
	{ "disable_corrector", STRATA_LIST, offsetof(struct unipc_conf, disable_corrector),
	  .list = { &step_item, 64, NULL }, .help = "steps that are not corrected" },
	CONF_K_DIFFUSION,
	{ 0 }
};

/* Solves the n × n system by elimination; n is 1 to 3 and the matrix a Vandermonde one of different points. */
static void solve(size_t n, double m[UNIPC_ORDER_MAX][UNIPC_ORDER_MAX], double v[UNIPC_ORDER_MAX])
{
	for (size_t k = 0; k < n; k++) {
		for (size_t i = k + 1; i < n; i++) {
			double factor = m[i][k] / m[k][k];

			for (size_t j = k; j < n; j++)
				m[i][j] -= factor * m[k][j];
			v[i] -= factor * v[k];
		}
	}
	for (size_t k = n; k-- > 0;) {
		for (size_t j = k + 1; j < n; j++)
			v[k] -= m[k][j] * v[j];
		v[k] /= m[k][k];
	}
}

/* B(h) times the weights ρ of the differences at the relative places r[0 … n−1], so that their moments up to the n-th are
 * right. */
static void weigh(size_t n, const double *r, double hh, bool bh1,
		  double ret_weights[UNIPC_ORDER_MAX])
{
	double matrix[UNIPC_ORDER_MAX][UNIPC_ORDER_MAX], moments[UNIPC_ORDER_MAX];
	double b_h = bh1 ? hh : expm1(hh), phi = expm1(hh) / hh - 1, factorial = 1;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++)
			matrix[i][j] = pow(r[j], (double)i);
		moments[i] = phi * factorial / b_h;
		factorial *= (double)i + 2;
		phi = phi / hh - 1 / factorial;
	}
	solve(n, matrix, moments);
	for (size_t i = 0; i < n; i++)
		ret_weights[i] = b_h * moments[i];
}

/* One update from a point to another: what the sample is multiplied with, the weight of the prediction where it starts, and those
 * of the differences to the others. */
struct update {
	double x, start, others[UNIPC_ORDER_MAX];
};

static struct update update_of(const struct unipc_conf *conf, const struct point *from,
			       const struct point *to, size_t others, const double *lambdas)
{
	double h = to->lambda - from->lambda, hh = conf->predict_x0 ? -h : h;
	double outer = conf->predict_x0 ? to->alpha : to->sigma;
	double r[UNIPC_ORDER_MAX];
	struct update update = {
		.x = conf->predict_x0 ? to->sigma / from->sigma : to->alpha / from->alpha,
		.start = conf->predict_x0 ? -to->alpha * expm1(-h)
					  : to->sigma - from->sigma * to->alpha / from->alpha,
	};

	for (size_t k = 0; k < others; k++)
		r[k] = (lambdas[k] - from->lambda) / h;
	if (others == 1) { /* the published simplification for one difference */
		update.others[0] = 0.5 * (conf->solver_type == UNIPC_BH1 ? hh : expm1(hh));
	} else if (others) {
		weigh(others, r, hh, conf->solver_type == UNIPC_BH1, update.others);
	}
	for (size_t k = 0; k < others; k++)
		update.others[k] *= -outer / r[k];
	return update;
}

struct unipc_run {
	struct dpm_run dpm;
	size_t order; /* of the last step's prediction, which its correction has too */
};

static bool is_corrected(const struct unipc_conf *conf, size_t step)
{
	const int64_t *off = conf->disable_corrector.items;

	for (size_t k = 0; k < conf->disable_corrector.count; k++)
		if ((size_t)off[k] == step)
			return false;
	return true;
}

/* The ring of predictions has solver_order slots; behind it the sample that the last step started from. */
static uint32_t slot_of(const struct unipc_conf *conf, const struct unipc_run *run, size_t i)
{
	return (uint32_t)((i - run->dpm.levels.first) % (size_t)conf->solver_order);
}

/* The sample at step i done over with what the model says there. */
static struct strata_solver_sum correct(const struct unipc_conf *conf, const struct unipc_run *run,
					size_t i, const struct strata_solver_sum *predicted)
{
	struct point from = dpm_point(&run->dpm, i - 1), to = dpm_point(&run->dpm, i);
	struct strata_solver_sum sum = { 0 };
	double lambdas[UNIPC_ORDER_MAX];
	size_t older = run->order - 1;

	for (size_t k = 0; k < older; k++)
		lambdas[k] = dpm_point(&run->dpm, i - 2 - k).lambda;
	lambdas[older] = to.lambda;
	struct update update = update_of(conf, &from, &to, older + 1, lambdas);

	sum.c[conf->solver_order] = update.x;
	sum.c[slot_of(conf, run, i - 1)] = update.start;
	for (size_t k = 0; k < older; k++) {
		sum.c[slot_of(conf, run, i - 2 - k)] += update.others[k];
		sum.c[slot_of(conf, run, i - 1)] -= update.others[k];
	}
	draft_add(&sum, update.others[older], predicted);
	sum.c[slot_of(conf, run, i - 1)] -= update.others[older];
	return sum;
}

static void predict(const struct unipc_conf *conf, const struct unipc_run *run, size_t i,
		    const struct strata_solver_sum *corrected,
		    const struct strata_solver_sum *predicted, struct strata_solver_sum *next)
{
	struct point from = dpm_point(&run->dpm, i), to = dpm_point(&run->dpm, i + 1);
	double lambdas[UNIPC_ORDER_MAX] = { 0 };
	size_t older = run->order - 1;

	for (size_t k = 0; k < older; k++)
		lambdas[k] = dpm_point(&run->dpm, i - 1 - k).lambda;
	struct update update = update_of(conf, &from, &to, older, lambdas);
	double here = update.start;

	for (size_t k = 0; k < older; k++) {
		next->c[slot_of(conf, run, i - 1 - k)] += update.others[k];
		here -= update.others[k];
	}
	draft_add(next, update.x, corrected);
	draft_add(next, here, predicted);
}

static size_t order_of(const struct unipc_conf *conf, const struct unipc_run *run, size_t i)
{
	size_t left = run->dpm.levels.count - i, done = i - run->dpm.levels.first;
	size_t order = (size_t)conf->solver_order;

	if (conf->lower_order_final && order > left)
		order = left;
	if (conf->common.k_diffusion && run->dpm.levels.sigmas[i + 1] == 0)
		order = 1; /* a step to no noise is infinite in lambda */
	return order < done + 1 ? order : done + 1;
}

/* Only one kind of step has a limit where it ends at no noise. By k-diffusion's rules each step there is of that kind. */
static bool has_end(const struct unipc_conf *conf, const struct unipc_run *run, size_t i)
{
	return run->dpm.levels.sigmas[i + 1] > 0 || conf->common.k_diffusion ||
	       (run->order == 1 && conf->predict_x0 && conf->solver_type == UNIPC_BH2);
}

static int unipc_step(void *run_any, size_t i)
{
	struct unipc_run *run = run_any;
	const struct unipc_conf *conf = (const struct unipc_conf *)run->dpm.conf;
	size_t done = i - run->dpm.levels.first;
	struct strata_solver_sum predicted, corrected = { .a = 1 };
	struct strata_solver_row *row;
	int rc = dpm_row(&run->dpm, i, &row, &predicted);

	if (rc)
		return rc;
	if (done > 0 && is_corrected(conf, i - 1))
		corrected = correct(conf, run, i, &predicted);
	run->order = order_of(conf, run, i);
	if (!has_end(conf, run, i))
		return strata_fail_at(
			run->dpm.err, -EINVAL, "final_sigmas_type",
			"a step to no noise is infinite with these settings; expected "
			"final_sigmas_type = sigma_min, or solver_type = bh2 with "
			"predict_x0 and lower_order_final");
	predict(conf, run, i, &corrected, &predicted, &row->next);
	if (i + 1 < run->dpm.levels.count) {
		*draft_write(row, slot_of(conf, run, i)) = predicted;
		*draft_write(row, (uint32_t)conf->solver_order) = corrected;
	}
	return 0;
}

static int unipc_compile(const void *conf_any, const struct strata_solver_request *request,
			 struct strata_solver_draft *draft, struct strata_error *err)
{
	struct unipc_conf conf = *(const struct unipc_conf *)conf_any;
	struct unipc_run run = { .dpm = { .predict_noise = !conf.predict_x0 } };

	if (!conf.predict_x0) /* then there is no clean sample to hold */
		conf.common.thresholding = false;
	if (request->sigma_count && !conf.common.use_flow_sigmas && !conf.common.k_diffusion)
		return strata_fail_at(err, -EINVAL, "sigmas",
				      "own sigmas are taken along a flow; expected use_flow_sigmas "
				      "= true, or k_diffusion = true");
	if (request->sigma_count && levels_schedule(&conf.common, request))
		return strata_fail_at(
			err, -EINVAL, "sigmas",
			"own sigmas and a schedule exclude each other; expected sigmas "
			"without use_karras_sigmas and its like");
	if (conf.common.shift_terminal > 0 && !conf.common.use_flow_sigmas)
		return strata_fail_at(err, -EINVAL, "shift_terminal",
				      "only a flow ends at shift_terminal; expected "
				      "use_flow_sigmas = true");
	int rc = dpm_start(&run.dpm, &conf.common, request, -INFINITY,
			   LEVELS_LAST_OWN | LEVELS_FROM_ONE, draft, err);

	return rc ? rc : dpm_steps(&run.dpm, unipc_step);
}

const struct strata_solver_class strata_solver_unipc = {
	.base = {
		.name = "unipc",
		.aliases = "UniPC, UniPCMultistepScheduler",
		.summary = "corrects each step by the next call; order 1 to 3, one call",
		.conf_size = sizeof(struct unipc_conf),
		.options = unipc_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = unipc_compile,
};
