/* EDM models: see edm.h. Karras et al. 2022. */
#include "solver/edm.h"

#include <errno.h>
#include <math.h>

const struct strata_choice edm_schedules[] = {
	{ "karras", EDM_KARRAS, "by a root" },
	{ "exponential", EDM_EXPONENTIAL, "by the logarithm" },
	{ 0 },
};

const struct strata_choice edm_predictions[] = {
	{ "epsilon", PREDICTION_EPSILON, "what the preconditioning asks for" },
	{ "v_prediction", PREDICTION_V, "the same with the other sign" },
	{ 0 }
};

static int fill_schedule(const struct edm_conf *conf, const struct strata_solver_request *request,
			 struct strata_arena *arena, struct edm_levels *levels,
			 struct strata_error *err)
{
	struct strata_schedule_range range = { conf->common.sigma_min, conf->common.sigma_max,
					       &conf->common.sigma_min, 1 };
	double rho = conf->rho; /* the whole of karras's options */
	struct strata_spec karras = { &strata_schedule_karras.base, &rho };
	struct strata_solver_request by_rho = { .schedule = &karras };

	if (request->schedule)
		return schedule_fill((const struct strata_schedule_class *)request->schedule->cls,
				     request, &range, levels->count, arena, levels->sigmas, err);
	if (conf->sigma_schedule == EDM_EXPONENTIAL)
		return schedule_fill(&strata_schedule_exponential, NULL, &range, levels->count,
				     arena, levels->sigmas, err);
	return schedule_fill(&strata_schedule_karras, &by_rho, &range, levels->count, arena,
			     levels->sigmas, err);
}

static int fill_given(const struct strata_solver_request *request, struct edm_levels *levels,
		      struct strata_error *err)
{
	for (size_t i = 0; i < levels->count; i++) {
		levels->sigmas[i] = request->sigmas[i];
		if (!(levels->sigmas[i] > 0 && levels->sigmas[i] <= 1e6 &&
		      (i == 0 || levels->sigmas[i] < levels->sigmas[i - 1])))
			return strata_fail_at(
				err, -EINVAL, "sigmas",
				"sigma %zu is %g; expected falling sigmas from 1e6 to "
				"above 0",
				i + 1, levels->sigmas[i]);
	}
	return 0;
}

int edm_start(const struct edm_conf *conf, const struct strata_solver_request *request,
	      struct strata_solver_draft *draft, struct edm_levels *ret_levels,
	      struct strata_error *err)
{
	struct edm_levels levels = { .count = request->sigma_count ? request->sigma_count
								   : (size_t)request->steps };

	if (request->sigma_count > 1 && request->sigmas[request->sigma_count - 1] == 0)
		levels.count--;
	if (levels.count == 0 || request->timestep_count)
		return strata_fail_at(err, -EINVAL, "timesteps",
				      "this solver has noise levels, not timesteps; expected steps "
				      "or sigmas");
	levels.sigmas = strata_arena_array(draft->arena, levels.count + 1, sizeof(double));
	if (!levels.sigmas)
		return strata_fail_memory(err);
	int rc = request->sigma_count ? fill_given(request, &levels, err)
				      : fill_schedule(conf, request, draft->arena, &levels, err);

	if (rc == 0)
		rc = spacing_first(request, levels.count, &levels.first, err);
	if (rc)
		return rc;
	if (conf->common.final_sigmas_type == FINAL_SIGMA_MIN)
		levels.sigmas[levels.count] = levels.sigmas[levels.count - 1];
	draft->init_noise_sigma = hypot(conf->common.sigma_max, 1);
	draft->step_count = (uint32_t)(levels.count - levels.first);
	*ret_levels = levels;
	return 0;
}

void edm_fill(const struct edm_conf *conf, double sigma, double noised,
	      struct strata_solver_row *row)
{
	double data = conf->sigma_data, all = hypot(noised, data);
	double sign = conf->common.prediction_type == PREDICTION_V ? -1 : 1;

	row->timestep = 0.25 * log(sigma);
	row->input_scale = 1 / hypot(sigma, data);
	row->alpha = 1;
	row->sigma = sigma;
	row->p = data * data / (all * all);
	row->q = sign * noised * data / all;
}
