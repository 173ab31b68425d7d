#include "test.h"

#include "server/day_sketch.h"

#include <math.h>

static struct day_sketch sketch;

static void empty(void)
{
	sketch = (struct day_sketch){ 0 };
}

TEST(quantiles_are_right_within_a_bucket)
{
	empty();
	for (int i = 1; i <= 1000; i++)
		day_sketch_add(&sketch, i);
	CHECK_INT(sketch.count, 1000);
	for (int i = 1; i <= 9; i++) {
		double got = day_sketch_quantile(&sketch, i / 10.0);

		CHECK(fabs(got / (i * 100) - 1) < 0.05);
	}
}

TEST(the_smallest_and_the_largest_have_a_place)
{
	empty();
	CHECK_NEAR(day_sketch_quantile(&sketch, 0.5), 0, 0);
	day_sketch_add(&sketch, 0);
	day_sketch_add(&sketch, -5);
	CHECK_NEAR(day_sketch_quantile(&sketch, 0.5), 0, 0);
	day_sketch_add(&sketch, INFINITY);
	day_sketch_add(&sketch, 1e300);
	day_sketch_add(&sketch, NAN);
	CHECK_INT(sketch.count, 4);
	CHECK(day_sketch_quantile(&sketch, 1) > 1e9);
}

TEST(it_comes_back_as_it_was_kept)
{
	empty();
	for (int i = 0; i < 500; i++)
		day_sketch_add(&sketch, exp(i % 37 - 18));
	json_t *kept = day_sketch_keep(&sketch);
	static struct day_sketch again;

	day_sketch_restore(&again, kept);
	json_decref(kept);
	CHECK_BYTES(&again, &sketch, sizeof(again));
}

TEST(what_is_not_of_the_form_is_left_out)
{
	static const char *const texts[] = {
		"null",    "{}",       "[1]",       "[[1]]",       "[[-1,2]]",        "[[860,2]]",
		"[[1,0]]", "[[1,-3]]", "[[1,2,3]]", "[[1,\"2\"]]", "[[1,4294967296]]"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *kept = json_loads(texts[i], JSON_DECODE_ANY, NULL);

		day_sketch_restore(&sketch, kept);
		json_decref(kept);
		CHECK_INT(sketch.count, 0);
	}
	json_t *twice = json_loads("[[1,2],[1,3]]", 0, NULL);

	day_sketch_restore(&sketch, twice);
	json_decref(twice);
	CHECK_INT(sketch.count, 2);
}
