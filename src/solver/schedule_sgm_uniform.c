/* sgm_uniform: even steps in the timestep that stop one short of the first, as Stability's samplers do. */
#include "solver/schedule.h"

static int sgm_uniform_fill(const void *conf, const struct strata_schedule_range *range,
			    size_t count, double *ret_sigmas, struct strata_error *err)
{
	double top = schedule_timestep(range, range->sigma_max);
	double bottom = schedule_timestep(range, range->sigma_min);

	(void)conf;
	(void)err;
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] =
			schedule_sigma(range, top + schedule_ramp(count + 1, i) * (bottom - top));
	return 0;
}

const struct strata_schedule_class strata_schedule_sgm_uniform = {
	.base = {
		.name = "sgm_uniform",
		.aliases = "SGM Uniform",
		.summary = "even steps in the timestep that stop one short of the first",
	},
	.fill = sgm_uniform_fill,
};
