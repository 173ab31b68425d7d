/* Arrays: types both ways, sharing, what cannot be one. */
#include "test.h"

#include "engine/engine.h"
#include "engine/engine_array.h"

#include <errno.h>

static struct strata_error err;

TEST(types_go_both_ways)
{
	for (int i = 1; i < STRATA_DTYPE_COUNT; i++) {
		int inside = engine_dtype_of((enum strata_dtype)i);

		if (inside != ONNX_NONE)
			CHECK_INT(engine_dtype_public(inside), i);
	}
	CHECK_INT(engine_dtype_of(STRATA_DTYPE_NONE), ONNX_NONE);
	CHECK_INT(engine_dtype_public(ONNX_COMPLEX64), STRATA_DTYPE_NONE);
}

TEST(arrays_are_counted_and_cast)
{
	struct strata_memory memory = { 0 };
	struct strata_array one = { 0 }, two, cast = { 0 };
	struct strata_engine *engine;
	const int64_t dims[] = { 2, 3 };

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_array_make(engine, STRATA_DTYPE_F32, 2, dims, &one, &err));
	for (int i = 0; i < 6; i++)
		((float *)one.data)[i] = (float)i - 2.7f;
	two = strata_array_share(&one);
	strata_array_drop(&one);
	CHECK_INT(one.dtype, STRATA_DTYPE_NONE);
	CHECK_INT(strata_array_elements(&two), 6);
	CHECK_INT(strata_array_bytes(&two), 24);
	CHECK_OK(strata_array_cast(engine, &two, STRATA_DTYPE_I64, &cast, &err));
	CHECK_INT(((int64_t *)cast.data)[0], -2);
	CHECK_INT(((int64_t *)cast.data)[5], 2);
	strata_array_drop(&two);
	strata_array_drop(&cast);
	strata_array_drop(&cast); /* an empty one is nothing */
	CHECK_ERROR(strata_array_make(engine, STRATA_DTYPE_F32, 1, (int64_t[]){ INT64_MAX }, &one,
				      &err),
		    -E2BIG, "larger than any memory");
	CHECK_ERROR(strata_array_make(engine, STRATA_DTYPE_F32, 1, (int64_t[]){ -1 }, &one, &err),
		    -EINVAL, "dimension -1");
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_sequence_is_no_array)
{
	struct engine_value sequence = { .kind = ONNX_SEQUENCE, .dtype = ONNX_FLOAT };
	struct strata_array array;

	CHECK_ERROR(engine_array_of_value(&sequence, &array, &err), -ENOTSUP, "sequence");
}
