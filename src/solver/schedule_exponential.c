/* exponential: even steps in the logarithm of sigma. Lu's lambdas are the same. */
#include "solver/schedule.h"

#include <math.h>

static int exponential_fill(const void *conf, const struct strata_schedule_range *range,
			    size_t count, double *ret_sigmas, struct strata_error *err)
{
	double high = log(range->sigma_max), low = log(range->sigma_min);

	(void)conf;
	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] = exp(high + schedule_ramp(count, i) * (low - high));
	return 0;
}

const struct strata_schedule_class strata_schedule_exponential = {
	.base = {
		.name = "exponential",
		.aliases = "Exponential, lu",
		.summary = "even steps in log sigma",
	},
	.fill = exponential_fill,
};
