/* normal: even steps in the timestep, from the training's last to its first; fractions are interpolated. */
#include "solver/schedule.h"

static int normal_fill(const void *conf, const struct strata_schedule_range *range, size_t count,
		       double *ret_sigmas, struct strata_error *err)
{
	double top = schedule_timestep(range, range->sigma_max);
	double bottom = schedule_timestep(range, range->sigma_min);

	(void)conf;
	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] =
			schedule_sigma(range, top + schedule_ramp(count, i) * (bottom - top));
	return 0;
}

const struct strata_schedule_class strata_schedule_normal = {
	.base = {
		.name = "normal",
		.aliases = "Normal, Uniform, discrete",
		.summary = "even steps in the timestep, first to last",
	},
	.fill = normal_fill,
};
