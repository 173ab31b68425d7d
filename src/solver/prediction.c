/* The four kinds of prediction. The velocity is defined on a sample of variance 1, so x is brought to that first. */
#include "solver/prediction.h"

#include <math.h>

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
	double norm = hypot(alpha, sigma);

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
	case PREDICTION_FLOW:
		row->p = 1;
		row->q = -sigma;
		break;
	}
	prediction_limit(conf, row);
}

void prediction_add_noise(const struct solver_conf *conf, const struct strata_solver_row *row,
			  double scale, struct strata_solver_sum *sum)
{
	double norm = hypot(row->alpha, row->sigma);

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

void prediction_add_rest(const struct strata_solver_row *row, double scale,
			 struct strata_solver_sum *sum)
{
	sum->a += scale / row->sigma;
	sum->b -= scale * row->alpha / row->sigma;
}
