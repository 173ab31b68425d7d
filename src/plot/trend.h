/* Where a series of days is heading: the median of the slopes between all pairs of days (Theil and
 * Sen), which a few odd days do not turn. Pure. */
#ifndef PLOT_TREND_H
#define PLOT_TREND_H

#include <stddef.h>

enum { TREND_DAYS_MAX = 366, TREND_DAYS_MIN = 4 };

struct trend {
	double slope, at_zero; /* value = at_zero + slope × day */
	double below, above;   /* four in five days lay between these, from that line */
	size_t days;           /* it is made of; 0: too few */
};

/* values[i] of day i, of the latest TREND_DAYS_MAX. scratch: for count × (count + 1) / 2
 * numbers. */
struct trend trend_of(const double *values, size_t count, double *scratch);
double trend_at(const struct trend *trend, double day);

#endif
