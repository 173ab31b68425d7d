#include "test.h"

#include "engine_sample.h"

TEST(a_tensor_is_shared_and_dropped_by_its_last_user)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value a, b;

	engine_sample_init(&sample, 1);
	CHECK_OK(engine_value_make(&sample.heap, ONNX_FLOAT, 2, (int64_t[]){ 3, 5 }, &a, &err));
	CHECK_INT(engine_value_elements(&a), 15);
	CHECK_INT(engine_value_bytes(&a), 60);
	CHECK(engine_value_alone(&a));
	b = engine_value_share(&a);
	CHECK(!engine_value_alone(&a) && b.data == a.data);
	engine_value_drop(&a);
	CHECK(!a.data && engine_value_alone(&b));
	engine_value_drop(&b);
	engine_value_drop(&b); /* empty: nothing */
	engine_sample_fini(&sample);
}

TEST(shapes_that_cannot_be_are_refused)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value value = { .rank = 7 };
	int64_t huge[3] = { INT64_MAX / 8, 100, 100 }, below[1] = { -1 }, many[17] = { 0 };
	int64_t hidden[3] = { INT64_MAX, 0, INT64_MAX };

	engine_sample_init(&sample, 1);
	CHECK_ERROR(engine_value_make(&sample.heap, ONNX_FLOAT, 3, huge, &value, &err), -E2BIG,
		    "larger than any memory");
	CHECK_ERROR(engine_value_make(&sample.heap, ONNX_FLOAT, 3, hidden, &value, &err), -E2BIG,
		    "larger than any memory");
	CHECK_ERROR(engine_value_make(&sample.heap, ONNX_FLOAT, 1, below, &value, &err), -EINVAL,
		    "-1");
	CHECK_ERROR(engine_value_make(&sample.heap, ONNX_FLOAT, 17, many, &value, &err), -E2BIG,
		    "17");
	CHECK_ERROR(engine_value_make(&sample.heap, ONNX_INT4, 0, NULL, &value, &err), -ENOTSUP,
		    "int4");
	CHECK_INT(value.rank, 7); /* untouched */
	engine_sample_fini(&sample);
}

TEST(texts_are_copied_and_made_own)
{
	struct engine_sample sample;
	struct strata_error err = { 0 };
	struct engine_value a, b;

	engine_sample_init(&sample, 1);
	CHECK_OK(engine_value_texts(&sample.heap, 1, (int64_t[]){ 2 },
				    (const char *[]){ "one", "two" }, &a, &err));
	CHECK_OK(engine_value_make(&sample.heap, ONNX_STRING, 1, (int64_t[]){ 1 }, &b, &err));
	((char **)b.data)[0] = ((char **)a.data)[1];
	CHECK_OK(engine_value_own_texts(&sample.heap, &b, &err));
	CHECK(((char **)b.data)[0] != ((char **)a.data)[1]);
	char *before = ((char **)b.data)[0];

	CHECK_OK(engine_value_own_texts(&sample.heap, &b, &err)); /* they are its own already */
	CHECK(((char **)b.data)[0] == before);
	engine_value_drop(&a);
	CHECK_TEXT(((char **)b.data)[0], "two");
	engine_value_drop(&b);
	engine_sample_fini(&sample);
}

static int list(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct engine_heap heap;
	struct engine_value items[2] = { 0 }, made = { 0 };

	(void)context;
	engine_heap_init(&heap, memory);
	int rc = engine_value_make(&heap, ONNX_INT64, 0, NULL, &items[0], err);

	if (rc == 0)
		rc = engine_value_texts(&heap, 0, NULL, (const char *[]){ "x" }, &items[1], err);
	if (rc == 0) {
		*(int64_t *)items[0].data = 42;
		rc = engine_value_list(&heap, ONNX_SEQUENCE, ONNX_INT64, items, 2, &made, err);
	}
	engine_value_drop(&items[0]);
	engine_value_drop(&items[1]);
	if (rc == 0) {
		test_result_int(*(int64_t *)made.items[0].data); /* held by the list */
		test_result_text(((char **)made.items[1].data)[0]);
	}
	engine_value_drop(&made);
	engine_heap_fini(&heap);
	return rc;
}

TEST(a_list_holds_its_items_whatever_fails)
{
	test_every_allocation(list, NULL);
}

TEST(types_have_names_and_sizes)
{
	CHECK_TEXT(engine_dtype_name(ONNX_BFLOAT16), "bfloat16");
	CHECK_TEXT(engine_dtype_name(999), "an unknown type");
	CHECK_INT(engine_dtype_bytes(ONNX_DOUBLE), 8);
	CHECK_INT(engine_dtype_bytes(-1), 0);
}
