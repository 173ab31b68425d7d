/*
 * Plots as SVG: line and step charts, grouped bars, one under the other on a page. Plain arrays in,
 * text out; the same input gives the same bytes. The page follows the viewer's light or dark mode.
 *
 *	struct svg_series load[] = { { "easy", x, y, count }, … };
 *	struct svg_lines lines = { .title = "Utilisation", .x = { "time", SVG_TIME },
 *				   .y = { "busy [%]" }, .series = load, .series_count = 2 };
 *	rc = svg_add_page(&buf, (struct svg_panel[]){ { .lines = &lines } }, 1, arena, err);
 *
 * Colours are told apart by people who see them differently (after Okabe and Ito); from the eighth
 * series on they come back dashed.
 */
#ifndef PLOT_SVG_H
#define PLOT_SVG_H

#include "core/buf.h"

enum {
	SVG_POINTS_MAX =
		2000, /* drawn of one series; lowest and highest of each stretch are kept */
	SVG_PANELS_MAX = 16,
};

enum svg_scale {
	SVG_LINEAR,
	SVG_LOG,  /* values of 0 and less lie on the axis */
	SVG_TIME, /* values in seconds, shown in s, min, h or days as they span */
};

struct svg_axis {
	const char *label; /* with its unit, but for SVG_TIME; may be NULL */
	enum svg_scale scale;
	double min, max; /* both 0: from the values, from 0 on where none is below */
};

/* A curve; x ascending, y perhaps NAN where there is a gap. */
struct svg_series {
	const char *name;
	const double *x, *y;
	size_t count;
};

struct svg_lines {
	const char *title, *subtitle; /* may be NULL */
	struct svg_axis x, y;
	const struct svg_series *series;
	size_t series_count;
	bool steps; /* y[i] holds until x[i + 1] */
};

/* group_count bundles of series_count bars each. */
struct svg_bars {
	const char *title, *subtitle; /* may be NULL */
	struct svg_axis y;
	const char *const *groups;
	size_t group_count;
	const char *const *series;
	size_t series_count;
	const double *values; /* [group][series]; NAN: no bar */
};

/* One of the two. */
struct svg_panel {
	const struct svg_lines *lines;
	const struct svg_bars *bars;
};

/* Appends a whole SVG document. A legend that repeats that of the panel above is left out. The arena
 * is for scratch. -EINVAL when there is no panel, or more than SVG_PANELS_MAX. */
int svg_add_page(struct buf *buf, const struct svg_panel *panels, size_t panel_count,
		 struct strata_arena *arena, struct strata_error *err);

#endif
