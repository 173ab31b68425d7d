/* The levels of DPM-Solver's family: whole timesteps, and a schedule's range is the whole training's. */
#include "solver/levels_int.h"

#include <errno.h>
#include <math.h>

/* The timesteps below the noisiest that are left in. */
static size_t top_of(const struct strata_schedule_range *train, double lambda_min)
{
	size_t top = train->train_count;

	while (top > 1 && -log(train->train_sigmas[top - 1]) < lambda_min)
		top--;
	return top;
}

static int fill_spaced(const struct solver_conf *conf, const struct strata_solver_request *request,
		       double lambda_min, struct strata_arena *arena, struct levels *levels,
		       struct strata_error *err)
{
	struct timesteps timesteps;
	int rc = spacing_timesteps(conf, request, levels->train.train_count,
				   top_of(&levels->train, lambda_min), SPACING_ONE_MORE, arena,
				   &timesteps, err);

	if (rc == 0)
		rc = levels_allot(levels, timesteps.count, arena, err);
	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		levels->timesteps[i] = timesteps.at[i];
		levels->sigmas[i] = schedule_sigma(&levels->train, timesteps.at[i]);
	}
	return rc;
}

static int fill_schedule(const struct solver_conf *conf,
			 const struct strata_solver_request *request, struct strata_arena *arena,
			 struct levels *levels, struct strata_error *err)
{
	const struct strata_schedule_class *schedule = levels_schedule(conf, request);
	struct strata_schedule_range range = levels->train;
	int rc = levels_allot(levels, (size_t)request->steps, arena, err);

	if (conf->sigma_min > 0)
		range.sigma_min = conf->sigma_min;
	if (conf->sigma_max > 0)
		range.sigma_max = conf->sigma_max;
	if (rc == 0)
		rc = schedule_fill(schedule, request, &range, levels->count, arena, levels->sigmas,
				   err);
	/* by key of a configuration: karras and lu round to the nearest timestep, the others down */
	bool nearest = conf->use_karras_sigmas || conf->use_lu_lambdas;

	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		double t = schedule_timestep(&levels->train, levels->sigmas[i]);

		levels->timesteps[i] = request->schedule ? t : nearest ? rint(t) : floor(t);
	}
	return rc;
}

/* A flow's levels are of 1, not of the signal; the shift moves them towards noise. */
static int fill_flow(const struct solver_conf *conf, const struct strata_solver_request *request,
		     unsigned rules, struct strata_arena *arena, struct levels *levels,
		     struct strata_error *err)
{
	double shift = conf->flow_shift, train = (double)levels->train.train_count;
	int rc = levels_allot(levels, (size_t)request->steps, arena, err);

	if (conf->use_dynamic_shifting && request->has_mu)
		shift = exp(request->mu);
	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		double part = (double)(levels->count - i) / (double)levels->count;
		double sigma = part * (1 - 1 / train) + (rules & LEVELS_FROM_ONE ? 1 / train : 0);

		levels->sigmas[i] = shift * sigma / (1 + (shift - 1) * sigma);
	}
	if (rc == 0 && conf->shift_terminal > 0)
		rc = levels_stretch(conf->shift_terminal, levels->sigmas, levels->count, err);
	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		/* lambda is infinite at 1; the reference steps back a little */
		if (levels->sigmas[i] > 1 - 1e-6)
			levels->sigmas[i] = 1 - 1e-6;
		levels->timesteps[i] = floor(levels->sigmas[i] * train);
	}
	return rc;
}

int levels_dpm(const struct solver_conf *conf, const struct strata_solver_request *request,
	       double lambda_min, unsigned rules, struct strata_arena *arena,
	       struct levels *ret_levels, struct strata_error *err)
{
	struct levels levels = { 0 };
	bool spaced = false;
	int rc = levels_check(conf, err);

	if (rc == 0)
		rc = levels_train(conf, arena, &levels, err);
	if (rc)
		return rc;
	if (request->sigma_count) {
		rc = levels_given(request, arena, &levels, err);
	} else if (conf->use_flow_sigmas && !request->timestep_count) {
		rc = fill_flow(conf, request, rules, arena, &levels, err);
	} else if (levels_schedule(conf, request) && !request->timestep_count) {
		rc = fill_schedule(conf, request, arena, &levels, err);
	} else {
		rc = fill_spaced(conf, request, lambda_min, arena, &levels, err);
		spaced = true;
	}
	if (rc == 0)
		rc = spacing_first(request, levels.count, &levels.first, err);
	if (rc)
		return rc;
	double own = levels.sigmas[levels.count - 1];
	bool take_own = rules & LEVELS_LAST_OWN || (rules & LEVELS_REPEAT_LAST);

	levels.sigmas[levels.count] = conf->final_sigmas_type == FINAL_ZERO ? 0
				      : take_own && !spaced                 ? own
							    : levels.train.sigma_min;
	*ret_levels = levels;
	return 0;
}
