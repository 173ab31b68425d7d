/*
 * Plots as SVG: see svg.h. A page is laid out from top to bottom; each panel has its title, a legend,
 * and a field in which a ruler (svg_axis.c) says where values lie.
 */
#include "plot/svg.h"

#include "plot/svg_axis.h"
#include "plot/svg_mark.h"
#include "plot/svg_sample.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	PAGE_WIDTH = 960,
	MARGIN = 24,
	FIELD_HEIGHT = 230,
	TITLE_HEIGHT = 26,
	SUBTITLE_HEIGHT = 18,
	LEGEND_ROW_HEIGHT = 20,
	FIELD_TOP_GAP = 28,    /* between legend and field: the label of the y axis */
	FIELD_BOTTOM_GAP = 44, /* tick labels and the label of the x axis */
	BAR_WIDTH_MAX = 56,
	PALETTE = 7,
};

struct page {
	struct buf *buf;
	struct strata_arena *arena;
	double y; /* where the next thing goes */
};

/* The field of a panel, in pixels. */
struct field {
	double left, right, top, bottom;
};

/* ---- titles and legends ---- */

static void add_titles(struct page *page, const char *title, const char *subtitle)
{
	if (title) {
		svg_add_text(page->buf, "t h", "start", MARGIN, page->y + 17, title);
		page->y += TITLE_HEIGHT;
	}
	if (subtitle) {
		svg_add_text(page->buf, "m", "start", MARGIN, page->y + 11, subtitle);
		page->y += SUBTITLE_HEIGHT;
	}
}

/* Series past the palette come back dashed, as lines, or paler, as bars. */
static void add_line_look(struct buf *buf, size_t series)
{
	static const char *const dashes[] = { "", "6 3", "2 3", "8 3 2 3" };
	const char *dash = dashes[series / PALETTE % 4];

	buf_printf(buf, " class=\"l s%zu\" stroke=\"currentColor\"", series % PALETTE);
	if (*dash)
		buf_printf(buf, " stroke-dasharray=\"%s\"", dash);
}

static void add_bar_look(struct buf *buf, size_t series)
{
	static const char *const opacities[] = { "1", ".65", ".45", ".3" };

	buf_printf(buf, " class=\"s%zu\" fill=\"currentColor\"", series % PALETTE);
	if (series >= PALETTE)
		buf_printf(buf, " fill-opacity=\"%s\"", opacities[series / PALETTE % 4]);
}

static void add_legend_mark(struct buf *buf, size_t series, bool bars, double x, double y)
{
	if (bars) {
		buf_add(buf, "<rect");
		add_bar_look(buf, series);
		svg_add_rect(buf, x, y - 9, 12, 10);
		buf_add(buf, "/>\n");
		return;
	}
	buf_add(buf, "<path");
	add_line_look(buf, series);
	buf_add(buf, " d=\"M");
	svg_add_px(buf, x);
	buf_add_char(buf, ' ');
	svg_add_px(buf, y - 4);
	buf_add(buf, "h18\"/>\n");
}

/* Names in a row, and further rows when they do not fit. */
static void add_legend(struct page *page, const char *const *names, size_t count, bool bars)
{
	double x = MARGIN, mark = bars ? 18 : 24;

	for (size_t i = 0; i < count; i++) {
		double width = mark + svg_wide(names[i]);

		if (i > 0 && x + width > PAGE_WIDTH - MARGIN) {
			x = MARGIN;
			page->y += LEGEND_ROW_HEIGHT;
		}
		add_legend_mark(page->buf, i, bars, x, page->y + 13);
		svg_add_text(page->buf, "t", "start", x + mark, page->y + 13, names[i]);
		x += width + 18;
	}
	page->y += LEGEND_ROW_HEIGHT;
}

/* ---- fields and axes ---- */

static struct field open_field(struct page *page, const struct svg_ruler *y)
{
	double widest = 0;

	for (size_t i = 0; i < y->tick_count; i++)
		if (svg_wide(y->labels[i]) > widest)
			widest = svg_wide(y->labels[i]);
	struct field field = {
		.left = MARGIN + widest + 8,
		.right = PAGE_WIDTH - MARGIN,
		.top = page->y + FIELD_TOP_GAP,
		.bottom = page->y + FIELD_TOP_GAP + FIELD_HEIGHT,
	};

	page->y = field.bottom + FIELD_BOTTOM_GAP;
	return field;
}

static double field_x(const struct field *field, const struct svg_ruler *ruler, double value)
{
	return field->left + svg_ruler_at(ruler, value) * (field->right - field->left);
}

static double field_y(const struct field *field, const struct svg_ruler *ruler, double value)
{
	return field->bottom - svg_ruler_at(ruler, value) * (field->bottom - field->top);
}

static const char *axis_label(struct page *page, const struct svg_axis *axis,
			      const struct svg_ruler *ruler)
{
	bool log = ruler->scale == SVG_LOG;

	if (!ruler->unit && !log)
		return axis->label ? axis->label : "";
	const char *label = strata_arena_printf(
		page->arena, "%s%s%s%s%s", axis->label ? axis->label : "",
		axis->label && ruler->unit ? " " : "", ruler->unit ? "[" : "",
		ruler->unit ? ruler->unit : "", ruler->unit ? "]" : "");

	if (label && log) /* ten times as much is one step up, not ten times as high */
		label = strata_arena_printf(page->arena, "%s%slogarithmic", label,
					    *label ? ", " : "");

	if (!label)
		page->buf->failed = true;
	return label ? label : "";
}

static void add_y_axis(struct page *page, const struct field *field, const struct svg_axis *axis,
		       const struct svg_ruler *ruler)
{
	for (size_t i = 0; i < ruler->tick_count; i++) {
		double y = field_y(field, ruler, ruler->ticks[i]);

		if (y < field->bottom - 0.5)
			svg_add_line(page->buf, "g", field->left, y, field->right, y);
		svg_add_text(page->buf, "m", "end", field->left - 8, y + 4, ruler->labels[i]);
	}
	svg_add_text(page->buf, "m", "start", MARGIN, field->top - 12,
		     axis_label(page, axis, ruler));
}

static void add_x_axis(struct page *page, const struct field *field, const struct svg_axis *axis,
		       const struct svg_ruler *ruler)
{
	for (size_t i = 0; i < ruler->tick_count; i++) {
		double x = field_x(field, ruler, ruler->ticks[i]);

		svg_add_line(page->buf, "a", x, field->bottom, x, field->bottom + 4);
		svg_add_text(page->buf, "m", "middle", x, field->bottom + 18, ruler->labels[i]);
	}
	svg_add_text(page->buf, "m", "middle", (field->left + field->right) / 2, field->bottom + 36,
		     axis_label(page, axis, ruler));
}

/* ---- lines ---- */

static void widen(double value, enum svg_scale scale, double *low, double *high)
{
	if (!isfinite(value) || (scale == SVG_LOG && value <= 0))
		return;
	if (value < *low)
		*low = value;
	if (value > *high)
		*high = value;
}

static void line_rulers(const struct svg_lines *lines, struct svg_ruler *x, struct svg_ruler *y)
{
	double x_low = INFINITY, x_high = -INFINITY, y_low = INFINITY, y_high = -INFINITY;

	for (size_t i = 0; i < lines->series_count; i++)
		for (size_t k = 0; k < lines->series[i].count; k++) {
			widen(lines->series[i].x[k], lines->x.scale, &x_low, &x_high);
			widen(lines->series[i].y[k], lines->y.scale, &y_low, &y_high);
		}
	svg_ruler_init(x, &lines->x, x_low, x_high, 12, false);
	svg_ruler_init(y, &lines->y, y_low, y_high, 5, true);
}

static void add_point(struct buf *buf, double x, double y, bool first, bool steps)
{
	buf_add_char(buf, first ? 'M' : steps ? 'H' : 'L');
	svg_add_px(buf, x);
	buf_add_char(buf, first || !steps ? ' ' : 'V');
	svg_add_px(buf, y);
}

static int add_curve(struct page *page, const struct svg_lines *lines, size_t index,
		     const struct field *field, const struct svg_ruler *x_ruler,
		     const struct svg_ruler *y_ruler, struct strata_error *err)
{
	const struct svg_series *series = &lines->series[index];
	double *x = strata_arena_array(page->arena, SVG_POINTS_MAX, sizeof(*x));
	double *y = strata_arena_array(page->arena, SVG_POINTS_MAX, sizeof(*y));
	bool first = true;

	if (!x || !y)
		return strata_fail_memory(err);
	size_t count = svg_sample(series->x, series->y, series->count, SVG_POINTS_MAX, x, y);

	buf_add(page->buf, "<path");
	add_line_look(page->buf, index);
	buf_add(page->buf, " d=\"");
	for (size_t i = 0; i < count; i++) {
		if (isnan(y[i]) || isnan(x[i])) {
			first = true;
			continue;
		}
		add_point(page->buf, field_x(field, x_ruler, x[i]), field_y(field, y_ruler, y[i]),
			  first, lines->steps);
		first = false;
	}
	buf_add(page->buf, "\"><title>");
	svg_add_escaped(page->buf, series->name);
	buf_add(page->buf, "</title></path>\n");
	return 0;
}

static int add_lines(struct page *page, const struct svg_lines *lines, struct strata_error *err)
{
	struct svg_ruler x, y;

	line_rulers(lines, &x, &y);
	struct field field = open_field(page, &y);

	add_y_axis(page, &field, &lines->y, &y);
	add_x_axis(page, &field, &lines->x, &x);
	for (size_t i = 0; i < lines->series_count; i++) {
		int rc = add_curve(page, lines, i, &field, &x, &y, err);

		if (rc)
			return rc;
	}
	svg_add_line(page->buf, "a", field.left, field.bottom, field.right, field.bottom);
	return 0;
}

/* ---- bars ---- */

static double bar_value(const struct svg_bars *bars, size_t group, size_t series)
{
	return bars->values[group * bars->series_count + series];
}

static void bars_ruler(const struct svg_bars *bars, struct svg_ruler *ruler)
{
	double low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < bars->group_count; i++)
		for (size_t k = 0; k < bars->series_count; k++)
			widen(bar_value(bars, i, k), bars->y.scale, &low, &high);
	if (bars->y.scale == SVG_LOG)
		low /= 1.25; /* the lowest bar has a height, even where it ends at a power of ten */
	svg_ruler_init(ruler, &bars->y, low, high, 5, true);
}

/* A bar from the axis (or 0, where values go below it) to its value, which stands above it when
 * there is room for it. */
static void add_bar(struct page *page, const struct svg_bars *bars, size_t group, size_t series,
		    double x, double width, const struct field *field,
		    const struct svg_ruler *ruler)
{
	double value = bar_value(bars, group, series);
	double from = field_y(field, ruler, ruler->scale == SVG_LOG ? ruler->min : 0);
	double to = field_y(field, ruler, value);
	char number[SVG_TICK_BYTES];

	svg_number(value, value, number);
	buf_add(page->buf, "<rect");
	add_bar_look(page->buf, series);
	svg_add_rect(page->buf, x, to < from ? to : from, width, fabs(to - from));
	buf_add(page->buf, "><title>");
	svg_add_escaped(page->buf, bars->groups[group]);
	buf_add(page->buf, ", ");
	svg_add_escaped(page->buf, bars->series[series]);
	buf_printf(page->buf, ": %s</title></rect>\n", number);
	if (svg_wide(number) * 0.85 <= width + 6)
		svg_add_text(page->buf, "m v", "middle", x + width / 2,
			     to <= from ? to - 4 : to + 12, number);
}

static void add_group(struct page *page, const struct svg_bars *bars, size_t group,
		      const struct field *field, const struct svg_ruler *ruler)
{
	double span = (field->right - field->left) / (double)bars->group_count;
	double width = (span * 0.82) / (double)(bars->series_count ? bars->series_count : 1) - 2;

	if (width > BAR_WIDTH_MAX)
		width = BAR_WIDTH_MAX;
	if (width < 1)
		width = 1;
	double middle = field->left + span * ((double)group + 0.5);
	double x = middle - (width + 2) * (double)bars->series_count / 2 + 1;

	for (size_t i = 0; i < bars->series_count; i++, x += width + 2)
		if (isfinite(bar_value(bars, group, i)))
			add_bar(page, bars, group, i, x, width, field, ruler);
	svg_add_text(page->buf, "t", "middle", middle, field->bottom + 18, bars->groups[group]);
}

static void add_bars(struct page *page, const struct svg_bars *bars)
{
	struct svg_ruler ruler;

	bars_ruler(bars, &ruler);
	struct field field = open_field(page, &ruler);
	double base = field_y(&field, &ruler, ruler.scale == SVG_LOG ? ruler.min : 0);

	add_y_axis(page, &field, &bars->y, &ruler);
	for (size_t i = 0; i < bars->group_count; i++)
		add_group(page, bars, i, &field, &ruler);
	svg_add_line(page->buf, "a", field.left, base, field.right, base);
	page->y -= FIELD_BOTTOM_GAP - 30; /* there is no label of an x axis */
}

/* ---- pages ---- */

static const char **names_of(struct page *page, const struct svg_panel *panel, size_t *ret_count)
{
	size_t count = panel->lines ? panel->lines->series_count : panel->bars->series_count;
	const char **names = strata_arena_array(page->arena, count, sizeof(*names));

	for (size_t i = 0; names && i < count; i++)
		names[i] = panel->lines ? panel->lines->series[i].name : panel->bars->series[i];
	*ret_count = count;
	return names;
}

static bool same_names(const char **a, size_t a_count, const char **b, size_t b_count)
{
	if (a_count != b_count)
		return false;
	for (size_t i = 0; i < a_count; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static int add_panel(struct page *page, const struct svg_panel *panel,
		     const struct svg_panel *above, struct strata_error *err)
{
	const struct svg_lines *lines = panel->lines;
	const struct svg_bars *bars = panel->bars;
	size_t count, above_count;
	const char **names, **above_names;
	bool repeated = false;

	assert(!lines != !bars);
	names = names_of(page, panel, &count);
	if (!names)
		return strata_fail_memory(err);
	if (above && !above->bars == !bars) {
		above_names = names_of(page, above, &above_count);
		if (!above_names)
			return strata_fail_memory(err);
		repeated = same_names(names, count, above_names, above_count);
	}
	add_titles(page, lines ? lines->title : bars->title,
		   lines ? lines->subtitle : bars->subtitle);
	if (count > 0 && !repeated)
		add_legend(page, names, count, bars != NULL);
	if (lines)
		return add_lines(page, lines, err);
	add_bars(page, bars);
	return 0;
}

int svg_add_page(struct buf *buf, const struct svg_panel *panels, size_t panel_count,
		 struct strata_arena *arena, struct strata_error *err)
{
	struct buf body;
	struct page page = { .buf = &body, .arena = arena, .y = 16 };
	int rc = 0;

	if (panel_count < 1 || panel_count > SVG_PANELS_MAX)
		return strata_fail(err, -EINVAL, "a page has 1 to %d panels, not %zu",
				   SVG_PANELS_MAX, panel_count);
	buf_init(&body, buf->memory, 0);
	for (size_t i = 0; rc == 0 && i < panel_count; i++) {
		rc = add_panel(&page, &panels[i], i ? &panels[i - 1] : NULL, err);
		page.y += 14;
	}
	if (rc == 0)
		rc = buf_check(&body, err);
	if (rc == 0) { /* how high the page is, is known only now */
		int height = (int)ceil(page.y);

		svg_add_head(buf, PAGE_WIDTH, height);
		buf_add_bytes(buf, body.text, body.length);
		buf_add(buf, "</svg>\n");
		rc = buf_check(buf, err);
	}
	buf_fini(&body);
	return rc;
}
