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
				   top_of(&levels->train, lambda_min),
				   SPACING_ONE_MORE | SPACING_BEYOND, arena, &timesteps, err);

	if (rc == 0)
		rc = levels_allot(levels, timesteps.count, arena, err);
	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		levels->timesteps[i] = timesteps.at[i];
		levels->sigmas[i] = schedule_sigma(&levels->train, timesteps.at[i]);
	}
	return rc;
}

/* Which timestep the model is told at a level that a key of a configuration asked for: of karras and lu the nearest, of the
 * others the one below. DPM++ in multiple steps takes the one below of karras too where the signal fades as a cosine. */
static double whole_timestep(const struct solver_conf *conf, unsigned rules, double t)
{
	bool nearest = conf->use_karras_sigmas || conf->use_lu_lambdas;

	if (rules & LEVELS_COSINE_BELOW && conf->beta_schedule == BETAS_SQUAREDCOS_CAP_V2)
		nearest = false;
	return nearest ? rint(t) : schedule_below(t);
}

static int fill_schedule(const struct solver_conf *conf,
			 const struct strata_solver_request *request, unsigned rules,
			 struct strata_arena *arena, struct levels *levels,
			 struct strata_error *err)
{
	const struct strata_schedule_class *schedule = levels_schedule(conf, request);
	struct strata_schedule_range range = levels->train;
	bool karras = rules & LEVELS_FROM_ONE && schedule == &strata_schedule_karras;
	bool to_flow = conf->use_flow_sigmas && (request->schedule || karras);
	int rc = levels_allot(levels, (size_t)request->steps, arena, err);

	if (conf->sigma_min > 0)
		range.sigma_min = conf->sigma_min;
	if (conf->sigma_max > 0)
		range.sigma_max = conf->sigma_max;
	if (conf->use_lu_lambdas) { /* the reference keeps logarithms in float */
		range.sigma_min = exp((double)(float)log(range.sigma_min));
		range.sigma_max = exp((double)(float)log(range.sigma_max));
	}
	if (rc == 0)
		rc = schedule_fill(schedule, request, &range, levels->count, arena, levels->sigmas,
				   err);
	for (size_t i = 0; rc == 0 && i < levels->count; i++) {
		double t = schedule_timestep(&levels->train, levels->sigmas[i]);

		levels->timesteps[i] = request->schedule ? t : whole_timestep(conf, rules, t);
		if (to_flow) {
			levels->sigmas[i] /= levels->sigmas[i] + 1;
			levels->timesteps[i] =
				floor(levels->sigmas[i] * (double)levels->train.train_count);
		}
	}
	return rc;
}

/* Level i of n even ones before the shift. Where the reference cuts a timestep off after the point, the last bit counts:
 * this is numpy's linspace, which adds multiples of a rounded step to its start. */
static double flow_level(size_t i, size_t n, double train, unsigned rules)
{
	double step = (1 / train - 1) / (double)n;

	if (rules & LEVELS_FROM_ONE)
		return (double)i * step + 1;
	return 1 - (i ? (double)(n - i) * step + 1 : 1 / train);
}

static double flow_shifted(const struct solver_conf *conf,
			   const struct strata_solver_request *request, unsigned rules,
			   double sigma)
{
	double shift = conf->flow_shift;

	if (conf->use_dynamic_shifting && request->has_mu) {
		if (conf->time_shift_type == TIME_SHIFT_LINEAR || rules & LEVELS_FROM_ONE) {
			double by = conf->time_shift_type == TIME_SHIFT_LINEAR ? request->mu
									       : exp(request->mu);

			return by / (by + (1 / sigma - 1));
		}
		shift = exp(request->mu);
	}
	return shift * sigma / (1 + (shift - 1) * sigma);
}

static int flow_check(const struct solver_conf *conf, const struct strata_solver_request *request,
		      unsigned rules, struct strata_error *err)
{
	bool linear = conf->time_shift_type == TIME_SHIFT_LINEAR;

	if (rules & LEVELS_FROM_ONE && conf->use_dynamic_shifting && !request->has_mu)
		return strata_fail_at(err, -EINVAL, "mu",
				      "dynamic shifting goes by the picture's size; expected mu "
				      "(such as 1.15), or use_dynamic_shifting = false");
	if (request->has_mu && !conf->use_dynamic_shifting && !(rules & LEVELS_FROM_ONE))
		return strata_fail_at(err, -EINVAL, "mu",
				      "mu is %g, but the shift is a fixed one; expected "
				      "use_dynamic_shifting = true",
				      request->mu);
	if (request->has_mu && conf->use_dynamic_shifting && linear &&
	    (!(rules & LEVELS_FROM_ONE) || !(request->mu > 0)))
		return strata_fail_at(err, -EINVAL, "time_shift_type",
				      "mu cannot shift linearly here; expected time_shift_type = "
				      "exponential");
	return 0;
}

/* A flow's levels are of 1, not of the signal; the shift moves them towards noise. */
static int fill_flow(const struct solver_conf *conf, const struct strata_solver_request *request,
		     unsigned rules, struct strata_arena *arena, struct levels *levels,
		     struct strata_error *err)
{
	double train = (double)levels->train.train_count;
	size_t n = request->sigma_count      ? request->sigma_count
		   : request->timestep_count ? request->timestep_count
					     : (size_t)request->steps;
	int rc = levels_allot(levels, n, arena, err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		double sigma = request->sigma_count ? request->sigmas[i]
						    : flow_level(i, n, train, rules);

		if (!(sigma > 0 && sigma <= 1 &&
		      (i == 0 || !request->sigma_count || sigma < request->sigmas[i - 1])))
			return strata_fail_at(err, -EINVAL, "sigmas",
					      "sigma %zu is %g; expected falling sigmas from 1 to "
					      "above 0",
					      i + 1, sigma);
		levels->sigmas[i] = flow_shifted(conf, request, rules, sigma);
	}
	if (rc == 0 && conf->shift_terminal > 0)
		rc = levels_stretch(conf->shift_terminal, levels->sigmas, levels->count, err);
	/* lambda is infinite at 1; the reference steps back a little */
	if (rc == 0 && fabs(levels->sigmas[0] - 1) < 1e-6)
		levels->sigmas[0] -= 1e-6;
	for (size_t i = 0; rc == 0 && i < levels->count; i++)
		levels->timesteps[i] = trunc(levels->sigmas[i] * train);
	return rc;
}

/* Levels of the training on a flow's sample, as a configuration may ask for them: where noise is more than the signal the
 * reference takes the logarithm of a negative number. */
static int check_flow(const struct levels *levels, struct strata_error *err)
{
	if (levels->sigmas[levels->first] <= 1)
		return 0;
	return strata_fail_at(
		err, -EINVAL, "use_flow_sigmas",
		"a flow has noise levels below 1, and this schedule is at %g; expected "
		"one of use_flow_sigmas and use_karras_sigmas and its like, or a "
		"smaller strength",
		levels->sigmas[levels->first]);
}

/* Which of the ways there are was asked for. *ret_spaced: by timesteps. */
static int fill(const struct solver_conf *conf, const struct strata_solver_request *request,
		double lambda_min, unsigned rules, struct strata_arena *arena,
		struct levels *levels, bool *ret_spaced, struct strata_error *err)
{
	bool scheduled = levels_schedule(conf, request) && !request->timestep_count;
	bool flow = conf->use_flow_sigmas &&
		    (!request->timestep_count || rules & LEVELS_FLOW_COUNTS);

	*ret_spaced = false;
	if (request->sigma_count && !conf->use_flow_sigmas)
		return levels_given(request, arena, levels, err);
	if (scheduled && !request->sigma_count)
		return fill_schedule(conf, request, rules, arena, levels, err);
	if (flow)
		return fill_flow(conf, request, rules, arena, levels, err);
	*ret_spaced = true;
	return fill_spaced(conf, request, lambda_min, arena, levels, err);
}

int levels_dpm(const struct solver_conf *conf, const struct strata_solver_request *request,
	       double lambda_min, unsigned rules, struct strata_arena *arena,
	       struct levels *ret_levels, struct strata_error *err)
{
	struct levels levels = { 0 };
	bool spaced = false;
	int rc = levels_check(conf, err);

	if (rc == 0)
		rc = levels_check_timesteps(conf, request, !(rules & LEVELS_FLOW_COUNTS), err);
	if (rc == 0)
		rc = flow_check(conf, request, rules, err);
	if (rc == 0)
		rc = levels_train(conf, arena, &levels, err);
	if (rc == 0)
		rc = fill(conf, request, lambda_min, rules, arena, &levels, &spaced, err);
	if (rc == 0)
		rc = spacing_first(request, levels.count, &levels.first, err);
	if (rc)
		return rc;
	levels_round(&levels);
	if (conf->use_flow_sigmas)
		rc = check_flow(&levels, err);
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
