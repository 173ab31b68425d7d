/* What both families share: sigmas of the training, levels that were asked for one by one, schedules by key. */
#include "solver/levels_int.h"

#include <errno.h>
#include <math.h>

int levels_train(const struct solver_conf *conf, struct strata_arena *arena, struct levels *levels,
		 struct strata_error *err)
{
	struct alphas alphas;
	int rc = betas_alphas(conf, arena, &alphas, err);
	double *sigmas = rc ? NULL : strata_arena_array(arena, alphas.count, sizeof(double));

	if (rc == 0 && !sigmas)
		rc = strata_fail_memory(err);
	if (rc)
		return rc;
	for (size_t t = 0; t < alphas.count; t++) {
		float alpha = (float)alphas.product[t];

		/* pure noise has no finite ratio: the reference puts 2^-24 in its place, which may be
		 * more signal than the timestep before has */
		if (conf->rescale_betas_zero_snr && t + 1 == alphas.count)
			alpha = 0x1p-24f;
		sigmas[t] = (double)sqrtf((1 - alpha) / alpha);
		if (!(sigmas[t] > 0))
			return strata_fail_at(err, -EINVAL, "beta_start",
					      "these betas add no noise at timestep %zu; expected "
					      "betas above 1e-7",
					      t);
	}
	levels->train = (struct strata_schedule_range){
		.sigma_min = sigmas[0],
		.sigma_max = sigmas[alphas.count - 1],
		.train_sigmas = sigmas,
		.train_count = alphas.count,
	};
	return 0;
}

int levels_allot(struct levels *levels, size_t count, struct strata_arena *arena,
		 struct strata_error *err)
{
	levels->count = count;
	levels->timesteps = strata_arena_array(arena, count, sizeof(double));
	levels->sigmas = strata_arena_array(arena, count + 1, sizeof(double));
	return levels->timesteps && levels->sigmas ? 0 : strata_fail_memory(err);
}

void levels_round(struct levels *levels)
{
	for (size_t i = 0; i < levels->count; i++)
		levels->sigmas[i] = (float)levels->sigmas[i];
}

int levels_given(const struct strata_solver_request *request, struct strata_arena *arena,
		 struct levels *levels, struct strata_error *err)
{
	size_t count = request->sigma_count;
	bool ends = request->sigmas_end || (count > 1 && request->sigmas[count - 1] == 0);

	if (ends && count < 2)
		return strata_fail_at(err, -EINVAL, "sigmas",
				      "one sigma is no step; expected where it starts and where it "
				      "ends");
	if (ends)
		count--;
	if (count > STRATA_SOLVER_STEPS_MAX)
		return strata_fail_at(err, -EINVAL, "sigmas", "%zu sigmas; expected at most %d",
				      count, STRATA_SOLVER_STEPS_MAX);
	int rc = levels_allot(levels, count, arena, err);

	for (size_t i = 0; i < count && rc == 0; i++) {
		double sigma = request->sigmas[i];

		if (!(sigma > 0 && sigma <= 1e6 && (i == 0 || sigma < request->sigmas[i - 1])))
			return strata_fail_at(
				err, -EINVAL, "sigmas",
				"sigma %zu is %g; expected falling sigmas from 1e6 to above 0",
				i + 1, sigma);
		levels->sigmas[i] = sigma;
		levels->timesteps[i] = schedule_timestep(&levels->train, sigma);
	}
	if (rc == 0 && ends)
		levels->sigmas[count] = (float)request->sigmas[count];
	return rc;
}

const struct strata_schedule_class *levels_schedule(const struct solver_conf *conf,
						    const struct strata_solver_request *request)
{
	if (request->schedule)
		return (const struct strata_schedule_class *)request->schedule->cls;
	if (conf->use_karras_sigmas)
		return &strata_schedule_karras;
	if (conf->use_exponential_sigmas || conf->use_lu_lambdas)
		return &strata_schedule_exponential; /* lu goes before beta */
	return conf->use_beta_sigmas ? &strata_schedule_beta : NULL;
}

int levels_stretch(double terminal, double *sigmas, size_t count, struct strata_error *err)
{
	double scale = (1 - sigmas[count - 1]) / (1 - terminal);

	if (!(scale > 0))
		return strata_fail_at(err, -EINVAL, "shift_terminal",
				      "one level at %g cannot be stretched to end at %g; expected "
				      "at least two steps, or no shift_terminal",
				      sigmas[count - 1], terminal);
	for (size_t i = 0; i < count; i++)
		sigmas[i] = 1 - (1 - sigmas[i]) / scale;
	return 0;
}

int levels_check(const struct solver_conf *conf, struct strata_error *err)
{
	if (conf->use_karras_sigmas + conf->use_exponential_sigmas + conf->use_beta_sigmas > 1)
		return strata_fail_at(
			err, -EINVAL, "use_karras_sigmas",
			"more than one schedule is asked for; expected one of "
			"use_karras_sigmas, use_exponential_sigmas, use_beta_sigmas …");
	return 0;
}

int levels_check_timesteps(const struct solver_conf *conf,
			   const struct strata_solver_request *request, bool flow,
			   struct strata_error *err)
{
	if (request->timestep_count &&
	    (conf->use_karras_sigmas || conf->use_exponential_sigmas || conf->use_beta_sigmas ||
	     conf->use_lu_lambdas || (flow && conf->use_flow_sigmas)))
		return strata_fail_at(err, -EINVAL, "timesteps",
				      "own timesteps and a schedule of noise levels exclude each "
				      "other; expected timesteps without use_karras_sigmas and its "
				      "like");
	return 0;
}

void levels_path(const struct levels *levels, bool k_diffusion, struct strata_solver_draft *draft)
{
	size_t first = k_diffusion ? levels->first : 0;
	double end = levels->sigmas[levels->count];

	draft->path_high = levels->sigmas[first];
	draft->path_low = end > 0 ? end : levels->sigmas[levels->count - 1];
}
