/* smoothstep: timesteps along a curve that is flat at both ends, so that steps crowd there. */
#include "solver/schedule.h"

static int smoothstep_fill(const void *conf, const struct strata_schedule_range *range,
			   size_t count, double *ret_sigmas, struct strata_error *err)
{
	double top = schedule_timestep(range, range->sigma_max);

	(void)conf;
	(void)err;
	for (size_t i = 0; i < count; i++) {
		double part = 1 - (double)i / (double)count;

		ret_sigmas[i] = schedule_sigma(range, top * part * part * (3 - 2 * part));
	}
	return 0;
}

const struct strata_schedule_class strata_schedule_smoothstep = {
	.base = {
		.name = "smoothstep",
		.summary = "timesteps that crowd at both ends",
	},
	.fill = smoothstep_fill,
};
