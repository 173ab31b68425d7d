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

/* The logarithm of a training's sigma, a float in the reference: where a timestep is cut off after the point, which of two
 * whole ones it is may hang on that rounding. */
static double train_log(const struct strata_schedule_range *range, size_t t)
{
	return (float)log(range->train_sigmas[t]);
}

double schedule_timestep(const struct strata_schedule_range *range, double sigma)
{
	size_t low = 0, high = range->train_count - 1;
	double wanted = log(fmax(sigma, 1e-10));

	if (range->train_count < 2)
		return 0;
	/* the last timestep whose sigma is not above; a training's very last may be below the one before (zero SNR) */
	if (train_log(range, high) <= wanted)
		low = high - 1;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (train_log(range, middle) <= wanted)
			low = middle;
		else
			high = middle;
	}
	double from = train_log(range, low), to = train_log(range, high);
	double part = to != from ? (from - wanted) / (double)(float)(from - to) : 0;

	part = fmin(fmax(part, 0), 1);
	return (1 - part) * (double)low + part * (double)high;
}

double schedule_below(double timestep)
{
	return floor(timestep + 2e-4);
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

	bool falls = count + more == 1 ||
		     range->sigma_max >= range->sigma_min; /* one is the first */

	if (!(range->sigma_min > 0 && range->sigma_max > 0 && falls))
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
