#include "test.h"

#include "server/load_series.h"

#include <math.h>

#define HOUR (INT64_C(3600) * 1000000000)
#define UNTIL (1000 * HOUR)

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

TEST(gpus_in_use_are_shared_out_over_the_points)
{
	struct load_series series;

	load_series_init(&series, UNTIL);
	load_series_add(&series, &(struct load_job){ UNTIL - 3 * HOUR, UNTIL - 2 * HOUR,
						     UNTIL - HOUR - HOUR / 8, 4 });
	CHECK(near(load_series_gpus(&series, 96 - 9), 0));
	CHECK(near(load_series_gpus(&series, 96 - 8), 4));
	CHECK(near(load_series_gpus(&series, 96 - 6), 4));
	CHECK(near(load_series_gpus(&series, 96 - 5), 2)); /* half of a quarter */
	CHECK(near(load_series_gpus(&series, 96 - 4), 0));
	CHECK(near(load_series_waiting(&series, 96 - 12), 1));
	CHECK(near(load_series_waiting(&series, 96 - 8), 0));
	CHECK(near(load_series_wait_s(&series, 96 - 8), 3600));
	CHECK(near(load_series_wait_s(&series, 96 - 7), -1));
}

TEST(what_has_not_ended_goes_on_until_now)
{
	struct load_series series;

	load_series_init(&series, UNTIL);
	load_series_add(&series, &(struct load_job){ UNTIL - 100 * HOUR, UNTIL - 50 * HOUR, 0, 2 });
	load_series_add(&series, &(struct load_job){ UNTIL - HOUR / 4, 0, 0, 8 });
	CHECK(near(load_series_gpus(&series, 0), 2));
	CHECK(near(load_series_gpus(&series, 95), 2));
	CHECK(near(load_series_waiting(&series, 95), 1));
	CHECK(near(load_series_waiting(&series, 94), 0));
}

TEST(what_is_outside_of_the_day_is_left_out)
{
	struct load_series series;

	load_series_init(&series, UNTIL);
	load_series_add(&series, &(struct load_job){ 1, 2, 3, 4 });
	load_series_add(&series, &(struct load_job){ UNTIL, UNTIL, UNTIL + HOUR, 4 });
	load_series_add(&series, &(struct load_job){ UNTIL - HOUR, 0, UNTIL - HOUR, 4 });
	for (size_t i = 0; i < LOAD_SERIES_POINTS; i++)
		CHECK(near(load_series_gpus(&series, i), 0) &&
		      near(load_series_waiting(&series, i), 0) &&
		      near(load_series_wait_s(&series, i), -1));
}
