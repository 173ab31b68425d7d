#include "engine_sample.h"

#include <math.h>

static struct engine_value doubles(struct engine_sample *sample, const double *numbers,
				   int64_t count)
{
	struct engine_value value;
	struct strata_error err = { 0 };

	CHECK_OK(engine_value_make(&sample->heap, ONNX_DOUBLE, 1, &count, &value, &err));
	memcpy(value.data, numbers, (size_t)count * sizeof(*numbers));
	return value;
}

TEST(reals_are_cut_to_whole_numbers)
{
	static const double from[] = { 1.9, -1.9, 300, NAN, 1e30, 0.3 };
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value a, b;

	engine_sample_init(&sample, 1);
	a = doubles(&sample, from, 6);
	CHECK_OK(engine_value_cast(&sample.heap, &a, ONNX_INT32, &b, &err));
	CHECK_INT(((int32_t *)b.data)[0], 1);
	CHECK_INT(((int32_t *)b.data)[1], -1);
	CHECK_INT(((int32_t *)b.data)[2], 300);
	engine_value_drop(&b);
	CHECK_OK(engine_value_cast(&sample.heap, &a, ONNX_BOOL, &b, &err));
	CHECK_INT(((uint8_t *)b.data)[5], 1); /* 0.3 is not 0 */
	engine_value_drop(&b);
	CHECK_OK(engine_value_cast(&sample.heap, &a, ONNX_DOUBLE, &b, &err));
	CHECK(b.data == a.data); /* nothing to do: a share */
	engine_value_drop(&b);
	engine_value_drop(&a);
	engine_sample_fini(&sample);
}

TEST(numbers_are_written_as_short_as_they_can_be)
{
	static const struct {
		double number;
		int dtype;
		const char *text;
	} cases[] = {
		{ 0.1, ONNX_FLOAT, "0.1" },        { 0.1, ONNX_DOUBLE, "0.1" },
		{ 2, ONNX_FLOAT, "2.0" },          { 1e-5, ONNX_DOUBLE, "1e-05" },
		{ 1e16, ONNX_DOUBLE, "1e+16" },    { 123456.789, ONNX_FLOAT, "123456.79" },
		{ -0.5, ONNX_FLOAT, "-0.5" },      { INFINITY, ONNX_FLOAT, "INF" },
		{ NAN, ONNX_DOUBLE, "NaN" },       { 1.0 / 3, ONNX_DOUBLE, "0.3333333333333333" },
		{ -42, ONNX_INT64, "-42" },        { 255, ONNX_UINT8, "255" },
		{ -INFINITY, ONNX_FLOAT, "-INF" }, { 1e15, ONNX_DOUBLE, "1000000000000000.0" },
		{ 1e-4, ONNX_DOUBLE, "0.0001" },
	};
	struct engine_sample sample;
	struct strata_error err = { 0 };

	engine_sample_init(&sample, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct engine_value a = doubles(&sample, &cases[i].number, 1), b, text;

		CHECK_OK(engine_value_cast(&sample.heap, &a, cases[i].dtype, &b, &err));
		CHECK_OK(engine_value_cast(&sample.heap, &b, ONNX_STRING, &text, &err));
		CHECK_TEXT(((char **)text.data)[0], cases[i].text);
		engine_value_drop(&a);
		engine_value_drop(&b);
		engine_value_drop(&text);
	}
	engine_sample_fini(&sample);
}

TEST(texts_become_numbers_or_are_refused)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value texts, numbers;

	engine_sample_init(&sample, 1);
	CHECK_OK(engine_value_texts(&sample.heap, 1, (int64_t[]){ 3 },
				    (const char *[]){ "-1e-3", "INF", "7" }, &texts, &err));
	CHECK_OK(engine_value_cast(&sample.heap, &texts, ONNX_FLOAT, &numbers, &err));
	CHECK_NEAR(((float *)numbers.data)[0], -0.001, 1e-9);
	CHECK(isinf(((float *)numbers.data)[1]));
	engine_value_drop(&numbers);
	engine_value_drop(&texts);
	CHECK_OK(engine_value_texts(&sample.heap, 0, NULL, (const char *[]){ "7 apples" }, &texts,
				    &err));
	CHECK_ERROR(engine_value_cast(&sample.heap, &texts, ONNX_INT64, &numbers, &err), -EINVAL,
		    "'7 apples'");
	engine_value_drop(&texts);
	engine_sample_fini(&sample);
}
