/* Fewer points with the same look. Part of svg.c. */
#ifndef PLOT_SVG_SAMPLE_H
#define PLOT_SVG_SAMPLE_H

#include <stddef.h>

/*
 * Copies a curve with x ascending, thinned out to at most `limit` points (a multiple of 4, 4 at
 * least) when it has more: x is cut into limit / 4 equal stretches, and of each the first, lowest,
 * highest and last point stay, in their order. NAN counts as lower than everything, so gaps stay.
 * Returns how many points there are.
 */
size_t svg_sample(const double *x, const double *y, size_t count, size_t limit, double *ret_x,
		  double *ret_y);

#endif
