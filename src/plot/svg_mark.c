/*
 * The bytes of a plot: see svg_mark.h. Coordinates go through whole numbers, so that neither the
 * locale nor the machine shows in them.
 */
#include "plot/svg_mark.h"

#include "core/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { COLUMN_WIDTH = 7 }; /* of a character at 12 px, about */

/* Shared by all documents. Classes s0 … s6 are the series; the dark colours are the same hues,
 * lighter. Stroke and fill are both set: a use that wants one of them turns the other off. */
static const char style[] =
	"<style>\n"
	"svg{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	".bg{fill:#fff}.t{fill:#1f2328}.m{fill:#656d76}.h{font-size:15px;font-weight:600}.v{font-"
	"size:10px}\n"
	".g{stroke:#e3e6ea;stroke-width:1}.a{stroke:#8c959f;stroke-width:1}\n"
	".l{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\n"
	".s0{color:#0072b2}.s1{color:#d55e00}.s2{color:#009e73}.s3{color:#cc79a7}.s4{color:#e69f00}"
	".s5{color:#56b4e9}.s6{color:#7a7a7a}\n"
	"@media (prefers-color-scheme:dark){\n"
	".bg{fill:#14171b}.t{fill:#e6e8eb}.m{fill:#9aa4af}.g{stroke:#2a2f36}.a{stroke:#6b7581}\n"
	".s0{color:#4da3da}.s1{color:#f08a3c}.s2{color:#2cc59b}.s3{color:#de9bc0}.s4{color:#f0b93a}"
	".s5{color:#8ccbf2}.s6{color:#a9a9a9}\n"
	"}\n"
	"</style>\n";

void svg_add_head(struct buf *buf, int width, int height)
{
	buf_printf(buf,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\">\n%s<rect class=\"bg\" width=\"%d\" "
		   "height=\"%d\"/>\n",
		   width, height, width, height, style, width, height);
}

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

static void add_plain(struct buf *buf, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] == '<')
			buf_add(buf, "&lt;");
		else if (text[i] == '>')
			buf_add(buf, "&gt;");
		else if (text[i] == '&')
			buf_add(buf, "&amp;");
		else
			buf_add_char(buf, text[i]);
}

/* XML has no way to write a control character. */
void svg_add_escaped(struct buf *buf, const char *text)
{
	char escape[TEXT_ESCAPE_BYTES];

	for (size_t left = strlen(text); left;) {
		size_t plain = text_printable(text, left);

		add_plain(buf, text, plain);
		text += plain;
		left -= plain;
		if (left == 0)
			break;
		size_t count = text_escape_one(text, left, escape);

		buf_add_char(buf, '?');
		text += count;
		left -= count;
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
