/* Axes of a plot: which range is shown, where its ticks are, what they are called, and where a value
 * lies on it. Part of svg.c. */
#ifndef PLOT_SVG_AXIS_H
#define PLOT_SVG_AXIS_H

#include "plot/svg.h"

enum { SVG_TICKS_MAX = 32, SVG_TICK_BYTES = 24 };

struct svg_ruler {
	enum svg_scale scale;
	double min, max;  /* of the values; min < max, for SVG_LOG both positive */
	const char *unit; /* of SVG_TIME: "s", "min", "h", "days"; else NULL */
	size_t tick_count;
	double ticks[SVG_TICKS_MAX]; /* values, ascending, within min and max */
	char labels[SVG_TICKS_MAX][SVG_TICK_BYTES];
};

/* A ruler over values low to high, with about `ticks` ticks. What the axis says of min and max goes
 * before. `whole`: min and max become ticks as well, which suits the axis that bars or curves stand
 * on. low > high: there are no values. */
void svg_ruler_init(struct svg_ruler *ruler, const struct svg_axis *axis, double low, double high,
		    size_t ticks, bool whole);

/* Where a value lies: 0 at min, 1 at max, and no further. */
double svg_ruler_at(const struct svg_ruler *ruler, double value);

/* A number as people read it, three or four digits: "0.25", "1,200", "35.5k", "2M". The unit is the
 * one that suits the largest of the numbers it stands among. */
void svg_number(double value, double largest, char ret_text[SVG_TICK_BYTES]);

#endif
