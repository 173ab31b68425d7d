/* Euler: one explicit Euler step of the probability-flow ODE per model call. First order. */
#include "solver/k.h"

#include <errno.h>
#include <math.h>

struct euler_conf {
	struct solver_conf common;
	int interpolation_type, timestep_type;
};

enum { INTERPOLATE_LINEAR, INTERPOLATE_LOG_LINEAR };
enum { TIMESTEP_DISCRETE, TIMESTEP_CONTINUOUS };

static const struct strata_choice interpolations[] = {
	{ "linear", INTERPOLATE_LINEAR, "between those of the timesteps" },
	{ "log_linear", INTERPOLATE_LOG_LINEAR, "evenly in log sigma" },
	{ 0 }
};
static const struct strata_choice timestep_types[] = {
	{ "discrete", TIMESTEP_DISCRETE, "a timestep of the training" },
	{ "continuous", TIMESTEP_CONTINUOUS, "a quarter of log sigma (v_prediction only)" },
	{ 0 }
};

static const struct strata_option euler_options[] = {
	CONF_ON_SIGMAS,
	CONF_SIGMA_RANGE,
	CONF_FINAL(FINAL_ZERO),
	CONF_CHURN,
	CONF_K_DIFFUSION,
	{ "interpolation_type", STRATA_ENUM, offsetof(struct euler_conf, interpolation_type),
	  .choice = { interpolations, INTERPOLATE_LINEAR }, .help = "where the sigmas lie" },
	{ "timestep_type", STRATA_ENUM, offsetof(struct euler_conf, timestep_type),
	  .choice = { timestep_types, TIMESTEP_DISCRETE }, .help = "what the model is told" },
	{ 0 }
};

/* diffusers adds the churn's noise after the model call, so y is p·(x + noise) + q·m. */
static void churn_after(const struct k_run *run, double sigma, double churned,
			struct strata_solver_row *row)
{
	double scale = run->conf->s_noise * sqrt(churned * churned - sigma * sigma);

	row->next.d = scale * (row->next.a + row->next.b * row->p);
	row->flags |= STRATA_ROW_NOISE;
}

static bool is_continuous(const struct euler_conf *conf)
{
	return conf->timestep_type == TIMESTEP_CONTINUOUS &&
	       conf->common.prediction_type == PREDICTION_V;
}

static int euler_step(void *run_any, size_t i)
{
	struct k_run *run = run_any;
	bool continuous = is_continuous((const struct euler_conf *)run->conf);
	double sigma = run->levels.sigmas[i], churned = k_churned(run, i);
	double t = continuous ? 0.25 * log(sigma) : run->levels.timesteps[i];
	struct strata_solver_row *row;
	int rc = run->conf->k_diffusion ? k_churn(run, i, &churned) : 0;

	if (rc == 0)
		rc = k_row(run, i, t, churned, &row);
	if (rc)
		return rc;
	k_euler(&row->next, churned, run->levels.sigmas[i + 1]);
	if (!run->conf->k_diffusion && churned > sigma) {
		if (run->conf->prediction_type == PREDICTION_V) /* read as if there were no churn */
			prediction_fill(run->conf, 1, sigma, row);
		row->sigma = sigma;
		row->input_scale = 1 / hypot(sigma, 1);
		churn_after(run, sigma, churned, row);
	}
	return 0;
}

static int euler_compile(const void *conf_any, const struct strata_solver_request *request,
			 struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct euler_conf *conf = conf_any;

	if (request->timestep_count && is_continuous(conf))
		return strata_fail_at(
			err, -EINVAL, "timesteps",
			"the model is told log sigma, not timesteps; expected sigmas, "
			"or timestep_type = discrete");
	unsigned rules = conf->interpolation_type == INTERPOLATE_LOG_LINEAR ? LEVELS_LOG : 0;

	if (rules && is_continuous(conf)) /* whose timesteps are made from the levels */
		rules |= LEVELS_LOG_ALL;
	return k_compile(conf, request, rules, euler_step, draft, err);
}

const struct strata_solver_class strata_solver_euler = {
	.base = {
		.name = "euler",
		.aliases = "Euler, k_euler, sample_euler, EulerDiscreteScheduler",
		.summary = "one straight step per model call; first order",
		.conf_size = sizeof(struct euler_conf),
		.options = euler_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = euler_compile,
};
