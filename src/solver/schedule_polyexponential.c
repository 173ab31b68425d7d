/* polyexponential: the exponential schedule with its ramp raised to a power. */
#include "solver/schedule.h"

#include <math.h>

struct polyexponential_conf {
	double rho;
};

static const struct strata_option polyexponential_options[] = {
	{ "rho", STRATA_REAL, offsetof(struct polyexponential_conf, rho), .real = { 1, 0.01, 100 },
	  .help = "the power (1: exponential)" },
	{ 0 }
};

static int polyexponential_fill(const void *conf_any, const struct strata_schedule_range *range,
				size_t count, double *ret_sigmas, struct strata_error *err)
{
	const struct polyexponential_conf *conf = conf_any;
	double high = log(range->sigma_max), low = log(range->sigma_min);

	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] =
			exp(pow(1 - schedule_ramp(count, i), conf->rho) * (high - low) + low);
	return 0;
}

const struct strata_schedule_class strata_schedule_polyexponential = {
	.base = {
		.name = "polyexponential",
		.aliases = "Polyexponential",
		.summary = "the exponential schedule with a power of its ramp",
		.conf_size = sizeof(struct polyexponential_conf),
		.options = polyexponential_options,
	},
	.fill = polyexponential_fill,
};
