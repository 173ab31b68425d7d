/*
 * bong_tangent: two arcs of the arc tangent, one down to the middle of the range and one from there on, so that steps are long at both ends and
 * short about three fifths of the way (RES4LYF; stable-diffusion.cpp).
 */
#include "solver/schedule.h"

#include <math.h>

/* Point i of `count` on an arc from `from` to `to` that is steepest at `pivot`. */
static double arc(double slope, double pivot, size_t count, size_t i, double from, double to)
{
	double first = atan(slope * pivot), last = atan(slope * (pivot - (double)(count - 1)));
	double here = atan(slope * (pivot - (double)i));

	return to + (here - last) / (first - last) * (from - to);
}

/* The arcs have count + 2 points. They share one, and the last is where the step to 0 would start. */
static int bong_tangent_fill(const void *conf, const struct strata_schedule_range *range,
			     size_t count, double *ret_sigmas, struct strata_error *err)
{
	size_t points = count + 2, first = points * 3 / 5, second = points - first;
	double slope = 8 / (double)points, middle = (range->sigma_min + range->sigma_max) / 2;

	(void)conf;
	(void)err;
	if (count == 1) {
		ret_sigmas[0] = range->sigma_max; /* the first arc is but a point */
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		ret_sigmas[i] =
			i + 1 < first
				? arc(slope, (double)first, first, i, range->sigma_max, middle)
				: arc(slope, 0, second, i + 1 - first, middle, range->sigma_min);
	return 0;
}

const struct strata_schedule_class strata_schedule_bong_tangent = {
	.base = {
		.name = "bong_tangent",
		.aliases = "bong_tangent (RES4LYF)",
		.summary = "two arcs of the arc tangent that meet in the middle of the range",
	},
	.fill = bong_tangent_fill,
};
