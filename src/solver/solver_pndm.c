/*
 * PNDM: the noise by a linear multistep formula, of fourth order once four predictions are there, and each step along DDIM's curve (Liu et
 * al. 2022). It starts with Runge–Kutta steps of four calls each or, as Stable Diffusion has it (PLMS), with one step done twice.
 */
#include "solver/discrete.h"

#include <errno.h>
#include <math.h>

struct pndm_conf {
	struct solver_conf common;
	bool skip_prk_steps, set_alpha_to_one;
};

static const struct strata_option pndm_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SPACING(SPACING_LEADING, 1),
	{ "skip_prk_steps", STRATA_BOOL, offsetof(struct pndm_conf, skip_prk_steps),
	  .boolean = true, .help = "no Runge-Kutta steps at the start (PLMS)" },
	{ "set_alpha_to_one", STRATA_BOOL, offsetof(struct pndm_conf, set_alpha_to_one),
	  .help = "the last step ends without noise, not at timestep 0" },
	{ 0 }
};

enum { SLOTS_PAST = 4, SLOT_SAMPLE = 4, SLOT_TOTAL = 5, PRK_STEPS = 3, PRK_CALLS = 4 };

struct pndm_run {
	struct discrete_run discrete;
	double last;   /* ā past the first timestep */
	size_t past;   /* predictions kept so far */
	size_t row_no; /* rows written so far */
};

/* Adds DDIM's step from one timestep to another of a sample and a prediction, each a sum. */
static void transfer(const struct pndm_run *run, double from, double to,
		     const struct strata_solver_sum *sample,
		     const struct strata_solver_sum *predicted, struct strata_solver_sum *next)
{
	double now = discrete_alpha(&run->discrete, from, run->last);
	double then = discrete_alpha(&run->discrete, to, run->last);
	double scale = -(then - now) / (now * sqrt(1 - then) + sqrt(now * (1 - now) * then));
	double of_sample = sqrt(then / now);

	if (run->discrete.conf->prediction_type == PREDICTION_V) {
		of_sample += scale * sqrt(1 - now);
		scale *= sqrt(now);
	}
	draft_add(next, of_sample, sample);
	draft_add(next, scale, predicted);
}

static int add_row(struct pndm_run *run, size_t step, double timestep,
		   struct strata_solver_row **ret_row)
{
	double alpha = discrete_alpha(&run->discrete, timestep, run->last);

	run->row_no++;
	return discrete_row(&run->discrete, step, timestep, alpha, ret_row);
}

static uint32_t slot_back(const struct pndm_run *run, size_t back)
{
	return (uint32_t)((run->past - back) % SLOTS_PAST);
}

/* What the model is told at call k of all Runge–Kutta calls. A step has four, from a timestep to the next: where it starts, twice half
 * a stride above where it ends, and where it ends. */
static double prk_timestep(const struct pndm_run *run, size_t k)
{
	const double *at = &run->discrete.timesteps.at[k / PRK_CALLS];
	double half = (double)(run->discrete.stride / 2);

	switch (k % PRK_CALLS) {
	case 0:
		return at[0];
	case PRK_CALLS - 1:
		return at[1];
	default:
		return at[1] + half;
	}
}

/* Call number `k` of the trajectory, at a timestep. Where it is one of a Runge–Kutta step, and where that step starts, goes by how many
 * calls there were, as in the reference: image to image begins in the middle of the timesteps, but not of a step. */
static int prk_call(struct pndm_run *run, size_t k, double timestep)
{
	static const double shares[PRK_CALLS] = { 1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6 };
	size_t within = k % PRK_CALLS;
	double from = prk_timestep(run, k - within);
	double to = timestep - (within % 2 ? 0 : (double)(run->discrete.stride / 2));
	struct strata_solver_sum sample = { 0 }, predicted = { 0 };
	struct strata_solver_row *row;
	int rc = add_row(run, run->discrete.first + k / PRK_CALLS, timestep, &row);

	if (rc)
		return rc;
	if (within == 0)
		sample.a = 1;
	else
		sample.c[SLOT_SAMPLE] = 1;
	predicted.e = within < PRK_CALLS - 1 ? 1 : shares[within];
	if (within == PRK_CALLS - 1)
		predicted.c[SLOT_TOTAL] = 1;
	transfer(run, from, to, &sample, &predicted, &row->next);
	if (within == 0) {
		draft_write(row, slot_back(run, 0))->e = 1;
		run->past++;
		draft_write(row, SLOT_SAMPLE)->a = 1;
	}
	if (within < PRK_CALLS - 1) {
		struct strata_solver_sum *total = draft_write(row, SLOT_TOTAL);

		total->e = shares[within];
		total->c[SLOT_TOTAL] = within ? 1 : 0;
	}
	return 0;
}

/* A linear multistep formula of this prediction and the `past` ones. */
static struct strata_solver_sum adams(const struct pndm_run *run, size_t past)
{
	static const double weights[4][4] = {
		{ 1 },
		{ 3.0 / 2, -1.0 / 2 },
		{ 23.0 / 12, -16.0 / 12, 5.0 / 12 },
		{ 55.0 / 24, -59.0 / 24, 37.0 / 24, -9.0 / 24 },
	};
	size_t order = past < 3 ? past : 3;
	struct strata_solver_sum sum = { .e = weights[order][0] };

	for (size_t k = 1; k <= order; k++)
		sum.c[slot_back(run, k)] = weights[order][k];
	return sum;
}

/* The second call of PLMS does the first step over with the mean of both predictions; its own is not kept. */
static int plms_second(struct pndm_run *run, size_t step, double timestep)
{
	double stride = (double)run->discrete.stride;
	struct strata_solver_sum sample = { 0 }, predicted = { .e = 0.5 };
	struct strata_solver_row *row;
	int rc = add_row(run, step, timestep, &row);

	if (rc)
		return rc;
	sample.c[SLOT_SAMPLE] = 1;
	predicted.c[slot_back(run, 1)] = 0.5;
	if (timestep + stride >= (double)run->discrete.alphas.count)
		return strata_fail_at(run->discrete.err, -EINVAL, "steps",
				      "timestep %g is too late for a second step; use another "
				      "timestep_spacing",
				      timestep);
	transfer(run, timestep + stride, timestep, &sample, &predicted, &row->next);
	return 0;
}

static int plms_step(struct pndm_run *run, size_t step, double timestep)
{
	struct strata_solver_sum sample = { .a = 1 }, predicted = adams(run, run->past);
	struct strata_solver_row *row;
	bool first = run->row_no == 0;
	int rc = add_row(run, step, timestep, &row);

	if (rc)
		return rc;
	transfer(run, timestep, timestep - (double)run->discrete.stride, &sample, &predicted,
		 &row->next);
	draft_write(row, slot_back(run, 0))->e = 1;
	run->past++;
	if (first)
		draft_write(row, SLOT_SAMPLE)->a = 1;
	return 0;
}

/* n timesteps, the second of which comes twice; a strength leaves the last of these n + 1 calls. */
static int plms(struct pndm_run *run)
{
	size_t n = run->discrete.timesteps.count, calls = n > 1 ? n + 1 : 1, done = 0;
	const double *at = run->discrete.timesteps.at;
	int rc = 0;

	for (size_t k = run->discrete.first; k < calls && rc == 0; k++, done++) {
		size_t i = k > 1 ? k - 1 : k;

		if (i < run->discrete.first)
			i = run->discrete.first;
		double t = at[k > 1 ? k - 1 : k];

		rc = done == 1 ? plms_second(run, i, t) : plms_step(run, i, t);
	}
	return rc;
}

static int prk(struct pndm_run *run)
{
	size_t n = run->discrete.timesteps.count, first = run->discrete.first;
	size_t calls = PRK_STEPS * PRK_CALLS;
	const double *at = run->discrete.timesteps.at;
	int rc = 0;

	if (n < PRK_STEPS + 1)
		return strata_fail_at(run->discrete.err, -EINVAL, "steps",
				      "%zu steps are too few for Runge-Kutta steps; expected at "
				      "least %d, or skip_prk_steps = true",
				      n, PRK_STEPS + 1);
	for (size_t k = 0; first + k < calls + n - PRK_STEPS && rc == 0; k++) {
		size_t there = first + k; /* of all calls */
		double t = there < calls ? prk_timestep(run, there) : at[PRK_STEPS + there - calls];
		size_t step = k < calls ? k / PRK_CALLS : PRK_STEPS + k - calls;

		rc = k < calls ? prk_call(run, k, t) : plms_step(run, first + step, t);
	}
	return rc;
}

/* Where a strength begins: it counts steps, of which there are fewer than calls. */
static int begin(struct pndm_run *run, const struct strata_solver_request *request, bool plms)
{
	size_t n = run->discrete.timesteps.count;
	size_t calls = plms ? n + (n > 1) : n - PRK_STEPS + PRK_STEPS * PRK_CALLS;
	double strength = request->has_strength ? request->strength : 1;
	size_t first = n - (size_t)((double)n * strength);

	if (first >= calls)
		return strata_fail_at(run->discrete.err, -EINVAL, "strength",
				      "strength %g leaves none of %zu steps; expected at least %g",
				      strength, n, 1 / (double)n);
	run->discrete.first = first;
	run->discrete.draft->step_count = (uint32_t)(n - first);
	return 0;
}

static int pndm_compile(const void *conf_any, const struct strata_solver_request *request,
			struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct pndm_conf *conf = conf_any;
	struct pndm_run run = { .last = 1 };
	int rc = prediction_check_noise(&conf->common, err);

	struct strata_solver_request whole = *request;

	whole.has_strength = false;
	if (rc == 0)
		rc = discrete_start(&run.discrete, &conf->common, &whole, draft, err);
	if (rc == 0)
		rc = begin(&run, request, conf->skip_prk_steps);

	if (rc)
		return rc;
	if (!conf->set_alpha_to_one)
		run.last = run.discrete.alphas.product[0];
	return conf->skip_prk_steps ? plms(&run) : prk(&run);
}

const struct strata_solver_class strata_solver_pndm = {
	.base = {
		.name = "pndm",
		.aliases = "PLMS, PNDMScheduler",
		.summary = "a linear multistep formula along DDIM's curve; fourth order, one call",
		.conf_size = sizeof(struct pndm_conf),
		.options = pndm_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0:"
			 "skip_prk_steps=false",
	.compile = pndm_compile,
};
