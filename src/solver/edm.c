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

static int fill_schedule(struct edm_run *run, const struct strata_solver_request *request)
{
	const struct edm_conf *conf = run->conf;
	struct strata_arena *arena = run->draft->arena;
	struct strata_error *err = run->err;
	struct strata_schedule_range range = { conf->common.sigma_min, conf->common.sigma_max,
					       &conf->common.sigma_min, 1 };
	double rho = conf->rho; /* the whole of karras's options */
	struct strata_spec karras = { &strata_schedule_karras.base, &rho };
	struct strata_solver_request by_rho = { .schedule = &karras };

	if (request->schedule)
		return schedule_fill((const struct strata_schedule_class *)request->schedule->cls,
				     request, &range, run->count, arena, run->sigmas, err);
	if (conf->sigma_schedule == EDM_EXPONENTIAL && run->count == 1) {
		run->sigmas[0] = range.sigma_min; /* it is made from below */
		return 0;
	}
	if (conf->sigma_schedule == EDM_EXPONENTIAL)
		return schedule_fill(&strata_schedule_exponential, NULL, &range, run->count, arena,
				     run->sigmas, err);
	return schedule_fill(&strata_schedule_karras, &by_rho, &range, run->count, arena,
			     run->sigmas, err);
}

static int fill_given(struct edm_run *run, const struct strata_solver_request *request)
{
	for (size_t i = 0; i < run->count; i++) {
		run->sigmas[i] = request->sigmas[i];
		if (!(run->sigmas[i] > 0 && run->sigmas[i] <= 1e6 &&
		      (i == 0 || run->sigmas[i] < run->sigmas[i - 1])))
			return strata_fail_at(
				run->err, -EINVAL, "sigmas",
				"sigma %zu is %g; expected falling sigmas from 1e6 to "
				"above 0",
				i + 1, run->sigmas[i]);
	}
	return 0;
}

int edm_start(struct edm_run *run, const struct edm_conf *conf,
	      const struct strata_solver_request *request, struct strata_solver_draft *draft,
	      struct strata_error *err)
{
	*run = (struct edm_run){ .conf = conf, .draft = draft, .err = err };
	run->count = request->sigma_count ? request->sigma_count : (size_t)request->steps;
	if (request->sigma_count > 1 && request->sigmas[request->sigma_count - 1] == 0)
		run->count--;
	if (run->count == 0 || request->timestep_count)
		return strata_fail_at(err, -EINVAL, "timesteps",
				      "this solver has noise levels, not timesteps; expected steps "
				      "or sigmas");
	run->sigmas = strata_arena_array(draft->arena, run->count + 1, sizeof(double));
	if (!run->sigmas)
		return strata_fail_memory(err);
	int rc = request->sigma_count ? fill_given(run, request) : fill_schedule(run, request);

	if (rc == 0)
		rc = spacing_first(request, run->count, &run->first, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < run->count; i++) /* as the reference keeps them */
		run->sigmas[i] = (float)run->sigmas[i];
	if (conf->common.final_sigmas_type == FINAL_SIGMA_MIN)
		run->sigmas[run->count] = run->sigmas[run->count - 1];
	draft->init_noise_sigma = hypot(conf->common.sigma_max, 1);
	draft->step_count = (uint32_t)(run->count - run->first);
	return 0;
}

int edm_steps(struct edm_run *run, int (*step)(void *run, size_t i))
{
	return draft_steps(run->first, run->count, step, run);
}

int edm_row(struct edm_run *run, size_t i, double noised, struct strata_solver_row **ret_row)
{
	double sigma = run->sigmas[i], data = run->conf->sigma_data, all = hypot(noised, data);
	double sign = run->conf->common.prediction_type == PREDICTION_V ? -1 : 1;
	int rc = strata_solver_draft_row(run->draft, ret_row, run->err);

	if (rc)
		return rc;
	struct strata_solver_row *row = *ret_row;

	row->step = (uint32_t)(i - run->first);
	row->timestep = 0.25 * log(sigma);
	row->input_scale = 1 / hypot(sigma, data);
	row->alpha = 1;
	row->sigma = sigma;
	row->p = data * data / (all * all);
	row->q = sign * noised * data / all;
	return 0;
}
