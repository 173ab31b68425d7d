/* linear_quadratic: a slow straight start over half of the steps, then a parabola down to 0 (Mochi, LTX-Video). */
#include "solver/schedule.h"

struct linear_quadratic_conf {
	double threshold_noise;
};

static const struct strata_option linear_quadratic_options[] = {
	{ "threshold_noise", STRATA_REAL, offsetof(struct linear_quadratic_conf, threshold_noise),
	  .real = { 0.025, 1e-4, 0.4 }, .help = "how far the straight start goes" },
	{ 0 }
};

static int linear_quadratic_fill(const void *conf_any, const struct strata_schedule_range *range,
				 size_t count, double *ret_sigmas, struct strata_error *err)
{
	const struct linear_quadratic_conf *conf = conf_any;
	size_t straight = count / 2;
	double lines = (double)straight, curve = (double)(count - straight);
	double slope = straight ? conf->threshold_noise / lines : 0;
	double rest = lines - conf->threshold_noise * (double)count;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		double at = (double)i, gone = slope * at;

		if (straight &&
		    i >= straight) /* the line goes on, and the parabola makes up the rest */
			gone += rest / (lines * curve * curve) * (at - lines) * (at - lines);
		ret_sigmas[i] = range->sigma_max * (1 - gone);
	}
	return 0;
}

const struct strata_schedule_class strata_schedule_linear_quadratic = {
	.base = {
		.name = "linear_quadratic",
		.aliases = "Linear Quadratic",
		.summary = "a slow straight start, then a parabola down",
		.conf_size = sizeof(struct linear_quadratic_conf),
		.options = linear_quadratic_options,
	},
	.fill = linear_quadratic_fill,
};
