/* karras: even steps in the seventh root of sigma, so that most steps are spent near the end (Karras et al. 2022). */
#include "solver/schedule.h"

#include <math.h>

struct karras_conf {
	double rho;
};

static const struct strata_option karras_options[] = {
	{ "rho", STRATA_REAL, offsetof(struct karras_conf, rho), .real = { 7, 0.1, 100 },
	  .help = "which root" },
	{ 0 }
};

static int karras_fill(const void *conf_any, const struct strata_schedule_range *range,
		       size_t count, double *ret_sigmas, struct strata_error *err)
{
	const struct karras_conf *conf = conf_any;
	double high = pow(range->sigma_max, 1 / conf->rho);
	double low = pow(range->sigma_min, 1 / conf->rho);

	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] = pow(high + schedule_ramp(count, i) * (low - high), conf->rho);
	return 0;
}

const struct strata_schedule_class strata_schedule_karras = {
	.base = {
		.name = "karras",
		.aliases = "Karras, ka",
		.summary = "most steps where there is little noise",
		.conf_size = sizeof(struct karras_conf),
		.options = karras_options,
	},
	.fill = karras_fill,
};
