#include "engine_sample.h"

#include "engine/native/keys.h"

#include <math.h>

TEST(keys_have_the_order_of_the_numbers)
{
	static const float sorted[] = { -INFINITY, -3e38f, -2, -1e-40f,  0,
					1e-40f,    1,      2,  INFINITY, NAN };
	static const uint64_t whole[] = { 0, 1, INT64_MAX, UINT64_MAX };
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value value;
	int64_t keys[10];

	engine_sample_init(&sample, 1);
	CHECK_OK(engine_value_make(&sample.heap, ONNX_FLOAT, 1, (int64_t[]){ 10 }, &value, &err));
	memcpy(value.data, sorted, sizeof(sorted));
	CHECK(keys_of(&value, keys));
	for (int i = 1; i < 10; i++)
		CHECK(keys[i - 1] < keys[i]);
	((float *)value.data)[0] = 0;
	((float *)value.data)[1] = -0.0f;
	CHECK(keys_of(&value, keys));
	CHECK_INT(keys[0], keys[1]);
	engine_value_drop(&value);
	CHECK_OK(engine_value_make(&sample.heap, ONNX_UINT64, 1, (int64_t[]){ 4 }, &value, &err));
	memcpy(value.data, whole, sizeof(whole));
	CHECK(keys_of(&value, keys));
	for (int i = 1; i < 4; i++)
		CHECK(keys[i - 1] < keys[i]);
	engine_value_drop(&value);
	CHECK_OK(engine_value_texts(&sample.heap, 0, NULL, (const char *[]){ "x" }, &value, &err));
	CHECK(!keys_of(&value, keys));
	engine_value_drop(&value);
	engine_sample_fini(&sample);
}
