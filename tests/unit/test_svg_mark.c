#include "test.h"

#include "plot/svg_mark.h"

static struct strata_memory memory;
static struct buf buf;

static const char *px(double value)
{
	buf_fini(&buf);
	buf_init(&buf, &memory, 0);
	svg_add_px(&buf, value);
	return buf.text;
}

static const char *escaped(const char *text)
{
	buf_fini(&buf);
	buf_init(&buf, &memory, 0);
	svg_add_escaped(&buf, text);
	return buf.text;
}

TEST(coordinates_have_a_decimal_at_most)
{
	buf_init(&buf, &memory, 0);
	CHECK_TEXT(px(0), "0");
	CHECK_TEXT(px(12), "12");
	CHECK_TEXT(px(12.34), "12.3");
	CHECK_TEXT(px(12.36), "12.4");
	CHECK_TEXT(px(-0.04), "0");
	CHECK_TEXT(px(-0.5), "-0.5");
	CHECK_TEXT(px(-7), "-7");
	CHECK_TEXT(px(99.96), "100");
	buf_fini(&buf);
}

TEST(text_is_escaped)
{
	buf_init(&buf, &memory, 0);
	CHECK_TEXT(escaped("a < b & c > d"), "a &lt; b &amp; c &gt; d");
	CHECK_TEXT(escaped("é “x” 'y'"), "é “x” 'y'");
	CHECK_TEXT(escaped("a\x01\n\x7f"), "a???");
	CHECK_TEXT(escaped("<\xff>&x"), "&lt;?&gt;&amp;x"); /* not UTF-8 */
	CHECK_TEXT(escaped("a\xe2\x80\xae\xc2\x9b"), "a??");
	buf_fini(&buf);
}

TEST(elements_are_as_written_by_hand)
{
	buf_init(&buf, &memory, 0);
	svg_add_text(&buf, "t", "start", 1, 2.5, "x");
	svg_add_text(&buf, "t", "end", 1, 2, "y");
	svg_add_line(&buf, "a", 1, 2, 3, 4);
	svg_add_rect(&buf, 1, 2, 3, 4);
	CHECK_TEXT(buf.text, "<text class=\"t\" x=\"1\" y=\"2.5\">x</text>\n"
			     "<text class=\"t\" text-anchor=\"end\" x=\"1\" y=\"2\">y</text>\n"
			     "<line class=\"a\" x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4\"/>\n"
			     " x=\"1\" y=\"2\" width=\"3\" height=\"4\"");
	CHECK_NEAR(svg_wide("abc"), 21, 0);
	CHECK_NEAR(svg_wide("é"), 7, 0);
	buf_fini(&buf);
}
