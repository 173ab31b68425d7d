/*
 * A chart of what happened when: lanes with boxes on them, as on Gantt's charts. Plain arrays in, an SVG document out, in the look of svg.h.
 */
#ifndef PLOT_SVG_LANES_H
#define PLOT_SVG_LANES_H

#include "plot/svg.h"

enum {
	SVG_LANES_MAX = 256,
	SVG_BOXES_MAX = 20000, /* more would be a picture that nobody can load */
};

/* Something on a lane from begin to end of the x axis. */
struct svg_box {
	size_t lane, colour; /* colours come round after seven */
	double begin, end;
	bool pale;        /* in the background: what leads up to others */
	const char *name; /* written on it where there is room, and shown when pointed at */
};

struct svg_lane {
	const char *name;
	bool thick; /* twice as high, and labelled boxes */
};

struct svg_lanes {
	const char *title, *subtitle; /* may be NULL */
	struct svg_axis x;
	const struct svg_lane *lanes;
	size_t lane_count;
	const struct svg_box *boxes;
	size_t box_count;
	const double *marks; /* where vertical lines are, such as beginnings of steps */
	size_t mark_count;
};

/* Appends a whole document. -EINVAL for more lanes or boxes than there may be. */
int svg_add_lanes(struct buf *buf, const struct svg_lanes *chart, struct strata_error *err);

#endif
