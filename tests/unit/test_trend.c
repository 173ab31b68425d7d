#include "test.h"

#include "plot/trend.h"

static double scratch[TREND_DAYS_MAX * (TREND_DAYS_MAX + 1) / 2];

TEST(a_line_is_found)
{
	double values[30];

	for (int i = 0; i < 30; i++)
		values[i] = 100 + 3 * i;
	struct trend trend = trend_of(values, 30, scratch);

	CHECK_NEAR(trend.slope, 3, 1e-9);
	CHECK_NEAR(trend_at(&trend, 37), 211, 1e-9);
	CHECK_NEAR(trend.above - trend.below, 0, 1e-9);
}

TEST(a_few_odd_days_do_not_turn_it)
{
	double values[30];

	for (int i = 0; i < 30; i++)
		values[i] = 50 + i % 2;
	values[3] = values[28] = values[29] = 0; /* a holiday, a power cut */
	struct trend trend = trend_of(values, 30, scratch);

	CHECK_NEAR(trend.slope, 0, 0.05);
	CHECK_NEAR(trend_at(&trend, 36), 50.5, 1);
	CHECK(trend.below < 0 && trend.above > 0);
}

TEST(three_days_are_no_trend)
{
	double values[] = { 1, 2, 3, 4 };

	CHECK_INT(trend_of(values, 3, scratch).days, 0);
	CHECK_INT(trend_of(values, 0, scratch).days, 0);
	CHECK_INT(trend_of(values, 4, scratch).days, 4);
}

TEST(as_many_days_as_there_may_be)
{
	static double values[TREND_DAYS_MAX];

	for (int i = 0; i < TREND_DAYS_MAX; i++)
		values[i] = -0.5 * i;
	CHECK_NEAR(trend_of(values, TREND_DAYS_MAX, scratch).slope, -0.5, 1e-9);
}
