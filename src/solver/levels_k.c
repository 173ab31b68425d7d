/* The levels of k-diffusion's family: timesteps may have fractions, and a schedule's range is that of the timesteps. */
#include "solver/levels_int.h"

#include <math.h>

static void fill_spaced(const struct timesteps *timesteps, bool interpolate_log,
			struct levels *levels)
{
	double high = log(levels->train.sigma_max), low = log(levels->train.sigma_min);

	for (size_t i = 0; i < levels->count; i++) {
		double t = (float)timesteps->at[i];

		levels->timesteps[i] = t;
		levels->sigmas[i] = interpolate_log ? exp(high + (low - high) * (double)i /
									 (double)levels->count)
						    : schedule_sigma(&levels->train, t);
	}
}

/* A schedule asked for in a request runs over the training's whole range, as in A1111 and ComfyUI; one asked for in a
 * configuration over that of the timesteps, as in diffusers. */
static int reschedule(const struct solver_conf *conf, const struct strata_solver_request *request,
		      unsigned rules, struct strata_arena *arena, struct levels *levels,
		      struct strata_error *err)
{
	const struct strata_schedule_class *schedule = levels_schedule(conf, request);
	struct strata_schedule_range range = levels->train;

	if (!request->schedule && !(rules & LEVELS_LOG)) {
		range.sigma_max = levels->sigmas[0];
		range.sigma_min = levels->sigmas[levels->count - 1];
	}
	if (conf->sigma_min > 0)
		range.sigma_min = conf->sigma_min;
	if (conf->sigma_max > 0)
		range.sigma_max = conf->sigma_max;
	int rc =
		schedule_fill(schedule, request, &range, levels->count, arena, levels->sigmas, err);

	bool whole = rules & LEVELS_ROUND_KARRAS && schedule == &strata_schedule_karras;

	for (size_t i = 0; i < levels->count && rc == 0; i++) {
		double t = schedule_timestep(&levels->train, levels->sigmas[i]);

		levels->timesteps[i] = whole ? rint(t) : t;
	}
	return rc;
}

int levels_k(const struct solver_conf *conf, const struct strata_solver_request *request,
	     unsigned rules, struct strata_arena *arena, struct levels *ret_levels,
	     struct strata_error *err)
{
	struct levels levels = { 0 };
	struct timesteps timesteps;
	int rc = levels_check(conf, false, err);

	if (rc == 0)
		rc = levels_check_timesteps(conf, request, false, err);
	if (rc == 0)
		rc = levels_train(conf, arena, &levels, err);
	if (rc == 0 && request->sigma_count) {
		rc = levels_given(request, arena, &levels, err);
	} else if (rc == 0) {
		rc = spacing_timesteps(conf, request, levels.train.train_count,
				       levels.train.train_count, SPACING_FRACTIONS, arena,
				       &timesteps, err);
		if (rc == 0)
			rc = levels_allot(&levels, timesteps.count, arena, err);
		if (rc == 0)
			fill_spaced(&timesteps, rules & LEVELS_LOG, &levels);
		if (rc == 0 && levels_schedule(conf, request))
			rc = reschedule(conf, request, rules, arena, &levels, err);
	}
	if (rc == 0)
		rc = spacing_first(request, levels.count, &levels.first, err);
	if (rc)
		return rc;
	levels_round(&levels);
	if (!request->sigmas_end)
		levels.sigmas[levels.count] = 0;
	levels.longer = rules & LEVELS_LOG && !request->sigma_count &&
			!levels_schedule(conf, request);
	if (!request->sigmas_end && (conf->final_sigmas_type == FINAL_SIGMA_MIN || levels.longer))
		levels.sigmas[levels.count] = levels.train.sigma_min;
	*ret_levels = levels;
	return 0;
}
