/*
 * DPM adaptive: a step of third order and one of second from the same model calls; how far they are apart says whether the step is taken and how
 * long the next one is (a PID controller). The only solver whose rows are not known beforehand: its table has one row that puts the first sample
 * away, and next_row makes the others. It ends at the least noise of the training, not at none.
 */
#include "solver/expo.h"
#include "solver/levels_int.h"
#include "solver/prediction.h"

#include <errno.h>
#include <math.h>

struct dpm_adaptive_conf {
	struct solver_conf common;
	int64_t order;
	double rtol, atol, h_init, pcoeff, icoeff, dcoeff, accept_safety;
};

#define ADAPTIVE_AT(field) offsetof(struct dpm_adaptive_conf, field)

static const struct strata_option dpm_adaptive_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions),
	CONF_SIGMA_RANGE,
	CONF_ETA(0, 1),
	{ "order", STRATA_INT, ADAPTIVE_AT(order), .integer = { 3, 2, 3 },
	  .help = "order of the steps" },
	{ "rtol", STRATA_REAL, ADAPTIVE_AT(rtol), .real = { 0.05, 1e-9, 10 },
	  .help = "error allowed, relative to the sample" },
	{ "atol", STRATA_REAL, ADAPTIVE_AT(atol), .real = { 0.0078, 1e-9, 10 },
	  .help = "error allowed in any case" },
	{ "h_init", STRATA_REAL, ADAPTIVE_AT(h_init), .real = { 0.05, 1e-3, 100 },
	  .help = "length of the first step in log sigma" },
	{ "pcoeff", STRATA_REAL, ADAPTIVE_AT(pcoeff), .real = { 0, 0, 2 },
	  .help = "proportional part of the controller" },
	{ "icoeff", STRATA_REAL, ADAPTIVE_AT(icoeff), .real = { 1, 0, 2 },
	  .help = "integral part" },
	{ "dcoeff", STRATA_REAL, ADAPTIVE_AT(dcoeff), .real = { 0, 0, 2 },
	  .help = "derivative part" },
	{ "accept_safety", STRATA_REAL, ADAPTIVE_AT(accept_safety), .real = { 0.81, 0, 10 },
	  .help = "a step is taken when the next would not be shorter by more than this" },
	{ 0 }
};

enum { SLOT_START = 2, SLOT_MIDDLE = 3, SLOT_END = 4, SLOTS = 5 };

/* walk->state, by name: plain doubles so that a walk can be copied. */
struct state {
	double started;   /* 0 before the first row */
	double t, end;    /* −log sigma: where the sample stands, and the end */
	double h;         /* length of the next attempt */
	double next;      /* where this attempt leads */
	double to, up;    /* its deterministic end, and its noise */
	double call;      /* of the attempt: 0 … order; order: the error is known now */
	double steps;     /* taken so far */
	double errors[3]; /* inverse errors of this and the last two steps; 0: none yet */
};

_Static_assert(sizeof(struct state) <= STRATA_SOLVER_STATE_MAX * sizeof(double), "state fits");

/* A step this short is taken whatever its error, so that no setting makes it stand still. */
#define SHORTEST 1e-3

static double lowest(const struct dpm_adaptive_conf *conf, const struct strata_solver_table *table)
{
	return conf->common.sigma_min > 0 ? conf->common.sigma_min : table->train_sigmas[0];
}

/* Says whether the step is taken, and sets the length of the next. */
static bool control(const struct dpm_adaptive_conf *conf, double error, struct state *state)
{
	double order = conf->common.eta > 0 ? 1.5 : (double)conf->order;
	double b1 = (conf->pcoeff + conf->icoeff + conf->dcoeff) / order;
	double b2 = -(conf->pcoeff + 2 * conf->dcoeff) / order, b3 = conf->dcoeff / order;
	double inverse = 1 / (error + 1e-8);

	if (state->errors[0] == 0)
		state->errors[1] = state->errors[2] = inverse;
	state->errors[0] = inverse;
	double factor = pow(inverse, b1) * pow(state->errors[1], b2) * pow(state->errors[2], b3);

	factor = 1 + atan(factor - 1); /* neither too long nor too short */
	bool accept = factor >= conf->accept_safety || state->h <= SHORTEST;

	if (accept) {
		state->errors[2] = state->errors[1];
		state->errors[1] = inverse;
	}
	state->h = fmax(state->h * factor, SHORTEST);
	return accept;
}

/* Behind an attempt: noise on top of it and on, or back to where it started. */
static void settle(const struct dpm_adaptive_conf *conf, bool accept, struct state *state,
		   struct strata_solver_row *row)
{
	row->flags = STRATA_ROW_NO_MODEL;
	row->sigma = exp(-state->t);
	if (accept) {
		row->flags |= STRATA_ROW_NOISE;
		row->next.a = 1;
		row->next.d = state->up * conf->common.s_noise;
		draft_write(row, STRATA_SLOT_BEFORE)->c[STRATA_SLOT_ROUGH] = 1;
		state->t = state->next;
		state->steps++;
	} else {
		row->next.c[SLOT_START] = 1;
	}
	state->call = 0;
}

/* One call of an attempt: the fine step of the order, and beside it the rough one of an order less. */
static void attempt(const struct dpm_adaptive_conf *conf, const struct strata_solver_table *table,
		    struct state *state, struct strata_solver_row *row)
{
	struct strata_schedule_range train = { .train_sigmas = table->train_sigmas,
					       .train_count = table->train_count };
	int call = (int)state->call, order = (int)conf->order;
	struct expo_step fine = { .r1 = order == 2 ? 0.5 : 1.0 / 3,
				  .r2 = 2.0 / 3,
				  .order = order,
				  .slot_middle = SLOT_MIDDLE,
				  .slot_end = SLOT_END };

	if (call == 0) {
		state->next = fmin(state->end, state->t + state->h);
		expo_ancestral(state->t, state->next, state->end, conf->common.eta, &state->to,
			       &state->up);
	}
	fine.from = state->t;
	fine.to = state->to;
	struct expo_step rough = fine;
	double sigma = expo_sigma(&fine, call);

	row->timestep = schedule_timestep(&train, sigma);
	row->input_scale = 1 / hypot(sigma, 1);
	prediction_fill(&conf->common, 1, sigma, row);
	expo_fill(&fine, call, row);
	rough.order = order - 1;
	rough.slot_end = STRATA_SLOT_ROUGH;
	if (call == 0)
		draft_write(row, SLOT_START)->a = 1;
	if (call < order - 1) {
		struct strata_solver_row aside = { 0 };

		expo_fill(&rough, call, &aside);
		*draft_write(row, STRATA_SLOT_ROUGH) = call < order - 2 ? aside.writes[0].sum
									: aside.next;
	} else {
		row->flags |= STRATA_ROW_MEASURE;
		row->limit = conf->atol;
		row->threshold_ratio = conf->rtol;
	}
	state->call++;
}

static bool dpm_adaptive_next(const void *conf_any, struct strata_solver_walk *walk)
{
	const struct dpm_adaptive_conf *conf = conf_any;
	struct state *state = (struct state *)walk->state;

	if (state->started == 0) {
		state->started = 1;
		state->t = -log(walk->table->init_noise_sigma);
		state->end = -log(lowest(conf, walk->table));
		state->h = conf->h_init;
	}
	if ((int)state->call == (int)conf->order) {
		settle(conf, control(conf, walk->error, state), state, &walk->row);
	} else {
		if (state->call == 0 && !(state->t < state->end - 1e-5))
			return false;
		attempt(conf, walk->table, state, &walk->row);
	}
	walk->row.step = (uint32_t)state->steps;
	return true;
}

static int dpm_adaptive_compile(const void *conf_any, const struct strata_solver_request *request,
				struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct dpm_adaptive_conf *conf = conf_any;
	struct levels levels = { 0 };
	struct strata_solver_row *row;
	int rc = levels_train(&conf->common, draft->arena, &levels, err);

	if (rc)
		return rc;
	double high = conf->common.sigma_max, low = conf->common.sigma_min;

	high = high > 0 ? high : levels.train.sigma_max;
	low = low > 0 ? low : levels.train.sigma_min;
	if (request->timestep_count || request->schedule || request->has_strength)
		return strata_fail_at(err, -EINVAL, "steps",
				      "dpm_adaptive chooses its own steps; expected sigma_min and "
				      "sigma_max only");
	if (!(high > low))
		return strata_fail_at(err, -EINVAL, "sigma_max",
				      "sigma_max is %g; expected more than sigma_min, %g", high,
				      low);
	draft->init_noise_sigma = high;
	draft->slot_count = SLOTS;
	draft->train_sigmas = levels.train.train_sigmas;
	draft->train_count = levels.train.train_count;
	rc = strata_solver_draft_row(draft, &row, err);
	if (rc)
		return rc;
	row->flags = STRATA_ROW_NO_MODEL;
	row->sigma = high;
	row->next.a = 1;
	draft_write(row, STRATA_SLOT_BEFORE)->a = 1;
	return 0;
}

const struct strata_solver_class strata_solver_dpm_adaptive = {
	.base = {
		.name = "dpm_adaptive",
		.aliases = "DPM adaptive, k_dpm_ad, sample_dpm_adaptive",
		.summary = "steps as long as the error allows; third order, three calls",
		.conf_size = sizeof(struct dpm_adaptive_conf),
		.options = dpm_adaptive_options,
	},
	.compile = dpm_adaptive_compile,
	.next_row = dpm_adaptive_next,
};
