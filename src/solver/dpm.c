/* DPM-Solver's family: see dpm.h. Lu et al. 2022, "DPM-Solver" and "DPM-Solver++". */
#include "solver/dpm.h"

#include <errno.h>
#include <math.h>

const struct strata_choice dpm_algorithms[] = {
	{ "dpmsolver++", DPM_SOLVER_PP, "the clean sample, along the ODE" },
	{ "dpmsolver", DPM_SOLVER, "the noise, along the ODE" },
	{ "sde-dpmsolver++", DPM_SDE_PP, "the clean sample, along the SDE" },
	{ "sde-dpmsolver", DPM_SDE, "the noise, along the SDE" },
	{ "deis", DPM_DEIS, "another solver's: dpmsolver++" },
	{ 0 }
};

const struct strata_choice dpm_solver_types[] = {
	{ "midpoint", DPM_MIDPOINT, "as a midpoint rule" },
	{ "heun", DPM_HEUN, "as Heun's rule" },
	{ "bh1", DPM_MIDPOINT, "another solver's: midpoint" },
	{ "bh2", DPM_MIDPOINT, "another solver's: midpoint" },
	{ "logrho", DPM_MIDPOINT, "another solver's: midpoint" },
	{ 0 }
};

static struct point point_at(const struct solver_conf *conf, double sigma)
{
	struct point point = { .lambda = -log(sigma) };

	if (conf->use_flow_sigmas) {
		point = (struct point){ 1 - sigma, sigma, log(1 - sigma) - log(sigma) };
	} else if (conf->k_diffusion) {
		point.alpha = 1;
		point.sigma = sigma;
	} else {
		point.alpha = 1 / hypot(sigma, 1);
		point.sigma = sigma * point.alpha;
	}
	return point;
}

int dpm_check_prediction(const struct dpm_run *run, const struct solver_conf *conf,
			 struct strata_error *err)
{
	if (conf->prediction_type == PREDICTION_FLOW && run->predict_noise && !run->by_rest)
		return strata_fail_at(err, -EINVAL, "prediction_type",
				      "a flow is not turned into noise here; expected a solver of "
				      "the clean sample, or prediction_type = epsilon");
	return 0;
}

int dpm_start(struct dpm_run *run, const struct solver_conf *conf,
	      const struct strata_solver_request *request, double lambda_min, unsigned rules,
	      struct strata_solver_draft *draft, struct strata_error *err)
{
	int rc = dpm_check_prediction(run, conf, err);

	if (rc == 0)
		rc = levels_dpm(conf, request, lambda_min, rules, draft->arena, &run->levels, err);
	if (rc)
		return rc;
	run->conf = conf;
	run->draft = draft;
	run->err = err;
	draft->step_count = (uint32_t)(run->levels.count - run->levels.first);
	draft->init_noise_sigma = conf->k_diffusion ? run->levels.sigmas[0] : 1;
	return 0;
}

int dpm_steps(struct dpm_run *run, int (*step)(void *run, size_t i))
{
	return draft_steps(run->levels.first, run->levels.count, step, run);
}

struct point dpm_point(const struct dpm_run *run, size_t i)
{
	return point_at(run->conf, run->levels.sigmas[i]);
}

/* Of a flow on other levels the reference divides what is left by the level, not by the part of noise. */
static double rest_scale(const struct solver_conf *conf, const struct point *point)
{
	return conf->prediction_type == PREDICTION_FLOW && !conf->use_flow_sigmas ? point->alpha
										  : 1;
}

int dpm_row(struct dpm_run *run, size_t i, struct strata_solver_row **ret_row,
	    struct strata_solver_sum *ret_predicted)
{
	struct point point = dpm_point(run, i);
	struct strata_solver_sum predicted = { 0 };
	int rc = strata_solver_draft_row(run->draft, ret_row, run->err);

	if (rc)
		return rc;
	struct strata_solver_row *row = *ret_row;

	row->timestep = run->levels.timesteps[i];
	row->step = (uint32_t)(i - run->levels.first);
	prediction_fill(run->conf, point.alpha, point.sigma, row);
	if (run->conf->k_diffusion)
		row->input_scale = 1 / hypot(point.sigma, 1);
	if (!run->predict_noise)
		predicted.b = 1;
	else if (run->conf->thresholding || run->by_rest)
		prediction_add_rest(row, rest_scale(run->conf, &point), &predicted);
	else
		prediction_add_noise(run->conf, row, 1, &predicted);
	*ret_predicted = predicted;
	return 0;
}

/* Along the SDE the step h counts (1 + eta) times; without noise this is the ODE. */
static struct dpm_terms terms_pp(double eta, const struct point *from, const struct point *to)
{
	double h = to->lambda - from->lambda, both = (1 + eta) * h, fading = -expm1(-both);
	double quadratic = both != 0 ? (fading - both) / (both * both) : -0.5;
	bool stochastic = eta > 0;

	return (struct dpm_terms){
		.x = to->sigma / from->sigma * (stochastic ? exp(-eta * h) : 1),
		.d0 = to->alpha * fading,
		.d1_midpoint = 0.5 * to->alpha * fading,
		.d1_heun = both != 0 ? to->alpha * (1 - fading / both) : 0,
		/* the SDE's last term has the other sign in the reference */
		.d2 = to->alpha * (quadratic + (stochastic ? -0.5 : 0.5)),
		.noise = stochastic ? to->sigma * sqrt(-expm1(-2 * eta * h)) : 0,
	};
}

/* σ'·(e^h − 1) is written so that it is finite where σ' is 0. */
static struct dpm_terms terms_noise(bool stochastic, const struct point *from,
				    const struct point *to)
{
	double h = to->lambda - from->lambda, twice = stochastic ? 2 : 1;
	double growing = from->sigma * to->alpha / from->alpha - to->sigma;
	double h_left = to->sigma * h;

	if (to->sigma == 0)
		h = 1, h_left = 0; /* only d0 counts: such a step is of first order */
	return (struct dpm_terms){
		.x = to->alpha / from->alpha,
		.d0 = -twice * growing,
		.d1_midpoint = -0.5 * twice * growing,
		.d1_heun = -twice * (growing / h - to->sigma),
		.d2 = -twice * ((growing - h_left) / (h * h) - 0.5 * to->sigma),
		.noise = stochastic ? sqrt(fmax(growing * (growing + 2 * to->sigma), 0)) : 0,
	};
}

struct dpm_terms dpm_terms(enum dpm_algorithm algorithm, double eta, const struct point *from,
			   const struct point *to)
{
	switch (algorithm) {
	case DPM_SOLVER:
		return terms_noise(false, from, to);
	case DPM_SDE:
		return terms_noise(true, from, to);
	case DPM_SDE_PP:
		return terms_pp(eta, from, to);
	case DPM_SOLVER_PP:
	case DPM_DEIS:
		break;
	}
	return terms_pp(0, from, to);
}

bool dpm_is_stochastic(const struct dpm_conf *conf)
{
	return conf->algorithm_type == DPM_SDE || conf->algorithm_type == DPM_SDE_PP;
}

bool dpm_predicts_noise(const struct dpm_conf *conf)
{
	return conf->algorithm_type == DPM_SOLVER || conf->algorithm_type == DPM_SDE;
}

int dpm_check_end(const struct dpm_conf *conf, struct strata_error *err)
{
	if ((dpm_predicts_noise(conf) || conf->algorithm_type == DPM_DEIS) &&
	    conf->common.final_sigmas_type == FINAL_ZERO && !conf->common.k_diffusion)
		return strata_fail_at(err, -EINVAL, "final_sigmas_type",
				      "steps of the noise do not end at no noise; expected "
				      "final_sigmas_type = sigma_min, or algorithm_type = "
				      "dpmsolver++");
	return 0;
}
