/*
 * From betas to alphas_cumprod, with torch's roundings: 1 − beta is a float32, the running product is kept in double
 * and each of its values is rounded to float32.
 */
#include "solver/betas.h"

#include <errno.h>
#include <math.h>

/* torch.linspace in float32: from the nearer end, with one rounding for product and sum. */
static float linspace(double start, double end, size_t count, size_t i)
{
	float first = (float)start, last = (float)end;
	float step = count > 1 ? (last - first) / (float)(count - 1) : 0;

	return i < count / 2 ? fmaf(step, (float)i, first)
			     : fmaf(-step, (float)(count - i - 1), last);
}

/* How much of the signal is left at a part t of the training, where the betas follow from it. */
static double signal_left(int schedule, double t)
{
	double c = cos((t + 0.008) / 1.008 * M_PI / 2);

	if (schedule == BETAS_EXP)
		return exp(-12 * t);
	if (schedule == BETAS_LAPLACE) {
		double snr = exp(-0.5 * copysign(1, 0.5 - t) * log(1 - 2 * fabs(0.5 - t) + 1e-6));

		return sqrt(snr / (1 + snr));
	}
	return c * c;
}

static float beta_of_signal(int schedule, size_t count, size_t i)
{
	double from = signal_left(schedule, (double)i / (double)count);
	double to = signal_left(schedule, (double)(i + 1) / (double)count);

	return (float)fmin(1 - to / from, 0.999);
}

static float beta_at(const struct solver_conf *conf, size_t count, size_t i)
{
	if (conf->trained_betas.count)
		return (float)((const double *)conf->trained_betas.items)[i];
	switch ((enum beta_schedule)conf->beta_schedule) {
	case BETAS_LINEAR:
		break;
	case BETAS_SCALED_LINEAR: {
		float root = linspace(sqrt(conf->beta_start), sqrt(conf->beta_end), count, i);

		return root * root;
	}
	case BETAS_SQUAREDCOS_CAP_V2:
	case BETAS_LAPLACE:
	case BETAS_EXP:
		return beta_of_signal(conf->beta_schedule, count, i);
	case BETAS_SIGMOID: {
		float at = linspace(-6, 6, count, i);

		return (float)(1 / (1 + exp(-(double)at))) *
			       (float)(conf->beta_end - conf->beta_start) +
		       (float)conf->beta_start;
	}
	}
	return linspace(conf->beta_start, conf->beta_end, count, i);
}

/* "Common diffusion noise schedules are flawed", algorithm 1: the square roots are shifted so that the last is 0 and
 * scaled so that the first stays. torch goes back to betas and multiplies again, so this does too. */
static void rescale_zero_snr(double *product, size_t count)
{
	float first = sqrtf((float)product[0]), last = sqrtf((float)product[count - 1]);
	float before = 1;
	double running = 1;

	for (size_t i = 0; i < count; i++) {
		float root = (sqrtf((float)product[i]) - last) * (first / (first - last));
		float bar = root * root;
		float alpha = i ? bar / before : bar;
		float beta = 1 - alpha;

		before = bar;
		running *= (double)(1 - beta);
		product[i] = (float)running;
	}
}

int betas_alphas(const struct solver_conf *conf, struct strata_arena *arena,
		 struct alphas *ret_alphas, struct strata_error *err)
{
	size_t count = conf->trained_betas.count ? conf->trained_betas.count
						 : (size_t)conf->num_train_timesteps;
	double *product = strata_arena_array(arena, count, sizeof(*product));
	double running = 1;

	if (!product)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		running *= (double)(1 - beta_at(conf, count, i));
		product[i] = (float)running;
		if (product[i] < 1e-30)
			return strata_fail_at(err, -EINVAL, "beta_end",
					      "these betas leave nothing of the signal at timestep "
					      "%zu of %zu; expected smaller ones",
					      i, count);
	}
	if (conf->rescale_betas_zero_snr) {
		if (product[0] <= product[count - 1])
			return strata_fail_at(
				err, -EINVAL, "rescale_betas_zero_snr",
				"these betas add no noise, so there is nothing to rescale; "
				"expected rescale_betas_zero_snr = false");
		rescale_zero_snr(product, count);
	}
	*ret_alphas = (struct alphas){ product, count };
	return 0;
}
