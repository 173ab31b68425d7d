/*
 * DPM fast: a number of model calls is spent on even steps in log sigma, of third order each but for what is left over. It ends at the least
 * noise of the training, not at none.
 */
#include "solver/expo.h"
#include "solver/levels_int.h"
#include "solver/prediction.h"

#include <errno.h>
#include <math.h>

static const struct strata_option dpm_fast_options[] = {
	CONF_TRAINING, CONF_PREDICTION(conf_predictions), CONF_SIGMA_RANGE, CONF_ETA(0, 1), { 0 }
};

/* k-diffusion's plan: thirds, and a last step (or two) of what is left. */
static int order_of(size_t calls, size_t i)
{
	size_t steps = calls / 3 + 1, rest = calls % 3;

	if (rest == 0)
		return i + 2 < steps ? 3 : i + 2 == steps ? 2 : 1;
	return i + 1 < steps ? 3 : (int)rest;
}

static int dpm_fast_step(const struct solver_conf *conf, const struct levels *levels, size_t calls,
			 size_t i, double start, double end, struct strata_solver_draft *draft,
			 struct strata_error *err)
{
	double steps = (double)(calls / 3 + 1), up;
	double next = start + (end - start) * (double)(i + 1) / steps;
	struct expo_step step = {
		.from = start + (end - start) * (double)i / steps,
		.order = order_of(calls, i),
		.slot_middle = 1,
		.slot_end = 0,
	};
	struct strata_solver_row *row = NULL;
	int rc = 0;

	step.r1 = step.order == 2 ? 0.5 : 1.0 / 3;
	step.r2 = 2.0 / 3;
	expo_ancestral(step.from, next, end, conf->eta, &step.to, &up);
	for (int call = 0; call < step.order && rc == 0; call++) {
		double sigma = expo_sigma(&step, call);

		rc = strata_solver_draft_row(draft, &row, err);
		if (rc)
			break;
		row->timestep = schedule_timestep(&levels->train, sigma);
		row->input_scale = 1 / hypot(sigma, 1);
		row->step = (uint32_t)i;
		prediction_fill(conf, 1, sigma, row);
		expo_fill(&step, call, row);
	}
	if (rc == 0 && row) {
		row->next.d = up * conf->s_noise;
		row->flags |= STRATA_ROW_NOISE;
	}
	return rc;
}

static int dpm_fast_compile(const void *conf_any, const struct strata_solver_request *request,
			    struct strata_solver_draft *draft, struct strata_error *err)
{
	const struct solver_conf *conf = conf_any;
	struct levels levels = { 0 };
	size_t calls = (size_t)request->steps;
	int rc = levels_train(conf, draft->arena, &levels, err);

	if (rc)
		return rc;
	double high = conf->sigma_max > 0 ? conf->sigma_max : levels.train.sigma_max;
	double low = conf->sigma_min > 0 ? conf->sigma_min : levels.train.sigma_min;

	if (calls < 1 || request->timestep_count || request->schedule || request->has_strength)
		return strata_fail_at(err, -EINVAL, "steps",
				      "dpm_fast spends a number of steps on a range of sigmas; "
				      "expected steps, sigma_min and sigma_max only");
	if (!(high > low))
		return strata_fail_at(err, -EINVAL, "sigma_max",
				      "sigma_max is %g; expected more than sigma_min, %g", high,
				      low);
	for (size_t i = 0; i < calls / 3 + 1 && rc == 0; i++)
		rc = dpm_fast_step(conf, &levels, calls, i, -log(high), -log(low), draft, err);
	draft->init_noise_sigma = high;
	draft->step_count = (uint32_t)(calls / 3 + 1);
	return rc;
}

const struct strata_solver_class strata_solver_dpm_fast = {
	.base = {
		.name = "dpm_fast",
		.aliases = "DPM fast, k_dpm_fast, sample_dpm_fast",
		.summary = "even steps in log sigma of third order; a fixed number of calls",
		.conf_size = sizeof(struct solver_conf),
		.options = dpm_fast_options,
	},
	.compile = dpm_fast_compile,
};
