/* What a model has needed, by the size of the pictures. */
#include "test.h"

#include "server/model_measure.h"

#include <strata/limits.h>

#define MS INT64_C(1000000)

static const struct model_shape small = { 64, 64, 1 }, large = { 512, 512, 1 };

TEST(what_is_not_known_is_guessed_by_what_is)
{
	struct model_measures measures = { 0 };

	CHECK_INT(model_measure_expect(&measures, &small, 10), 1000 * MS);
	CHECK_INT(model_measure_expect(&measures, &small, 0), 100 * MS);
	model_measure_steps(&measures, &small, 4, 40 * MS);
	CHECK(model_measure_knows(&measures, &small));
	CHECK(!model_measure_knows(&measures, &large));
	CHECK_INT(model_measure_expect(&measures, &small, 10), 100 * MS);
	CHECK_INT(model_measure_expect(&measures, &large, 10), 100 * MS);
	model_measure_steps(&measures, &large, 1, 500 * MS);
	CHECK_INT(model_measure_expect(&measures, &large, 2), 1000 * MS);
	CHECK_INT(model_measure_expect(&measures, &small, 1), 10 * MS);
	model_measure_steps(&measures, &small, 0, 500 * MS); /* nothing that is no step counts */
	model_measure_steps(&measures, &small, 1, -1);
	CHECK_INT(model_measure_expect(&measures, &small, 1), 10 * MS);
	model_measure_steps(&measures, &large, 1, INT64_MAX);
	CHECK_INT(model_measure_expect(&measures, &large, STRATA_TASK_STEPS_MAX),
		  STRATA_TASK_COST_NS_MAX);
}

TEST(a_faster_machine_is_soon_known)
{
	struct model_measures measures = { 0 };

	for (int i = 0; i < 100000; i++)
		model_measure_steps(&measures, &small, 1, 100 * MS);
	for (int i = 0; i < 20000; i++)
		model_measure_steps(&measures, &small, 1, 10 * MS);
	CHECK(model_measure_expect(&measures, &small, 1) < 11 * MS);
}

TEST(the_size_that_nobody_asks_for_goes)
{
	struct model_measures measures = { 0 };

	for (int64_t i = 0; i < MODEL_SHAPES_MAX; i++)
		model_measure_steps(&measures, &(struct model_shape){ i, i, 1 }, 1, (i + 1) * MS);
	model_measure_images(&measures, &(struct model_shape){ 0, 0, 1 }, 3);
	CHECK_INT(measures.count, MODEL_SHAPES_MAX);
	model_measure_steps(&measures, &large, 1, 7 * MS);
	CHECK_INT(measures.count, MODEL_SHAPES_MAX);
	CHECK_INT(model_measure_expect(&measures, &(struct model_shape){ 0, 0, 1 }, 1), MS);
	CHECK_INT(model_measure_expect(&measures, &large, 1), 7 * MS);
	json_t *view = model_measure_view(&measures);

	CHECK_INT(json_array_size(view), MODEL_SHAPES_MAX);
	CHECK_INT(json_integer_value(json_object_get(json_array_get(view, 0), "width")), 512);
	CHECK_INT(json_integer_value(json_object_get(json_array_get(view, 1), "images")), 3);
	json_decref(view);
}

TEST(it_is_kept_and_comes_back)
{
	struct model_measures measures = { 0 }, again;

	model_measure_steps(&measures, &small, 3, 30 * MS);
	model_measure_images(&measures, &small, 2);
	model_measure_images(&measures, &large, 1); /* without a step */
	json_t *kept = model_measure_keep(&measures), *view = model_measure_view(&measures);

	model_measure_restore(&again, kept);
	CHECK_INT(model_measure_expect(&again, &small, 2), 20 * MS);
	CHECK(!again.changed);
	json_t *other = model_measure_view(&again);

	CHECK(json_equal(view, other));
	json_decref(other);
	/* what is not of that form is left out */
	json_array_append_new(kept, json_string("x"));
	json_array_append_new(kept, json_pack("[i,i,i,i,i,i,i]", 1, 2, 3, -4, 5, 6, 7));
	json_array_append_new(kept, json_pack("[i,i,i,i,i,i,i]", 64, 64, 1, 4, 5, 6, 7));
	model_measure_restore(&again, kept);
	CHECK_INT(again.count, 2);
	model_measure_restore(&again, NULL);
	CHECK_INT(again.count, 0);
	json_decref(view);
	json_decref(kept);
}
