/* DPM-Solver inversion: the multistep solver the other way, from a clean sample to the noise that would give it. */
#include "solver/dpm.h"
#include "solver/levels_int.h"

#include <errno.h>
#include <math.h>

static const struct strata_option dpmpp_inverse_options[] = {
	CONF_TRAINING,
	CONF_PREDICTION(conf_predictions_flow),
	CONF_THRESHOLDING,
	CONF_SPACING(SPACING_LINSPACE, 1),
	CONF_SIGMAS,
	CONF_FLOW_SIGMAS,
	DPM_OPTIONS,
	DPM_ALGORITHM,
	DPM_LAMBDA_MIN,
	{ "euler_at_final", STRATA_BOOL, DPM_AT(euler_at_final),
	  .help = "the last step is of first order" },
	{ 0 }
};

/* The levels of the ordinary solver from below: leading and linspace have one more point, at the bottom, and not the top one. */
static int fill_spaced(const struct dpm_conf *conf, const struct strata_solver_request *request,
		       size_t top, struct dpm_run *run)
{
	size_t more = conf->common.timestep_spacing == SPACING_TRAILING ? 0 : 1;
	struct strata_solver_request wider = { .steps = request->steps + (int64_t)more };
	struct levels *levels = &run->levels;
	struct timesteps timesteps;
	int rc = spacing_timesteps(&conf->common, &wider, levels->train.train_count, top,
				   SPACING_BEYOND, run->draft->arena, &timesteps, run->err);

	if (rc == 0)
		rc = levels_allot(levels, timesteps.count - more, run->draft->arena, run->err);
	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		levels->timesteps[i] = timesteps.at[timesteps.count - 1 - i];
		levels->sigmas[i] = schedule_sigma(&levels->train, levels->timesteps[i]);
	}
	return rc;
}

/* A schedule from the least noise to the most. */
static int fill_schedule(const struct dpm_conf *conf, const struct strata_solver_request *request,
			 struct dpm_run *run)
{
	const struct strata_schedule_class *schedule = levels_schedule(&conf->common, request);
	struct levels *levels = &run->levels;
	size_t n = (size_t)request->steps;
	int rc = levels_allot(levels, n, run->draft->arena, run->err);

	if (rc == 0)
		rc = schedule_fill(schedule, request, &levels->train, n, run->draft->arena,
				   levels->sigmas, run->err);
	for (size_t i = 0; rc == 0 && i < n / 2; i++) { /* turn it round */
		double high = levels->sigmas[i];

		levels->sigmas[i] = levels->sigmas[n - 1 - i];
		levels->sigmas[n - 1 - i] = high;
	}
	if (rc == 0 && n == 1)
		levels->sigmas[0] = levels->train.sigma_min;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		double t = schedule_timestep(&levels->train, levels->sigmas[i]);

		levels->timesteps[i] = conf->common.use_karras_sigmas ? rint(t) : schedule_below(t);
	}
	return rc;
}

/* The reference inverts nothing of a flow: its levels are those of the ordinary solver. */
static int fill_flow(const struct dpm_conf *conf, const struct strata_solver_request *request,
		     struct dpm_run *run)
{
	struct solver_conf plain = conf->common;

	plain.final_sigmas_type = FINAL_SIGMA_MIN;
	return levels_dpm(&plain, request, -INFINITY, LEVELS_REPEAT_LAST, run->draft->arena,
			  &run->levels, run->err);
}

/* A timestep that comes again is left out, though its level is not: the model is told the next one a step earlier. */
static void drop_repeated(struct levels *levels)
{
	size_t kept = 1;

	for (size_t i = 1; i < levels->count; i++)
		if (levels->timesteps[i] != levels->timesteps[kept - 1])
			levels->timesteps[kept++] = levels->timesteps[i];
	levels->count = kept;
}

/* The reference finds where it begins by the timestep, and of two that are equal takes the second. */
static int check_begin(const struct levels *levels, struct strata_error *err)
{
	const double *from = levels->timesteps + levels->first;

	if (levels->count - levels->first > 1 && from[0] == from[1])
		return strata_fail_at(err, -EINVAL, "steps",
				      "two steps start at timestep %g; expected fewer steps",
				      from[0]);
	return 0;
}

static int start(const struct dpm_conf *conf, const struct strata_solver_request *request,
		 struct dpm_run *run)
{
	struct levels *levels = &run->levels;

	if (request->sigma_count || request->timestep_count)
		return strata_fail_at(run->err, -EINVAL, "sigmas",
				      "inversion goes through its own levels; expected steps only");
	int rc = levels_check(&conf->common, run->err);

	if (rc == 0)
		rc = levels_train(&conf->common, run->draft->arena, levels, run->err);
	if (rc)
		return rc;
	size_t top = levels->train.train_count;

	while (top > 1 && -log(levels->train.train_sigmas[top - 1]) < conf->lambda_min_clipped)
		top--;
	bool scheduled = levels_schedule(&conf->common, request) != NULL;

	if (conf->common.use_flow_sigmas && !scheduled) {
		rc = fill_flow(conf, request, run);
		return rc ? rc : check_begin(levels, run->err);
	}
	rc = scheduled ? fill_schedule(conf, request, run) : fill_spaced(conf, request, top, run);
	if (rc)
		return rc;
	levels_round(levels);
	levels->sigmas[levels->count] = scheduled ? levels->sigmas[levels->count - 1]
						  : levels->train.train_sigmas[top - 1];
	if (!scheduled || conf->common.use_karras_sigmas)
		drop_repeated(levels);
	rc = check_begin(levels, run->err);
	return rc ? rc : spacing_first(request, levels->count, &levels->first, run->err);
}

static int dpmpp_inverse_compile(const void *conf_any, const struct strata_solver_request *request,
				 struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct dpm_conf *conf = conf_any;
	struct dpm_run run = {
		.conf = &conf->common,
		.draft = draft,
		.err = err,
		.predict_noise = dpm_predicts_noise(conf),
	};

	if (dpm_is_stochastic(conf))
		return strata_fail_at(
			err, -EINVAL, "algorithm_type",
			"an SDE cannot be inverted; expected dpmsolver++ or dpmsolver");
	int rc = dpm_check_prediction(&run, &conf->common, err);

	if (rc == 0)
		rc = start(conf, request, &run);

	if (rc == 0)
		rc = dpm_steps(&run, dpm_multistep_row);
	draft->step_count = rc ? 0 : (uint32_t)(run.levels.count - run.levels.first);
	return rc;
}

const struct strata_solver_class strata_solver_dpmpp_inverse = {
	.base = {
		.name = "dpmpp_inverse",
		.aliases = "DPMSolverMultistepInverseScheduler",
		.summary = "DPM-Solver++ the other way, from a clean sample to its noise",
		.conf_size = sizeof(struct dpm_conf),
		.options = dpmpp_inverse_options,
	},
	.file_defaults = "beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0",
	.compile = dpmpp_inverse_compile,
};
