/* Thinning a curve: see svg_sample.h. */
#include "plot/svg_sample.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Appends the points of one stretch that matter. */
static size_t keep_four(const double *x, const double *y, size_t from, size_t to, double *ret_x,
			double *ret_y)
{
	size_t kept[4] = { from, from, from, to - 1 }, count = 0;

	for (size_t i = from; i < to; i++) {
		if (isnan(y[i]) ? !isnan(y[kept[1]]) : y[i] < y[kept[1]])
			kept[1] = i;
		if (y[i] > y[kept[2]] || isnan(y[kept[2]]))
			kept[2] = i;
	}
	if (kept[1] > kept[2]) {
		size_t lowest = kept[1];

		kept[1] = kept[2];
		kept[2] = lowest;
	}
	for (size_t i = 0; i < 4; i++)
		if (i == 0 || kept[i] != kept[i - 1]) {
			ret_x[count] = x[kept[i]];
			ret_y[count++] = y[kept[i]];
		}
	return count;
}

size_t svg_sample(const double *x, const double *y, size_t count, size_t limit, double *ret_x,
		  double *ret_y)
{
	size_t stretches = limit / 4, used = 0, from = 0;

	assert(limit >= 4 && limit % 4 == 0);
	if (count <= limit) {
		if (count) {
			memcpy(ret_x, x, count * sizeof(*x));
			memcpy(ret_y, y, count * sizeof(*y));
		}
		return count;
	}
	double width = (x[count - 1] - x[0]) / (double)stretches;

	for (size_t i = 0; i < stretches; i++) {
		double end = x[0] + width * (double)(i + 1);
		size_t to = from;

		while (to < count && (i + 1 == stretches || x[to] < end))
			to++;
		if (to > from)
			used += keep_four(x, y, from, to, ret_x + used, ret_y + used);
		from = to;
	}
	return used;
}
