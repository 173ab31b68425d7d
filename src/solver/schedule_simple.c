/* simple: every so-many-th sigma of the training, counted from its last timestep. */
#include "solver/schedule.h"

#include <errno.h>

static int simple_fill(const void *conf, const struct strata_schedule_range *range, size_t count,
		       double *ret_sigmas, struct strata_error *err)
{
	(void)conf;
	if (count > range->train_count)
		return strata_fail_at(err, -EINVAL, "steps",
				      "%zu steps are more than the training's %zu timesteps; "
				      "expected fewer, or the schedule normal",
				      count, range->train_count);
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] = range->train_sigmas[range->train_count - 1 -
						    i * range->train_count / count];
	return 0;
}

const struct strata_schedule_class strata_schedule_simple = {
	.base = {
		.name = "simple",
		.aliases = "Simple",
		.summary = "every so-many-th timestep, from the last",
	},
	.fill = simple_fill,
};
