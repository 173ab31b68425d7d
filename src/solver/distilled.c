/* Timesteps of distilled models: see distilled.h. */
#include "solver/distilled.h"

#include <errno.h>
#include <math.h>

int distilled_start(struct discrete_run *run, const struct distilled_conf *conf,
		    const struct strata_solver_request *request, struct strata_solver_draft *draft,
		    struct strata_error *err)
{
	double strength = request->has_strength ? request->strength : 1;
	size_t n = (size_t)request->steps;
	double *at = strata_arena_array(draft->arena, n ? n : 1, sizeof(double));
	struct strata_solver_request own = { .timesteps = at, .timestep_count = n };
	size_t train = conf->common.trained_betas.count ? conf->common.trained_betas.count
							: (size_t)conf->common.num_train_timesteps;
	size_t known = (size_t)conf->original_inference_steps;
	size_t stride = conf->over_training ? 1 : train / known;
	size_t origin = (size_t)((double)(conf->over_training ? train : known) * strength);

	if (!at)
		return strata_fail_memory(err);
	int rc = discrete_check(request, err);

	if (rc)
		return rc;
	if (request->timestep_count)
		return discrete_start(run, &conf->common, request, draft, err);
	if (stride == 0)
		return strata_fail_at(err, -EINVAL, "original_inference_steps",
				      "original_inference_steps is %lld; expected at most the %zu "
				      "timesteps of the training",
				      (long long)conf->original_inference_steps, train);
	if (n == 0 || n > origin || n > known)
		return strata_fail_at(err, -EINVAL, "steps",
				      "%zu steps do not fit in %zu of the distillation; expected 1 "
				      "to %zu, or a larger original_inference_steps",
				      n, origin < known ? origin : known,
				      origin < known ? origin : known);
	for (size_t i = 0; i < n; i++) { /* the last bit of the quotient counts, as in numpy */
		size_t back = (size_t)((double)i * ((double)origin / (double)n));

		at[i] = (double)((origin - back) * stride) - 1;
	}
	return discrete_start(run, &conf->common, &own, draft, err);
}

int distilled_compile(const void *conf, const struct strata_solver_request *request,
		      int (*step)(void *run, size_t i), struct strata_solver_draft *draft,
		      struct strata_error *err)
{
	struct discrete_run run;
	int rc = distilled_start(&run, conf, request, draft, err);

	return rc ? rc : discrete_steps(&run, step);
}
