/*
 * beta: levels at the quantiles of a beta distribution, so that steps crowd at both ends ("Beta Sampling is All You Need",
 * 2024). Quantiles are found by bisection of the regularised incomplete beta function, which is a continued fraction.
 */
#include "solver/schedule.h"

#include <math.h>

struct beta_conf {
	double alpha, beta;
};

static const struct strata_option beta_options[] = {
	{ "alpha", STRATA_REAL, offsetof(struct beta_conf, alpha), .real = { 0.6, 0.01, 100 },
	  .help = "how much they crowd where there is little noise" },
	{ "beta", STRATA_REAL, offsetof(struct beta_conf, beta), .real = { 0.6, 0.01, 100 },
	  .help = "how much they crowd where there is much" },
	{ 0 }
};

/* One factor of Lentz's method, kept away from 0. */
static double away_from_zero(double x)
{
	return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* The continued fraction of the incomplete beta function; converges fast for x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
	double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;

	for (int m = 1; m <= 300; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / away_from_zero(1 + even * d);
		c = away_from_zero(1 + even / c);
		value *= d * c;
		d = 1 / away_from_zero(1 + odd * d);
		c = away_from_zero(1 + odd / c);
		value *= d * c;
		if (fabs(d * c - 1) < 1e-16)
			break;
	}
	return value;
}

/* The part of the distribution below x. */
static double below(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x > 0;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a
					 : 1 - front * fraction(b, a, 1 - x) / b;
}

static double quantile(double a, double b, double part)
{
	double low = 0, high = 1;

	if (part <= 0 || part >= 1)
		return part > 0;
	for (int i = 0; i < 200 && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (below(a, b, middle) < part)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

static int beta_fill(const void *conf_any, const struct strata_schedule_range *range, size_t count,
		     double *ret_sigmas, struct strata_error *err)
{
	const struct beta_conf *conf = conf_any;
	double width = range->sigma_max - range->sigma_min;

	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] = range->sigma_min + width * quantile(conf->alpha, conf->beta,
								    1 - schedule_ramp(count, i));
	return 0;
}

const struct strata_schedule_class strata_schedule_beta = {
	.base = {
		.name = "beta",
		.aliases = "Beta",
		.summary = "steps crowd at both ends",
		.conf_size = sizeof(struct beta_conf),
		.options = beta_options,
	},
	.fill = beta_fill,
};
