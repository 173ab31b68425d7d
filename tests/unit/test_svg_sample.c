#include "test.h"

#include "random.h"
#include "plot/svg_sample.h"

#include <math.h>
#include <stdlib.h>

TEST(short_curves_are_copied)
{
	const double x[] = { 1, 2, 3, 4 }, y[] = { 5, 6, 7, 8 };
	double out_x[4], out_y[4];

	CHECK_INT(svg_sample(x, y, 0, 4, out_x, out_y), 0);
	CHECK_INT(svg_sample(x, y, 4, 4, out_x, out_y), 4);
	CHECK_BYTES(out_x, x, sizeof(x));
	CHECK_BYTES(out_y, y, sizeof(y));
}

TEST(first_lowest_highest_and_last_stay_in_order)
{
	const double x[] = { 0, 1, 2, 3, 4, 5 }, y[] = { 3, 9, 4, 1, 2, 3 };
	double out_x[4], out_y[4];

	CHECK_INT(svg_sample(x, y, 6, 4, out_x, out_y), 4);
	CHECK_NEAR(out_x[0], 0, 0);
	CHECK_NEAR(out_x[1], 1, 0);
	CHECK_NEAR(out_y[1], 9, 0);
	CHECK_NEAR(out_x[2], 3, 0);
	CHECK_NEAR(out_y[2], 1, 0);
	CHECK_NEAR(out_x[3], 5, 0);
}

TEST(a_gap_stays)
{
	double x[100], y[100], out_x[8], out_y[8];
	bool gap = false;

	for (size_t i = 0; i < 100; i++) {
		x[i] = (double)i;
		y[i] = i == 37 ? NAN : 1;
	}
	size_t count = svg_sample(x, y, 100, 8, out_x, out_y);

	for (size_t i = 0; i < count; i++)
		gap |= isnan(out_y[i]);
	CHECK(gap);
}

/* Whatever the curve: never more than the limit, x ascending, both extremes and both ends kept. */
TEST(random_curves_keep_their_extremes)
{
	enum { COUNT = 5000, LIMIT = 400 };
	static double x[COUNT], y[COUNT], out_x[LIMIT], out_y[LIMIT];
	uint64_t seed = 8;

	for (int round = 0; round < 50; round++) {
		double at = 0, low = INFINITY, high = -INFINITY, out_low = INFINITY,
		       out_high = -INFINITY;

		for (size_t i = 0; i < COUNT; i++) {
			at += random_below(&seed, 50) ? (double)random_below(&seed, 3)
						      : 5000; /* bursts, jumps */
			x[i] = at;
			y[i] = (double)random_below(&seed, 1000000);
			low = fmin(low, y[i]);
			high = fmax(high, y[i]);
		}
		size_t count = svg_sample(x, y, COUNT, LIMIT, out_x, out_y);

		CHECK(count <= LIMIT && count >= 4);
		CHECK_NEAR(out_x[0], x[0], 0);
		CHECK_NEAR(out_x[count - 1], x[COUNT - 1], 0);
		for (size_t i = 0; i < count; i++) {
			CHECK(i == 0 || out_x[i] >= out_x[i - 1]);
			out_low = fmin(out_low, out_y[i]);
			out_high = fmax(out_high, out_y[i]);
		}
		CHECK_NEAR(out_low, low, 0);
		CHECK_NEAR(out_high, high, 0);
	}
}

TEST(points_at_one_x_are_thinned_too)
{
	double x[100], y[100], out_x[8], out_y[8];

	for (size_t i = 0; i < 100; i++) {
		x[i] = 5;
		y[i] = (double)i;
	}
	CHECK_INT(svg_sample(x, y, 100, 8, out_x, out_y), 2);
	CHECK_NEAR(out_y[1], 99, 0);
}
