/* The line through days: see trend.h. */
#include "plot/trend.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *sorted, size_t count, double part)
{
	double at = part * (double)(count - 1);
	size_t low = (size_t)at;
	double rest = at - (double)low;

	return low + 1 < count ? sorted[low] * (1 - rest) + sorted[low + 1] * rest : sorted[low];
}

double trend_at(const struct trend *trend, double day)
{
	return trend->at_zero + trend->slope * day;
}

struct trend trend_of(const double *values, size_t count, double *scratch)
{
	struct trend trend = { .days = count };
	size_t pairs = 0;

	if (count < TREND_DAYS_MIN)
		return (struct trend){ 0 };
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			scratch[pairs++] = (values[k] - values[i]) / (double)(k - i);
	qsort(scratch, pairs, sizeof(*scratch), by_size);
	trend.slope = quantile(scratch, pairs, 0.5);
	for (size_t i = 0; i < count; i++)
		scratch[i] = values[i] - trend.slope * (double)i;
	qsort(scratch, count, sizeof(*scratch), by_size);
	trend.at_zero = quantile(scratch, count, 0.5);
	trend.below = quantile(scratch, count, 0.1) - trend.at_zero;
	trend.above = quantile(scratch, count, 0.9) - trend.at_zero;
	return trend;
}
