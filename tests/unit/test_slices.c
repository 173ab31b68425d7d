#include "engine_sample.h"

#include "engine/native/slices.h"

TEST(parts_are_taken_and_stacked_again)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value x, parts[3], back;

	engine_sample_init(&sample, 1);
	x = sample_floats(&sample, 3, (int64_t[]){ 2, 3, 4 }, 1);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(slice_take(&sample.heap, &x, 1, i, 1, true, &parts[i], &err));
		CHECK_INT(parts[i].rank, 2);
		CHECK_BYTES((float *)parts[i].data + 4, (float *)x.data + (3 + i) * 4, 16);
	}
	CHECK_OK(slice_stack(&sample.heap, parts, 3, 1, false, &back, &err));
	CHECK_BYTES(back.data, x.data, engine_value_bytes(&x));
	engine_value_drop(&back);
	CHECK_OK(slice_stack(&sample.heap, parts, 3, 0, true, &back, &err));
	CHECK_INT(back.dims[0], 3);
	CHECK_BYTES(back.data, parts[2].data, engine_value_bytes(&parts[2]));
	engine_value_drop(&back);
	CHECK_ERROR(slice_stack(&sample.heap, parts, 3, 3, false, &back, &err), -EINVAL,
		    "dimension 3");
	engine_value_drop(&parts[1]);
	CHECK_OK(slice_take(&sample.heap, &x, 1, 1, 2, false, &parts[1], &err));
	CHECK_INT(parts[1].dims[1], 2);
	CHECK_ERROR(slice_stack(&sample.heap, parts, 3, 0, false, &back, &err), -EINVAL, "unlike");
	for (int i = 0; i < 3; i++)
		engine_value_drop(&parts[i]);
	engine_value_drop(&x);
	engine_sample_fini(&sample);
}

TEST(texts_of_a_part_are_its_own)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value texts, part;

	engine_sample_init(&sample, 1);
	CHECK_OK(engine_value_texts(&sample.heap, 1, (int64_t[]){ 2 },
				    (const char *[]){ "left", "right" }, &texts, &err));
	CHECK_OK(slice_take(&sample.heap, &texts, 0, 1, 1, true, &part, &err));
	engine_value_drop(&texts);
	CHECK_TEXT(((char **)part.data)[0], "right");
	engine_value_drop(&part);
	engine_sample_fini(&sample);
}
