#include "test.h"

#include "plot/svg_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const struct svg_lane lanes[] = { { "computing", true }, { "a<b" } };
static const struct svg_box boxes[] = {
	{ 0, 0, 0, 50, false, "first & last" },
	{ 1, 8, 10, 20, true, "second" },
};

static const struct svg_lanes chart = { .title = "Chart",
					.subtitle = "of two",
					.x = { .label = "time [ms]" },
					.lanes = lanes,
					.lane_count = 2,
					.boxes = boxes,
					.box_count = 2,
					.marks = (const double[]){ 25 },
					.mark_count = 1 };

static size_t count_of(const char *text, const char *word)
{
	size_t count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

TEST(boxes_are_where_they_were)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	CHECK_OK(svg_add_lanes(&buf, &chart, &err));
	CHECK(strncmp(buf.text, "<svg ", 5) == 0 && strstr(buf.text, "</svg>\n"));
	CHECK_INT(count_of(buf.text, "<rect class=\"s"), 2);
	CHECK(strstr(
		buf.text,
		"class=\"s1\" fill=\"currentColor\" fill-opacity")); /* the eighth is the first again */
	CHECK(strstr(buf.text, "first &amp; last") && strstr(buf.text, "a&lt;b"));
	CHECK(strstr(buf.text, "time [ms]"));
	CHECK_INT(count_of(buf.text, ">second<"),
		  1); /* shown when pointed at, not written on a thin lane */
	CHECK_INT(count_of(buf.text, ">first &amp; last<"), 2);
	buf_fini(&buf);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(lanes_and_boxes_are_bounded)
{
	struct svg_lane *many = calloc(SVG_LANES_MAX + 1, sizeof(*many));
	struct svg_box *much = calloc(SVG_BOXES_MAX + 1, sizeof(*much));
	struct svg_lanes large = { .lanes = many,
				   .lane_count = SVG_LANES_MAX,
				   .boxes = much,
				   .box_count = SVG_BOXES_MAX };
	struct buf buf;

	for (size_t i = 0; i <= SVG_LANES_MAX; i++)
		many[i].name = "x";
	for (size_t i = 0; i <= SVG_BOXES_MAX; i++)
		much[i] = (struct svg_box){ i % SVG_LANES_MAX, i,     (double)i,
					    (double)i + 1,     false, "b" };
	buf_init(&buf, &memory, 0);
	CHECK_OK(svg_add_lanes(&buf, &large, &err));
	large.box_count++;
	CHECK_ERROR(svg_add_lanes(&buf, &large, &err), -EINVAL, "boxes");
	large.box_count--;
	large.lane_count++;
	CHECK_ERROR(svg_add_lanes(&buf, &large, &err), -EINVAL, "lanes");
	large.lane_count = 0;
	CHECK_ERROR(svg_add_lanes(&buf, &large, &err), -EINVAL, "0 lanes");
	buf_fini(&buf);
	free(many);
	free(much);
}

static int draw_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct buf buf;

	(void)context;
	buf_init(&buf, own, 0);
	int rc = svg_add_lanes(&buf, &chart, why);

	buf_fini(&buf);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(draw_once, NULL) > 0);
}
