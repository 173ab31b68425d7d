/* The chart of svg_lanes.h: names of lanes on the left, a ruler of time below, boxes between. */
#include "plot/svg_lanes.h"

#include "plot/svg_axis.h"
#include "plot/svg_mark.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum {
	PAGE_WIDTH = 960,
	MARGIN = 24,
	TITLE_HEIGHT = 26,
	SUBTITLE_HEIGHT = 18,
	TOP_GAP = 14,
	THIN = 13,
	THICK = 30,
	LANE_GAP = 2,
	THICK_GAP = 10,
	NAME_WIDTH_MAX = 200,
	BOTTOM = 46,
	PALETTE = 7,
	TICKS = 8,
};

struct chart {
	const struct svg_lanes *of;
	struct buf *buf;
	struct svg_ruler ruler;
	double left, right, top, bottom;
	double lane_tops[SVG_LANES_MAX];
};

static double x_of(const struct chart *chart, double value)
{
	return chart->left + svg_ruler_at(&chart->ruler, value) * (chart->right - chart->left);
}

static double lane_height(const struct svg_lane *lane)
{
	return lane->thick ? THICK : THIN;
}

static void lay_out(struct chart *chart)
{
	const struct svg_lanes *of = chart->of;
	double widest = 0, low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < of->lane_count; i++)
		widest = fmax(widest, svg_wide(of->lanes[i].name));
	for (size_t i = 0; i < of->box_count; i++) {
		low = fmin(low, of->boxes[i].begin);
		high = fmax(high, of->boxes[i].end);
	}
	svg_ruler_init(&chart->ruler, &of->x, low, high, TICKS, false);
	chart->left = MARGIN + fmin(widest, NAME_WIDTH_MAX) + 10;
	chart->right = PAGE_WIDTH - MARGIN;
	chart->top = MARGIN / 2 + (of->title ? TITLE_HEIGHT : 0) +
		     (of->subtitle ? SUBTITLE_HEIGHT : 0) + TOP_GAP;
	double y = chart->top;

	for (size_t i = 0; i < of->lane_count; i++) {
		chart->lane_tops[i] = y;
		y += lane_height(&of->lanes[i]) + (of->lanes[i].thick ? THICK_GAP : LANE_GAP);
	}
	chart->bottom = y + 4;
}

static void add_titles(const struct chart *chart)
{
	double y = MARGIN / 2.0;

	if (chart->of->title) {
		svg_add_text(chart->buf, "t h", "start", MARGIN, y + 17, chart->of->title);
		y += TITLE_HEIGHT;
	}
	if (chart->of->subtitle)
		svg_add_text(chart->buf, "m", "start", MARGIN, y + 11, chart->of->subtitle);
}

static void add_frame(const struct chart *chart)
{
	const struct svg_lanes *of = chart->of;

	for (size_t i = 0; i < chart->ruler.tick_count; i++) {
		double x = x_of(chart, chart->ruler.ticks[i]);

		svg_add_line(chart->buf, "g", x, chart->top - 4, x, chart->bottom);
		svg_add_text(chart->buf, "m", "middle", x, chart->bottom + 16,
			     chart->ruler.labels[i]);
	}
	svg_add_line(chart->buf, "a", chart->left, chart->bottom, chart->right, chart->bottom);
	svg_add_text(chart->buf, "m", "middle", (chart->left + chart->right) / 2,
		     chart->bottom + 34, of->x.label ? of->x.label : "");
	for (size_t i = 0; i < of->lane_count; i++)
		svg_add_text(chart->buf, of->lanes[i].thick ? "t" : "m v", "end", chart->left - 8,
			     chart->lane_tops[i] + lane_height(&of->lanes[i]) / 2 + 4,
			     of->lanes[i].name);
}

static void add_box(const struct chart *chart, const struct svg_box *box)
{
	const struct svg_lane *lane = &chart->of->lanes[box->lane];
	double x = x_of(chart, box->begin), width = fmax(x_of(chart, box->end) - x, 0.6);
	double y = chart->lane_tops[box->lane], height = lane_height(lane);

	buf_printf(chart->buf, "<rect class=\"s%zu\" fill=\"currentColor\"%s",
		   box->colour % PALETTE, box->pale ? " fill-opacity=\".35\"" : "");
	svg_add_rect(chart->buf, x, y, width, height);
	buf_add(chart->buf, "><title>");
	svg_add_escaped(chart->buf, box->name);
	buf_add(chart->buf, "</title></rect>\n");
	if (lane->thick && svg_wide(box->name) * 0.85 + 4 <= width)
		svg_add_text(chart->buf, "t v", "middle", x + width / 2, y + height / 2 + 4,
			     box->name);
}

int svg_add_lanes(struct buf *buf, const struct svg_lanes *of, struct strata_error *err)
{
	struct chart chart = { .of = of, .buf = buf };

	if (of->lane_count < 1 || of->lane_count > SVG_LANES_MAX || of->box_count > SVG_BOXES_MAX)
		return strata_fail(err, -EINVAL,
				   "%zu lanes, %zu boxes; expected 1 to %d lanes, up to %d boxes",
				   of->lane_count, of->box_count, SVG_LANES_MAX, SVG_BOXES_MAX);
	lay_out(&chart);
	svg_add_head(buf, PAGE_WIDTH, (int)ceil(chart.bottom + BOTTOM));
	add_titles(&chart);
	add_frame(&chart);
	for (size_t i = 0; i < of->box_count; i++)
		add_box(&chart, &of->boxes[i]);
	for (size_t i = 0; i < of->mark_count; i++) {
		double x = x_of(&chart, of->marks[i]);

		svg_add_line(buf, "a", x, chart.top - 8, x, chart.bottom);
	}
	buf_add(buf, "</svg>\n");
	return buf_check(buf, err);
}
