/* What the schedules share. */
#include "solver/schedule.h"

#include "core/class.h"

#include <errno.h>
#include <math.h>
#include <string.h>

double schedule_ramp(size_t count, size_t i)
{
	return count > 1 ? (double)i / (double)(count - 1) : 0;
}

double schedule_sigma(const struct strata_schedule_range *range, double timestep)
{
	double top = (double)(range->train_count - 1);
	double t = fmin(fmax(timestep, 0), top);
	size_t below = (size_t)t;
	double part = t - (double)below;
	double low = range->train_sigmas[below];

	return part > 0 ? low + part * (range->train_sigmas[below + 1] - low) : low;
}

double schedule_timestep(const struct strata_schedule_range *range, double sigma)
{
	size_t low = 0, high = range->train_count - 1;
	double wanted = log(fmax(sigma, 1e-10));

	if (range->train_count < 2)
		return 0;
	while (high - low > 1) { /* the last timestep whose sigma is not above */
		size_t middle = low + (high - low) / 2;

		if (log(range->train_sigmas[middle]) <= wanted)
			low = middle;
		else
			high = middle;
	}
	double from = log(range->train_sigmas[low]), to = log(range->train_sigmas[high]);
	double part = to > from ? (wanted - from) / (to - from) : 0;

	return (double)low + fmin(fmax(part, 0), 1);
}

void schedule_interpolate(const double *published, size_t published_count, size_t count,
			  double *ret_sigmas)
{
	for (size_t i = 0; i < count; i++) {
		double at = (double)i / (double)count * (double)(published_count - 1);
		size_t below = (size_t)at;
		double part = at - (double)below;
		double from = log(published[below]), to = log(published[below + 1]);

		ret_sigmas[i] = part > 0 ? exp(from + part * (to - from)) : published[below];
	}
}

int schedule_fill(const struct strata_schedule_class *cls,
		  const struct strata_solver_request *request,
		  const struct strata_schedule_range *range, size_t count,
		  struct strata_arena *arena, double *ret_sigmas, struct strata_error *err)
{
	const struct strata_spec *spec = request ? request->schedule : NULL;
	struct strata_schema schema = class_schema(&cls->base);
	void *conf = spec ? spec->conf : NULL;
	size_t more = spec && request->drop_penultimate ? 1 : 0;
	double *sigmas = more ? strata_arena_array(arena, count + 1, sizeof(double)) : ret_sigmas;
	int rc = sigmas ? 0 : strata_fail_memory(err);

	if (!(range->sigma_min > 0) || !(range->sigma_max >= range->sigma_min))
		return strata_fail_at(err, -EINVAL, "schedule",
				      "a schedule from sigma %g to %g cannot be made; expected "
				      "falling sigmas above 0",
				      range->sigma_max, range->sigma_min);
	if (rc == 0 && !spec && schema.conf_size) {
		conf = strata_arena_get(arena, schema.conf_size);
		rc = conf ? strata_schema_defaults(&schema, arena, conf, err)
			  : strata_fail_memory(err);
	}
	if (rc == 0)
		rc = cls->fill(conf, range, count + more, sigmas, err);
	if (rc == 0 && more)
		memcpy(ret_sigmas, sigmas, count * sizeof(double));
	return rc;
}
