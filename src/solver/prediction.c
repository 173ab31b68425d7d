/* The four kinds of prediction. The velocity is defined on a sample of variance 1, so x is brought to that first; along a
 * flow the reference leaves that out. */
#include "solver/prediction.h"

#include <errno.h>
#include <math.h>

static double norm_of(const struct solver_conf *conf, double alpha, double sigma)
{
	return conf->use_flow_sigmas ? 1 : hypot(alpha, sigma);
}

void prediction_limit(const struct solver_conf *conf, struct strata_solver_row *row)
{
	if (conf->thresholding) {
		row->flags |= STRATA_ROW_THRESHOLD;
		row->limit = conf->sample_max_value;
		row->threshold_ratio = conf->dynamic_thresholding_ratio;
	} else if (conf->clip_sample) {
		row->flags |= STRATA_ROW_CLIP;
		row->limit = conf->clip_sample_range;
	}
}

void prediction_fill(const struct solver_conf *conf, double alpha, double sigma,
		     struct strata_solver_row *row)
{
	double norm = norm_of(conf, alpha, sigma);

	row->alpha = alpha;
	row->sigma = sigma;
	switch ((enum prediction_type)conf->prediction_type) {
	case PREDICTION_EPSILON:
		row->p = 1 / alpha;
		row->q = -sigma / alpha;
		break;
	case PREDICTION_V:
		row->p = alpha / (norm * norm);
		row->q = -sigma / norm;
		break;
	case PREDICTION_SAMPLE:
		row->p = 0;
		row->q = 1;
		break;
	case PREDICTION_FLOW: /* by the noise level itself, on whatever levels they are */
		row->p = 1;
		row->q = conf->use_flow_sigmas ? -sigma : -sigma / alpha;
		break;
	}
	prediction_limit(conf, row);
}

void prediction_add_noise(const struct solver_conf *conf, const struct strata_solver_row *row,
			  double scale, struct strata_solver_sum *sum)
{
	double norm = norm_of(conf, row->alpha, row->sigma);

	switch ((enum prediction_type)conf->prediction_type) {
	case PREDICTION_EPSILON:
		sum->e += scale;
		break;
	case PREDICTION_V:
		sum->a += scale * row->sigma / (norm * norm);
		sum->e += scale * row->alpha / norm;
		break;
	case PREDICTION_SAMPLE:
		sum->a += scale / row->sigma;
		sum->e -= scale * row->alpha / row->sigma;
		break;
	case PREDICTION_FLOW:
		sum->a += scale;
		sum->e += scale * (1 - row->sigma);
		break;
	}
}

int prediction_check_noise(const struct solver_conf *conf, struct strata_error *err)
{
	if (conf->prediction_type == PREDICTION_SAMPLE && !conf->k_diffusion)
		return strata_fail_at(err, -EINVAL, "prediction_type",
				      "this solver is not defined for a model that predicts the "
				      "clean sample; expected epsilon or v_prediction");
	return 0;
}

void prediction_add_rest(const struct strata_solver_row *row, double scale,
			 struct strata_solver_sum *sum)
{
	sum->a += scale / row->sigma;
	sum->b -= scale * row->alpha / row->sigma;
}
