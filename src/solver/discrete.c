/* Solvers on whole timesteps: see discrete.h. */
#include "solver/discrete.h"

#include <errno.h>
#include <math.h>

int discrete_check(const struct strata_solver_request *request, struct strata_error *err)
{
	if (request->sigma_count || request->schedule)
		return strata_fail_at(
			err, -EINVAL, request->sigma_count ? "sigmas" : "schedule",
			"this solver goes by the timesteps of the training and takes no "
			"%s; expected timesteps or a timestep_spacing, or the solver "
			"euler, which steps as ddim does on any noise levels",
			request->sigma_count ? "sigmas" : "schedule");
	return 0;
}

int discrete_check_steps(const struct solver_conf *conf,
			 const struct strata_solver_request *request, struct strata_error *err)
{
	size_t train = conf->trained_betas.count ? conf->trained_betas.count
						 : (size_t)conf->num_train_timesteps;

	if (request->steps > (int64_t)train)
		return strata_fail_at(
			err, -EINVAL, "steps",
			"%lld steps do not fit in %zu training timesteps; expected at "
			"most %zu",
			(long long)request->steps, train, train);
	return 0;
}

int discrete_start(struct discrete_run *run, const struct solver_conf *conf,
		   const struct strata_solver_request *request, struct strata_solver_draft *draft,
		   struct strata_error *err)
{
	int rc = discrete_check(request, err);

	if (rc == 0)
		rc = betas_alphas(conf, draft->arena, &run->alphas, err);
	if (rc == 0)
		rc = spacing_timesteps(conf, request, run->alphas.count, run->alphas.count, 0,
				       draft->arena, &run->timesteps, err);
	if (rc == 0)
		rc = spacing_first(request, run->timesteps.count, &run->first, err);
	if (rc)
		return rc;
	run->conf = conf;
	run->draft = draft;
	run->err = err;
	run->stride = run->alphas.count / run->timesteps.count;
	draft->step_count = (uint32_t)(run->timesteps.count - run->first);
	return 0;
}

int discrete_steps(struct discrete_run *run, int (*step)(void *run, size_t i))
{
	return draft_steps(run->first, run->timesteps.count, step, run);
}

int discrete_compile(const void *conf, const struct strata_solver_request *request,
		     int (*step)(void *run, size_t i), struct strata_solver_draft *draft,
		     struct strata_error *err)
{
	struct discrete_run run;
	int rc = discrete_check_steps(conf, request, err);

	if (rc == 0)
		rc = discrete_start(&run, conf, request, draft, err);
	return rc ? rc : discrete_steps(&run, step);
}

double discrete_alpha(const struct discrete_run *run, double timestep, double before)
{
	return timestep < 0 ? before : run->alphas.product[(size_t)timestep];
}

int discrete_row(struct discrete_run *run, size_t i, double timestep, double alpha,
		 struct strata_solver_row **ret_row)
{
	bool unknown = alpha <= 0 && run->conf->prediction_type == PREDICTION_EPSILON;
	bool held = run->conf->clip_sample && !run->conf->thresholding;

	if (unknown && !held)
		return strata_fail_at(
			run->err, -EINVAL, "prediction_type",
			"timestep %g is pure noise, of which epsilon says nothing; "
			"expected v_prediction or sample, or rescale_betas_zero_snr = "
			"false",
			timestep);
	int rc = strata_solver_draft_row(run->draft, ret_row, run->err);

	if (rc)
		return rc;
	(*ret_row)->timestep = timestep;
	(*ret_row)->step = (uint32_t)(i - run->first);
	prediction_fill(run->conf, sqrt(alpha), sqrt(1 - alpha), *ret_row);
	if (unknown) { /* infinite either way, and held there */
		(*ret_row)->p = 1e30;
		(*ret_row)->q = -1e30;
	}
	return 0;
}
