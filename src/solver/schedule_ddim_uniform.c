/* ddim_uniform: whole strides from timestep 1 up, as the first DDIM samplers had it. */
#include "solver/schedule.h"

#include <errno.h>

static int ddim_uniform_fill(const void *conf, const struct strata_schedule_range *range,
			     size_t count, double *ret_sigmas, struct strata_error *err)
{
	size_t stride = range->train_count / count;

	(void)conf;
	if (stride == 0 || (count - 1) * stride + 1 >= range->train_count)
		return strata_fail_at(err, -EINVAL, "steps",
				      "%zu steps do not fit in %zu timesteps from timestep 1 on; "
				      "expected fewer, or the schedule normal",
				      count, range->train_count);
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] = range->train_sigmas[1 + (count - 1 - i) * stride];
	return 0;
}

const struct strata_schedule_class strata_schedule_ddim_uniform = {
	.base = {
		.name = "ddim_uniform",
		.aliases = "DDIM Uniform, DDIM",
		.summary = "whole strides from timestep 1 up",
	},
	.fill = ddim_uniform_fill,
};
