/* Flow models: see flow.h. */
#include "solver/flow.h"

#include "solver/levels_int.h"

#include <errno.h>
#include <math.h>

static double shifted(double shift, double sigma)
{
	return shift * sigma / (1 + (shift - 1) * sigma);
}

/* mu shifts by its exponential or as it is: the same form with another factor. */
static double shift_of(const struct solver_conf *conf, const struct strata_solver_request *request)
{
	if (!conf->use_dynamic_shifting)
		return conf->flow_shift;
	return conf->time_shift_type == TIME_SHIFT_EXPONENTIAL ? exp(request->mu) : request->mu;
}

/* Levels before the shift: the request's own, or even ones down to the training's last, which is shifted already when the shift is
 * a fixed one (so it counts twice, as in diffusers). */
static int fill(struct flow_run *run, const struct strata_solver_request *request)
{
	double lowest = 1 / run->train;

	if (!run->conf->use_dynamic_shifting)
		lowest = shifted(run->conf->flow_shift, lowest);
	for (size_t i = 0; i < run->count; i++) {
		double sigma = 1 + schedule_ramp(run->count, i) * (lowest - 1);

		if (request->sigma_count)
			sigma = request->sigmas[i];
		else if (request->timestep_count)
			sigma = request->timesteps[i] / run->train;
		if (!(sigma > 0 && sigma <= 1 &&
		      (i == 0 || !request->sigma_count || sigma < request->sigmas[i - 1])))
			return strata_fail_at(run->err, -EINVAL, "sigmas",
					      "sigma %zu is %g; expected falling sigmas from 1 to "
					      "above 0",
					      i + 1, sigma);
		run->sigmas[i] = sigma;
	}
	return 0;
}

static int reschedule(struct flow_run *run, const struct strata_solver_request *request,
		      struct strata_arena *arena)
{
	const struct strata_schedule_class *schedule = levels_schedule(run->conf, request);
	size_t train = (size_t)run->train;
	double *all = strata_arena_array(arena, train, sizeof(double));
	struct strata_schedule_range range = {
		.sigma_max = run->sigmas[0],
		.sigma_min = run->sigmas[run->count - 1],
		.train_sigmas = all,
		.train_count = train,
	};

	if (!all)
		return strata_fail_memory(run->err);
	for (size_t t = 0; t < train; t++)
		all[t] = shifted(shift_of(run->conf, request), (double)(t + 1) / run->train);
	return schedule_fill(schedule, request, &range, run->count, arena, run->sigmas, run->err);
}

/* diffusers cuts the number of steps left out, not that of the steps left. */
static int first_of(const struct strata_solver_request *request, size_t count, size_t *ret_first,
		    struct strata_error *err)
{
	double left = request->has_strength ? (double)count * request->strength : (double)count;
	size_t first = (size_t)((double)count - fmin(left, (double)count));

	if (first >= count)
		return strata_fail_at(err, -EINVAL, "strength",
				      "strength %g leaves none of %zu steps; expected more",
				      request->strength, count);
	*ret_first = first;
	return 0;
}

static size_t count_of(const struct strata_solver_request *request)
{
	size_t count = request->sigma_count ? request->sigma_count : request->timestep_count;

	if (!count)
		return (size_t)request->steps;
	return request->sigma_count > 1 && request->sigmas[count - 1] == 0 ? count - 1 : count;
}

int flow_start(struct flow_run *run, const struct solver_conf *conf,
	       const struct strata_solver_request *request, struct strata_solver_draft *draft,
	       struct strata_error *err)
{
	*run = (struct flow_run){ .conf = conf, .draft = draft, .err = err };
	run->count = count_of(request);
	run->train = (double)conf->num_train_timesteps;
	run->told = request->timestep_count ? request->timesteps : NULL;
	run->sigmas = strata_arena_array(draft->arena, run->count + 1, sizeof(double));
	if (!run->sigmas)
		return strata_fail_memory(err);
	if (conf->use_dynamic_shifting &&
	    !(request->has_mu &&
	      (conf->time_shift_type == TIME_SHIFT_EXPONENTIAL || request->mu > 0)))
		return strata_fail_at(err, -EINVAL, "mu",
				      "dynamic shifting goes by the picture's size; expected mu "
				      "(such as 1.15), or use_dynamic_shifting = false");
	int rc = levels_check(conf, err);

	if (rc == 0)
		rc = fill(run, request);
	for (size_t i = 0; rc == 0 && i < run->count; i++)
		run->sigmas[i] = shifted(shift_of(conf, request), run->sigmas[i]);
	if (rc == 0 && conf->shift_terminal > 0)
		rc = levels_stretch(conf->shift_terminal, run->sigmas, run->count, err);
	if (rc == 0 && levels_schedule(conf, request))
		rc = reschedule(run, request, draft->arena);
	if (rc == 0)
		rc = first_of(request, run->count, &run->first, err);
	draft->step_count = (uint32_t)(run->count - run->first);
	return rc;
}

int flow_steps(struct flow_run *run, int (*step)(void *run, size_t i))
{
	return draft_steps(run->first, run->count, step, run);
}

void flow_invert(struct flow_run *run)
{
	run->told = NULL;
	for (size_t i = 0; i <= run->count; i++)
		run->sigmas[i] = 1 - run->sigmas[i];
}

int flow_row(struct flow_run *run, size_t i, double sigma, struct strata_solver_row **ret_row)
{
	int rc = strata_solver_draft_row(run->draft, ret_row, run->err);

	if (rc)
		return rc;
	struct strata_solver_row *row = *ret_row;

	row->timestep = run->told && i < run->count ? run->told[i] : sigma * run->train;
	row->step = (uint32_t)(i - run->first);
	row->alpha = 1 - sigma;
	row->sigma = sigma;
	row->p = 1;
	row->q = -sigma;
	return 0;
}

void flow_jump(struct strata_solver_row *row, double to)
{
	row->next.b = 1 - to;
	row->next.d = to;
	row->flags |= STRATA_ROW_NOISE;
}
