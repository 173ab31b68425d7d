/*
 * The bytes of a plot: see svg_mark.h. Coordinates go through whole numbers, so that neither the
 * locale nor the machine shows in them.
 */
#include "sim/svg_mark.h"

#include "core/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { COLUMN_WIDTH = 7 }; /* of a character at 12 px, about */

void svg_add_px(struct buf *buf, double px)
{
	int64_t tenths = llrint(px * 10);
	int64_t size = tenths < 0 ? -tenths : tenths;

	buf_printf(buf, "%s%" PRId64, tenths < 0 ? "-" : "", size / 10);
	if (size % 10)
		buf_printf(buf, ".%" PRId64, size % 10);
}

void svg_add_attribute(struct buf *buf, const char *name, double px)
{
	buf_printf(buf, " %s=\"", name);
	svg_add_px(buf, px);
	buf_add_char(buf, '"');
}

void svg_add_escaped(struct buf *buf, const char *text)
{
	if (!text_valid(text, strlen(text))) {
		for (; *text; text++)
			buf_add_char(buf, *text >= ' ' && *text < 0x7f && !strchr("<>&", *text)
						  ? *text
						  : '?');
		return;
	}
	for (; *text; text++) {
		if (*text == '<')
			buf_add(buf, "&lt;");
		else if (*text == '>')
			buf_add(buf, "&gt;");
		else if (*text == '&')
			buf_add(buf, "&amp;");
		else if ((unsigned char)*text < ' ' || *text == 0x7f)
			buf_add_char(buf, '?');
		else
			buf_add_char(buf, *text);
	}
}

void svg_add_text(struct buf *buf, const char *class, const char *anchor, double x, double y,
		  const char *text)
{
	buf_printf(buf, "<text class=\"%s\"", class);
	if (strcmp(anchor, "start") != 0)
		buf_printf(buf, " text-anchor=\"%s\"", anchor);
	svg_add_attribute(buf, "x", x);
	svg_add_attribute(buf, "y", y);
	buf_add_char(buf, '>');
	svg_add_escaped(buf, text);
	buf_add(buf, "</text>\n");
}

void svg_add_line(struct buf *buf, const char *class, double x1, double y1, double x2, double y2)
{
	buf_printf(buf, "<line class=\"%s\"", class);
	svg_add_attribute(buf, "x1", x1);
	svg_add_attribute(buf, "y1", y1);
	svg_add_attribute(buf, "x2", x2);
	svg_add_attribute(buf, "y2", y2);
	buf_add(buf, "/>\n");
}

void svg_add_rect(struct buf *buf, double x, double y, double width, double height)
{
	svg_add_attribute(buf, "x", x);
	svg_add_attribute(buf, "y", y);
	svg_add_attribute(buf, "width", width);
	svg_add_attribute(buf, "height", height);
}

double svg_wide(const char *text)
{
	return (double)text_width(text, strlen(text)) * COLUMN_WIDTH;
}
