/*
 * LMS: the slope as a polynomial through this and the last few, integrated over the step (Adams–Bashforth on uneven steps).
 * One call per step, of the order that was asked for once there are enough slopes.
 */
#include "solver/k.h"

#include <math.h>

enum { LMS_ORDER_MAX = 8 };

struct lms_conf {
	struct solver_conf common;
	int64_t order;
};

static const struct strata_option lms_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_K_DIFFUSION,
	{ "order", STRATA_INT, offsetof(struct lms_conf, order), .integer = { 4, 1, LMS_ORDER_MAX },
	  .help = "slopes that take part" },
	{ 0 }
};

/* The Lagrange polynomial of point j among the `order` levels up to i, at sigma. */
static double lagrange(const double *sigmas, size_t i, size_t order, size_t j, double sigma)
{
	double product = 1;

	for (size_t k = 0; k < order; k++)
		if (k != j)
			product *= (sigma - sigmas[i - k]) / (sigmas[i - j] - sigmas[i - k]);
	return product;
}

/* Its integral over the step: four Gauss–Legendre points are exact up to degree seven. */
static double integral(const double *sigmas, size_t i, size_t order, size_t j)
{
	static const double points[] = { 0.33998104358485626, 0.86113631159405258 };
	static const double weights[] = { 0.65214515486254614, 0.34785484513745386 };
	double middle = (sigmas[i] + sigmas[i + 1]) / 2, half = (sigmas[i + 1] - sigmas[i]) / 2;
	double total = 0;

	for (size_t k = 0; k < 2; k++)
		total += weights[k] * (lagrange(sigmas, i, order, j, middle - half * points[k]) +
				       lagrange(sigmas, i, order, j, middle + half * points[k]));
	return total * half;
}

/* Slopes go round in order − 1 slots. When a strength starts the schedule in the middle the reference takes the polynomial
 * of full order and leaves out the slopes it does not have; so does this. */
static int lms_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	size_t order_max = (size_t)((const struct lms_conf *)run->conf)->order;
	const double *sigmas = run->levels.sigmas;
	size_t order = i + 1 < order_max ? i + 1 : order_max, done = i - run->levels.first;
	size_t slots = order_max - 1;
	struct strata_solver_row *row;
	int rc = k_row(run, i, run->levels.timesteps[i], sigmas[i], &row);

	if (rc)
		return rc;
	row->next.a = 1;
	k_slope(&row->next, sigmas[i], integral(sigmas, i, order, 0));
	for (size_t j = 1; j < order && j <= done; j++)
		row->next.c[(done - j) % slots] = integral(sigmas, i, order, j);
	if (slots)
		k_slope(draft_write(row, (uint32_t)(done % slots)), sigmas[i], 1);
	return 0;
}

static int lms_compile(const void *conf, const struct strata_solver_request *request,
		       struct strata_solver_draft *draft, struct strata_error *err)
{
	return k_compile(conf, request, 0, lms_step, draft, err);
}

const struct strata_solver_class strata_solver_lms = {
	.base = {
		.name = "lms",
		.aliases = "LMS, k_lms, sample_lms, LMSDiscreteScheduler",
		.summary = "a polynomial through the last slopes; up to fourth order, one call",
		.conf_size = sizeof(struct lms_conf),
		.options = lms_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = lms_compile,
};
