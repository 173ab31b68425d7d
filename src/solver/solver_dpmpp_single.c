/*
 * DPM-Solver and DPM-Solver++ in single steps: steps come in groups that start from the same sample, the first of a group of first
 * order, the next of second, the last of third. One call per step.
 */
#include "solver/dpm.h"

#include <errno.h>

static const struct strata_option dpmpp_single_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions_flow),
	CONF_THRESHOLDING,
	CONF_SIGMAS,
	CONF_FINAL(FINAL_ZERO),
	CONF_FLOW_SIGMAS,
	DPM_OPTIONS,
	DPM_ALGORITHM,
	DPM_LAMBDA_MIN,
	{ 0 },
};

enum { SLOT_START = 2 }; /* the sample that a group starts from; slots 0 and 1 hold predictions */

/* The order of step i of n: groups of `most`, and at the end what is left, so that the last step is of first order. */
static int planned_order(const struct dpm_conf *conf, const struct dpm_run *run, size_t i)
{
	size_t n = run->levels.count, most = (size_t)conf->solver_order, rest = n % most;
	bool zero = run->levels.sigmas[n] == 0;
	bool low = conf->lower_order_final || zero || rest;

	if (i == n - 1 && zero)
		return 1;
	if (!low || most == 1)
		return (int)(i % most) + 1;
	if (rest == 0 && i == n - 1)
		return 1;
	if (most == 2 && rest == 0 && i == n - 2)
		return 1;
	return (int)(i % most) + 1;
}

/* A prediction's weights when the group's first point is the origin: points[0] is where this step starts. */
static void weigh(const struct dpm_terms *terms, bool heun, int order, const struct point *points,
		  const struct point *to, double weights[3])
{
	const struct point *origin = &points[order - 1];
	double h = to->lambda - origin->lambda;

	weights[0] = weights[1] = weights[2] = 0;
	weights[order - 1] = terms->d0;
	if (order == 2) {
		double r0 = (points[0].lambda - origin->lambda) / h;
		double slope = (heun ? terms->d1_heun : terms->d1_midpoint) / r0;

		weights[0] += slope;
		weights[1] -= slope;
	} else if (order == 3) {
		double r0 = (points[0].lambda - origin->lambda) / h;
		double r1 = (points[1].lambda - origin->lambda) / h;
		/* slopes to the nearer (by m1) and the farther point (by m0) */
		double near = heun ? (terms->d1_heun * r0 - 2 * terms->d2) / (r0 - r1) : 0;
		double far = heun ? (2 * terms->d2 - terms->d1_heun * r1) / (r0 - r1)
				  : terms->d1_heun;

		weights[0] += far / r0;
		weights[1] += near / r1;
		weights[2] -= far / r0 + near / r1;
	}
}

static int dpmpp_single_step(void *run_any, size_t i)
{
	struct dpm_run *run = run_any;
	const struct dpm_conf *conf = (const struct dpm_conf *)run->conf;
	size_t done = i - run->levels.first;
	int order = planned_order(conf, run, i);
	struct point points[3], to = dpm_point(run, i + 1);
	struct strata_solver_row *row;
	struct strata_solver_sum predicted;
	double weights[3];
	int rc = dpm_row(run, i, &row, &predicted);

	if (rc)
		return rc;
	if ((size_t)order > done + 1) /* image to image may begin inside a group */
		order = (int)done + 1;
	for (int k = 0; k < order; k++)
		points[k] = dpm_point(run, i - (size_t)k);
	struct dpm_terms terms =
		dpm_terms((enum dpm_algorithm)conf->algorithm_type, 1, &points[order - 1], &to);

	weigh(&terms, conf->solver_type == DPM_HEUN, order, points, &to, weights);
	if (order == 1)
		row->next.a = terms.x;
	else
		row->next.c[SLOT_START] = terms.x;
	draft_add(&row->next, weights[0], &predicted);
	for (size_t k = 1; k < (size_t)order; k++)
		row->next.c[(done - k) % 2] = weights[k];
	row->next.d = terms.noise;
	if (dpm_is_stochastic(conf))
		row->flags |= STRATA_ROW_NOISE;
	if (conf->solver_order == 1)
		return 0;
	*draft_write(row, (uint32_t)(done % 2)) = predicted;
	if (order == 1)
		draft_write(row, SLOT_START)->a = 1;
	return 0;
}

static int check(const struct dpm_conf *conf, struct strata_error *err)
{
	if (conf->algorithm_type == DPM_SDE)
		return strata_fail_at(err, -EINVAL, "algorithm_type",
				      "sde-dpmsolver has no single steps; expected "
				      "sde-dpmsolver++");
	if (conf->algorithm_type == DPM_SOLVER && conf->common.thresholding)
		return strata_fail_at(err, -EINVAL, "thresholding",
				      "steps of the noise have no clean sample to hold; expected "
				      "algorithm_type = dpmsolver++");
	return dpm_check_end(conf, err);
}

static int dpmpp_single_compile(const void *conf_any, const struct strata_solver_request *request,
				struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct dpm_conf *conf = conf_any;
	struct dpm_conf spaced = *conf;
	struct dpm_run run = { .predict_noise = dpm_predicts_noise(conf) };

	spaced.common.timestep_spacing = SPACING_LINSPACE; /* it knows no other */
	int rc = check(conf, err);

	if (rc == 0)
		rc = dpm_start(&run, &spaced.common, request, conf->lambda_min_clipped,
			       LEVELS_FLOW_COUNTS, draft, err);

	return rc ? rc : dpm_steps(&run, dpmpp_single_step);
}

const struct strata_solver_class strata_solver_dpmpp_single = {
	.base = {
		.name = "dpmpp_single",
		.aliases = "dpmpp_singlestep, DPMSolverSinglestepScheduler",
		.summary = "DPM-Solver++ in single steps; order 1 to 3, one call",
		.conf_size = sizeof(struct dpm_conf),
		.options = dpmpp_single_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:"
			 "lower_order_final=false",
	.compile = dpmpp_single_compile,
};
