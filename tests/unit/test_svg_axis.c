#include "test.h"

#include "random.h"
#include "plot/svg_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct svg_ruler ruler;

/* The labels of a ruler, separated by blanks. */
static const char *labels(enum svg_scale scale, double low, double high, size_t ticks, bool whole)
{
	static char text[SVG_TICKS_MAX * SVG_TICK_BYTES];
	struct svg_axis axis = { .scale = scale };

	svg_ruler_init(&ruler, &axis, low, high, ticks, whole);
	text[0] = '\0';
	for (size_t i = 0; i < ruler.tick_count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 ruler.labels[i]);
	return text;
}

static const char *number(double value)
{
	static char text[SVG_TICK_BYTES];

	svg_number(value, value, text);
	return text;
}

TEST(numbers_are_short)
{
	CHECK_TEXT(number(0), "0");
	CHECK_TEXT(number(0.25), "0.25");
	CHECK_TEXT(number(0.68561), "0.686");
	CHECK_TEXT(number(92.5765), "92.6");
	CHECK_TEXT(number(99.99), "100");
	CHECK_TEXT(number(-3.5), "-3.5");
	CHECK_TEXT(number(6814.9733), "6,815");
	CHECK_TEXT(number(9999), "9,999");
	CHECK_TEXT(number(13823.5), "13.8k");
	CHECK_TEXT(number(353776), "354k");
	CHECK_TEXT(number(2e7), "20M");
	CHECK_TEXT(number(4.5e10), "45G");
	CHECK_TEXT(number(1e15), "1,000T");
	CHECK_TEXT(number(1e20), "1e+20");
	CHECK_TEXT(number(0.0123), "0.0123");
	CHECK_TEXT(number(0.00012), "0.00012");
	CHECK_TEXT(number(0.00001), "1e-05");
	CHECK_TEXT(number(INFINITY), "inf");
}

TEST(linear_ticks_are_at_1_2_5)
{
	CHECK_TEXT(labels(SVG_LINEAR, 0, 100, 5, true), "0 20 40 60 80 100");
	CHECK_TEXT(labels(SVG_LINEAR, 3, 88.6, 5, true), "0 20 40 60 80 100");
	CHECK_TEXT(labels(SVG_LINEAR, 0, 1, 5, true), "0 0.2 0.4 0.6 0.8 1");
	CHECK_TEXT(labels(SVG_LINEAR, 0, 0.0037, 5, true), "0 0.001 0.002 0.003 0.004");
	CHECK_TEXT(labels(SVG_LINEAR, 0, 14000, 5, true), "0 5k 10k 15k");
	CHECK_TEXT(labels(SVG_LINEAR, -7, 12, 5, true), "-10 -5 0 5 10 15");
	CHECK_TEXT(labels(SVG_LINEAR, 0, 88.6, 5, false), "0 20 40 60 80");
	CHECK_NEAR(ruler.max, 88.6, 0);
}

TEST(time_is_shown_in_the_unit_it_spans)
{
	CHECK_TEXT(labels(SVG_TIME, 0, 50, 5, false), "0 10 20 30 40 50");
	CHECK_TEXT(ruler.unit, "s");
	CHECK_TEXT(labels(SVG_TIME, 0, 3600, 6, false), "0 10 20 30 40 50 60");
	CHECK_TEXT(ruler.unit, "min");
	CHECK_TEXT(labels(SVG_TIME, 0, 86400, 8, false), "0 3 6 9 12 15 18 21 24");
	CHECK_TEXT(ruler.unit, "h");
	CHECK_TEXT(labels(SVG_TIME, 0, 7 * 86400, 7, false), "0 1 2 3 4 5 6 7");
	CHECK_TEXT(ruler.unit, "days");
	CHECK_TEXT(labels(SVG_TIME, 0, 340 * 86400.0, 7, false), "0 50 100 150 200 250 300");
	CHECK_TEXT(labels(SVG_TIME, 0, 0.004, 5, false), "0 0.001 0.002 0.003 0.004");
	CHECK_TEXT(ruler.unit, "s");
}

TEST(logarithmic_ticks_are_powers_of_ten)
{
	CHECK_TEXT(labels(SVG_LOG, 19.8, 13823, 5, true), "10 100 1,000 10k");
	CHECK_NEAR(ruler.max, 20000, 1e-6);
	CHECK_TEXT(labels(SVG_LOG, 1, 1000, 5, true), "1 10 100 1,000");
	CHECK_NEAR(ruler.max, 1000, 1e-9);
	CHECK_TEXT(labels(SVG_LOG, 3, 40, 5, true), "1 2 5 10 20 50");
	CHECK_TEXT(labels(SVG_LOG, 0.02, 0.9, 5, true), "0.01 0.02 0.05 0.1 0.2 0.5 1");
	CHECK_TEXT(labels(SVG_LOG, 1, 1e12, 5, true), "1 1,000 1M 1G 1T");
	CHECK_TEXT(labels(SVG_LOG, 5, 5, 5, true), "1 2 5 10 20 50");
}

TEST(values_lie_between_0_and_1)
{
	labels(SVG_LINEAR, 0, 100, 5, true);
	CHECK_NEAR(svg_ruler_at(&ruler, 0), 0, 0);
	CHECK_NEAR(svg_ruler_at(&ruler, 25), 0.25, 0);
	CHECK_NEAR(svg_ruler_at(&ruler, 1000), 1, 0);
	CHECK_NEAR(svg_ruler_at(&ruler, -1000), 0, 0);
	labels(SVG_LOG, 1, 10000, 5, true);
	CHECK_NEAR(svg_ruler_at(&ruler, 100), 0.5, 1e-12);
	CHECK_NEAR(svg_ruler_at(&ruler, 0), 0, 0);
	CHECK_NEAR(svg_ruler_at(&ruler, -5), 0, 0);
	CHECK_NEAR(svg_ruler_at(&ruler, 1e9), 1, 0);
}

TEST(a_given_range_goes_first)
{
	struct svg_axis axis = { .min = 0.5, .max = 2.25 };

	svg_ruler_init(&ruler, &axis, 0, 100, 5, true);
	CHECK_NEAR(ruler.min, 0.5, 0);
	CHECK_NEAR(ruler.max, 2.25, 0);
	CHECK_TEXT(ruler.labels[0], "0.5");
	CHECK_TEXT(ruler.labels[ruler.tick_count - 1], "2");
}

TEST(odd_ranges_give_a_sound_ruler)
{
	static const double odd[] = {
		0, -1, 1, 1e-300, 1e300, -1e300, INFINITY, -INFINITY, 5, 1e-9
	};
	uint64_t seed = 6;

	for (int round = 0; round < 5000; round++) {
		double low = odd[random_below(&seed, 10)], high = odd[random_below(&seed, 10)];
		enum svg_scale scale = (enum svg_scale)random_below(&seed, 3);

		if ((isinf(low) && low < 0) || (isinf(high) && high > 0))
			continue; /* only infinite the other way round, for no values */
		if (random_below(&seed, 2)) {
			low = (double)random_next(&seed) / (double)random_next(&seed);
			high = low + (double)random_next(&seed) / (double)random_next(&seed);
		}
		labels(scale, low, high, 1 + random_below(&seed, 12), random_below(&seed, 2));
		CHECK(isfinite(ruler.min) && isfinite(ruler.max) && ruler.min < ruler.max);
		CHECK(scale != SVG_LOG || ruler.min > 0);
		CHECK(ruler.tick_count <= SVG_TICKS_MAX);
		for (size_t i = 0; i < ruler.tick_count; i++) {
			double slack = (fabs(ruler.max) + fabs(ruler.min)) * 1e-6;

			CHECK(ruler.ticks[i] >= ruler.min - slack &&
			      ruler.ticks[i] <= ruler.max + slack);
			CHECK(i == 0 || ruler.ticks[i] > ruler.ticks[i - 1]);
			CHECK(ruler.labels[i][0] != '\0');
		}
	}
}
