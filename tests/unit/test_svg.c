#include "test.h"

#include "plot/svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct buf buf;

static const double x[] = { 0, 10, 20 }, up[] = { 0, 5, 10 }, down[] = { 10, NAN, 0 };
static const struct svg_series two[] = { { "up", x, up, 3 }, { "<down> & out", x, down, 3 } };
static const struct svg_lines lines = { .title = "A & B",
					.subtitle = "1 < 2",
					.x = { "time", SVG_TIME, 0, 0 },
					.y = { "busy [%]", SVG_LINEAR, 0, 0 },
					.series = two,
					.series_count = 2 };
static const char *const groups[] = { "kth", "sdsc" };
static const char *const policies[] = { "fcfs", "easy" };
static const double values[] = { 1000, 10, 100, NAN };
static const struct svg_bars bars = { .title = "Slowdown",
				      .y = { "bsld", SVG_LOG, 0, 0 },
				      .groups = groups,
				      .group_count = 2,
				      .series = policies,
				      .series_count = 2,
				      .values = values };

static int draw(const struct svg_panel *panels, size_t count)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	if (!buf.memory)
		buf_init(&buf, &memory, 0);
	buf_reset(&buf);
	return svg_add_page(&buf, panels, count, &arena, &err);
}

static size_t count_of(const char *piece)
{
	size_t count = 0;

	for (const char *at = buf.text; (at = strstr(at, piece)); at += strlen(piece))
		count++;
	return count;
}

/* Tags are closed in the order they were opened, and nothing that XML reserves stands free. */
static void check_well_formed(void)
{
	char open[16][32];
	size_t depth = 0;
	const char *at = strstr(buf.text, "</style>");

	CHECK(strncmp(buf.text, "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 40) == 0);
	CHECK(at);
	at += 8;
	strcpy(open[depth++], "svg");
	for (; *at; at++) {
		CHECK(*at != '>' && (*at != '&' || !strncmp(at, "&lt;", 4) ||
				     !strncmp(at, "&gt;", 4) || !strncmp(at, "&amp;", 5)));
		if (*at != '<')
			continue;
		const char *end = strchr(at, '>');
		size_t name = strcspn(at + 1, " />");

		CHECK(end);
		if (at[1] == '/') {
			CHECK(depth > 0);
			depth--;
			CHECK(strncmp(open[depth], at + 2, strlen(open[depth])) == 0);
		} else if (end[-1] != '/') {
			CHECK(depth < 16 && name < 32);
			snprintf(open[depth++], 32, "%.*s", (int)name, at + 1);
		}
		at = end;
	}
	CHECK_INT(depth, 0);
}

TEST(lines_become_paths)
{
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &lines } }, 1));
	check_well_formed();
	CHECK_INT(count_of("<path class=\"l s0\""), 2); /* the legend's and the curve's */
	CHECK_INT(count_of("<path class=\"l s1\""), 2);
	CHECK(strstr(buf.text, ">A &amp; B</text>"));
	CHECK(strstr(buf.text, ">1 &lt; 2</text>"));
	CHECK(strstr(buf.text, ">&lt;down&gt; &amp; out</text>"));
	CHECK(strstr(buf.text, ">time [s]</text>"));
	CHECK(strstr(buf.text, ">busy [%]</text>"));
	CHECK_INT(count_of("NAN") + count_of("nan"), 0);
	/* the gap breaks the curve in two: both of its points are moved to */
	const char *gap = strstr(buf.text, "<title>&lt;down&gt;");
	size_t moves = 0;

	for (const char *at = gap; at > buf.text && *at != '<'; at--)
		CHECK(*at);
	for (const char *at = gap - 1; *at != '<'; at--)
		moves += *at == 'M';
	CHECK_INT(moves, 2);
}

TEST(a_curve_goes_where_its_values_are)
{
	struct svg_lines plain = { .x = { .min = 0, .max = 20 },
				   .y = { .min = 0, .max = 10 },
				   .series = two,
				   .series_count = 1 };

	CHECK_OK(draw((struct svg_panel[]){ { .lines = &plain } }, 1));
	/* the field: 64 px high gap above it, 230 px, from the widest label to the margin */
	CHECK(strstr(buf.text, " d=\"M46 294L491 179L936 64\">"));
	plain.steps = true;
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &plain } }, 1));
	CHECK(strstr(buf.text, " d=\"M46 294H491V179H936V64\">"));
}

TEST(bars_stand_on_the_axis)
{
	CHECK_OK(draw((struct svg_panel[]){ { .bars = &bars } }, 1));
	check_well_formed();
	CHECK_INT(count_of("<rect class=\"s0\""), 3);
	CHECK_INT(count_of("<rect class=\"s1\""), 2); /* one value is missing */
	CHECK(strstr(buf.text, "<title>kth, fcfs: 1,000</title>"));
	CHECK(strstr(buf.text, ">1,000</text>"));
	CHECK_INT(count_of("height=\"0\""), 0);
}

TEST(bars_may_go_below_zero)
{
	static const double signed_values[] = { -5, 10, 0, 2.5 };
	struct svg_bars below = bars;

	below.y = (struct svg_axis){ .label = "change" };
	below.values = signed_values;
	CHECK_OK(draw((struct svg_panel[]){ { .bars = &below } }, 1));
	check_well_formed();
	CHECK_INT(count_of("height=\"-"), 0);
	CHECK(strstr(buf.text, ">-5</text>"));
}

TEST(a_page_has_panels_and_one_legend_for_alike)
{
	CHECK_OK(draw(
		(struct svg_panel[]){ { .lines = &lines }, { .lines = &lines }, { .bars = &bars } },
		3));
	check_well_formed();
	CHECK_INT(count_of(">up</text>"), 1);
	CHECK_INT(count_of(">fcfs</text>"), 1);
	CHECK_INT(count_of("<title>up</title>"), 2);
	CHECK_ERROR(draw(NULL, 0), -EINVAL, "a page has 1 to 16 panels, not 0");
	struct svg_panel many[SVG_PANELS_MAX + 1];

	for (size_t i = 0; i <= SVG_PANELS_MAX; i++)
		many[i] = (struct svg_panel){ .bars = &bars };
	CHECK_OK(draw(many, SVG_PANELS_MAX));
	CHECK_ERROR(draw(many, SVG_PANELS_MAX + 1), -EINVAL, "not 17");
}

TEST(nothing_to_draw_is_drawn)
{
	const struct svg_series none[] = { { "none", NULL, NULL, 0 } };
	struct svg_lines empty = { .x = { .scale = SVG_TIME }, .y = { .scale = SVG_LOG } };
	struct svg_bars no_bars = { 0 };

	CHECK_OK(draw((struct svg_panel[]){ { .lines = &empty }, { .bars = &no_bars } }, 2));
	check_well_formed();
	empty.series = none;
	empty.series_count = 1;
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &empty } }, 1));
	check_well_formed();
}

TEST(more_series_than_colours_are_dashed)
{
	struct svg_series many[9];
	struct svg_lines wide = { .series = many, .series_count = 9 };

	for (size_t i = 0; i < 9; i++)
		many[i] = (struct svg_series){ "a rather long name of a policy", x, up, 3 };
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &wide } }, 1));
	check_well_formed();
	CHECK_INT(count_of("stroke-dasharray=\"6 3\""), 4);
}

TEST(long_curves_are_thinned_out)
{
	enum { COUNT = 200000 };
	double *long_x = malloc(COUNT * sizeof(*long_x)), *long_y = malloc(COUNT * sizeof(*long_y));
	struct svg_series series = { "long", long_x, long_y, COUNT };
	struct svg_lines thin = { .series = &series, .series_count = 1 };

	for (size_t i = 0; i < COUNT; i++) {
		long_x[i] = (double)i;
		long_y[i] = (double)(i * 7919 % 1000);
	}
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &thin } }, 1));
	CHECK(count_of("L") <= SVG_POINTS_MAX && count_of("L") > SVG_POINTS_MAX / 2);
	CHECK(buf.length < 40000);
	free(long_x);
	free(long_y);
}

TEST(texts_cannot_break_out)
{
	struct svg_lines bad = lines;

	bad.title = "\x01</svg>\xff\xfe<script>";
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &bad } }, 1));
	check_well_formed();
	CHECK(!strstr(buf.text, "<script>"));
	bad.title = "tab\there é";
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &bad } }, 1));
	CHECK(strstr(buf.text, ">tab?here é</text>"));
}

TEST(the_same_input_gives_the_same_bytes)
{
	CHECK_OK(draw((struct svg_panel[]){ { .lines = &lines }, { .bars = &bars } }, 2));
	char *first = strdup(buf.text);

	CHECK_OK(draw((struct svg_panel[]){ { .lines = &lines }, { .bars = &bars } }, 2));
	CHECK_TEXT(buf.text, first);
	free(first);
}

static int draw_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	struct strata_arena own;
	struct buf out;

	(void)context;
	strata_arena_init(&own, failing, 0);
	buf_init(&out, failing, 0);
	int rc = svg_add_page(&out, (struct svg_panel[]){ { .lines = &lines }, { .bars = &bars } },
			      2, &own, ret_err);

	buf_fini(&out);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(draw_again, NULL) >= 8);
}
