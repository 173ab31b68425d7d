/* The levels of k-diffusion's family: timesteps may have fractions, and a schedule's range is that of the timesteps. */
#include "solver/levels_int.h"

#include <math.h>

static size_t asked_of(const struct strata_solver_request *request)
{
	return request->timestep_count ? request->timestep_count : (size_t)request->steps;
}

/* Levels that are even in log sigma are one more than the `asked` steps: the last is where the last step ends, unless there is
 * a timestep for it too. */
static void fill_spaced(const struct timesteps *timesteps, bool interpolate_log, size_t asked,
			struct levels *levels)
{
	double high = log(levels->train.sigma_max), low = log(levels->train.sigma_min);

	for (size_t i = 0; i < levels->count; i++) {
		double t = (float)timesteps->at[i < timesteps->count ? i : timesteps->count - 1];
		double part = (double)i / (double)asked;

		levels->timesteps[i] = t;
		levels->sigmas[i] = interpolate_log ? exp(high + (low - high) * part)
						    : schedule_sigma(&levels->train, t);
	}
	levels->longer = interpolate_log && levels->count == asked;
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
	levels->count = asked_of(request); /* trailing timesteps may be one more */
	levels->longer = false;
	int rc =
		schedule_fill(schedule, request, &range, levels->count, arena, levels->sigmas, err);

	bool whole = rules & LEVELS_ROUND_KARRAS && schedule == &strata_schedule_karras;

	for (size_t i = 0; i < levels->count && rc == 0; i++) {
		double t = schedule_timestep(&levels->train, levels->sigmas[i]);

		levels->timesteps[i] = whole ? rint(t) : t;
	}
	return rc;
}

static int fill(const struct solver_conf *conf, const struct strata_solver_request *request,
		unsigned rules, struct strata_arena *arena, struct levels *levels,
		struct strata_error *err)
{
	size_t train = levels->train.train_count, asked = asked_of(request);
	struct timesteps timesteps;
	int rc = spacing_timesteps(conf, request, train, train, SPACING_FRACTIONS | SPACING_BEYOND,
				   arena, &timesteps, err);

	if (rc == 0)
		rc = levels_allot(levels, rules & LEVELS_LOG_ALL ? asked + 1 : timesteps.count,
				  arena, err);
	if (rc)
		return rc;
	fill_spaced(&timesteps, rules & LEVELS_LOG, asked, levels);
	return levels_schedule(conf, request) ? reschedule(conf, request, rules, arena, levels, err)
					      : 0;
}

int levels_k(const struct solver_conf *conf, const struct strata_solver_request *request,
	     unsigned rules, struct strata_arena *arena, struct levels *ret_levels,
	     struct strata_error *err)
{
	struct levels levels = { 0 };
	int rc = levels_check(conf, err);

	if (rc == 0)
		rc = levels_check_timesteps(conf, request, false, err);
	if (rc == 0)
		rc = levels_train(conf, arena, &levels, err);
	if (rc == 0)
		rc = request->sigma_count ? levels_given(request, arena, &levels, err)
					  : fill(conf, request, rules, arena, &levels, err);
	if (rc == 0)
		rc = spacing_first(request, levels.count, &levels.first, err);
	if (rc)
		return rc;
	levels_round(&levels);
	if (!request->sigmas_end)
		levels.sigmas[levels.count] = 0;
	if (!request->sigmas_end && (conf->final_sigmas_type == FINAL_SIGMA_MIN || levels.longer))
		levels.sigmas[levels.count] = levels.train.sigma_min;
	*ret_levels = levels;
	return 0;
}
