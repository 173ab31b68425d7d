/* kl_optimal: even steps in the arc tangent of sigma, which makes the KL divergence of Gaussian data least. */
#include "solver/schedule.h"

#include <math.h>

static int kl_optimal_fill(const void *conf, const struct strata_schedule_range *range,
			   size_t count, double *ret_sigmas, struct strata_error *err)
{
	double high = atan(range->sigma_max), low = atan(range->sigma_min);

	(void)conf;
	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] = tan(high + schedule_ramp(count, i) * (low - high));
	return 0;
}

const struct strata_schedule_class strata_schedule_kl_optimal = {
	.base = {
		.name = "kl_optimal",
		.aliases = "KL Optimal",
		.summary = "even steps in the arc tangent of sigma",
	},
	.fill = kl_optimal_fill,
};
