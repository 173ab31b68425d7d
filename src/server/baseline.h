/*
 * Has a figure changed? A figure is one number a day (the median wait, say). What is usual is the
 * median of the days before, how far days usually stray from it their median absolute deviation,
 * both of logarithms: figures of a scheduler grow and shrink by factors. A day is out when it is
 * further from the usual than `deviation` such strays and than a factor of `ratio`; the figure has
 * changed when `out_days` of the last `of_days` days are out to the same side. From then on the
 * usual stays what it was before, until as many days are back, or until the change has lasted for a
 * whole window: then it is the usual.
 *
 * Pure: all of it follows from the days, which are what is kept. Days without a value are not there
 * and are not counted.
 */
#ifndef SERVER_BASELINE_H
#define SERVER_BASELINE_H

#include <stddef.h>
#include <stdint.h>

/* So many days are looked at: three windows and a half. */
enum { BASELINE_DAYS_MAX = 100, BASELINE_WINDOW_MAX = 28 };

struct baseline_conf {
	int64_t warm_up_days; /* of a usual; before that nothing is told */
	int64_t window_days;  /* the usual is that of so many days, at most */
	int64_t out_days, of_days;
	double deviation, ratio;
};

struct baseline_day {
	int64_t day; /* since 1970, ascending */
	double value;
};

enum baseline_state {
	BASELINE_WARMING_UP, /* too few days */
	BASELINE_STEADY,
	BASELINE_HIGHER,
	BASELINE_LOWER,
};

struct baseline_verdict {
	enum baseline_state state;
	int64_t since_day; /* higher or lower: the first day that was */
	double usual;      /* the median of the days before; 0: warming up */
	double now;        /* that of the last of_days days */
	size_t days;       /* that the usual is made of */
};

/* days: at most BASELINE_DAYS_MAX of them count, the latest. floor: differences of this size are
 * nothing (half a minute of waiting); added to every value before its logarithm is taken, > 0. */
void baseline_judge(const struct baseline_day *days, size_t count, const struct baseline_conf *conf,
		    double floor, struct baseline_verdict *ret_verdict);

#endif
