/* Arrays: see engine_array.h. An array that holds contents points to the buffer of a value. */
#include "engine/engine_array.h"

#include "engine/engine.h"

#include <errno.h>
#include <string.h>

static const int onnx_dtypes[STRATA_DTYPE_COUNT] = {
	[STRATA_DTYPE_F64] = ONNX_DOUBLE,   [STRATA_DTYPE_F32] = ONNX_FLOAT,
	[STRATA_DTYPE_F16] = ONNX_FLOAT16,  [STRATA_DTYPE_BF16] = ONNX_BFLOAT16,
	[STRATA_DTYPE_I64] = ONNX_INT64,    [STRATA_DTYPE_I32] = ONNX_INT32,
	[STRATA_DTYPE_I16] = ONNX_INT16,    [STRATA_DTYPE_I8] = ONNX_INT8,
	[STRATA_DTYPE_U64] = ONNX_UINT64,   [STRATA_DTYPE_U32] = ONNX_UINT32,
	[STRATA_DTYPE_U16] = ONNX_UINT16,   [STRATA_DTYPE_U8] = ONNX_UINT8,
	[STRATA_DTYPE_BOOL] = ONNX_BOOL,    [STRATA_DTYPE_TEXT] = ONNX_STRING,
};

int engine_dtype_of(enum strata_dtype dtype)
{
	return (unsigned)dtype < STRATA_DTYPE_COUNT ? onnx_dtypes[dtype] : ONNX_NONE;
}

enum strata_dtype engine_dtype_public(int onnx_dtype)
{
	for (unsigned i = 1; i < STRATA_DTYPE_COUNT; i++)
		if (onnx_dtypes[i] == onnx_dtype && onnx_dtype != ONNX_NONE)
			return (enum strata_dtype)i;
	return STRATA_DTYPE_NONE;
}

/* The value that an array is, without counting. */
static struct engine_value seen(const struct strata_array *array)
{
	struct engine_value value = { .kind = ONNX_TENSOR,
				      .dtype = engine_dtype_of(array->dtype),
				      .rank = array->rank,
				      .data = array->data,
				      .buffer = array->held };

	memcpy(value.dims, array->dims, array->rank * sizeof(value.dims[0]));
	return value;
}

int engine_value_of_array(const struct strata_array *array, struct engine_value *ret_value,
			  struct strata_error *err)
{
	if (array->rank > STRATA_TENSOR_RANK_MAX || engine_dtype_of(array->dtype) == ONNX_NONE ||
	    array->dtype == STRATA_DTYPE_TEXT)
		return strata_fail(err, -EINVAL, "an array of type %s cannot be computed with",
				   strata_dtype_name(array->dtype));
	struct engine_value value = seen(array);

	*ret_value = engine_value_share(&value);
	return 0;
}

int engine_array_of_value(struct engine_value *value, struct strata_array *ret_array,
			  struct strata_error *err)
{
	struct strata_array array = { .dtype = engine_dtype_public(value->dtype),
				      .rank = value->rank,
				      .data = value->data,
				      .held = value->buffer };

	if (value->kind != ONNX_TENSOR || array.dtype == STRATA_DTYPE_TEXT ||
	    array.dtype == STRATA_DTYPE_NONE)
		return strata_fail(err, -ENOTSUP,
				   "an output that is a sequence or has texts cannot be given out");
	memcpy(array.dims, value->dims, value->rank * sizeof(array.dims[0]));
	*value = (struct engine_value){ 0 };
	*ret_array = array;
	return 0;
}

int strata_array_make(struct strata_engine *engine, enum strata_dtype dtype, size_t rank,
		      const int64_t *dims, struct strata_array *ret_array, struct strata_error *err)
{
	struct engine_value value;
	int rc = engine_value_make(&engine->heap, engine_dtype_of(dtype), rank, dims, &value, err);

	return rc ? rc : engine_array_of_value(&value, ret_array, err);
}

struct strata_array strata_array_share(const struct strata_array *array)
{
	struct engine_value value = seen(array);

	engine_value_share(&value);
	return *array;
}

void strata_array_drop(struct strata_array *array)
{
	struct engine_value value = seen(array);

	if (array->dtype != STRATA_DTYPE_NONE)
		engine_value_drop(&value);
	*array = (struct strata_array){ 0 };
}

int64_t strata_array_elements(const struct strata_array *array)
{
	int64_t count = array->dtype == STRATA_DTYPE_NONE ? 0 : 1;

	for (uint32_t i = 0; i < array->rank; i++)
		count *= array->dims[i];
	return count;
}

size_t strata_array_bytes(const struct strata_array *array)
{
	return (size_t)(strata_array_elements(array) * strata_dtype_bytes(array->dtype));
}

int strata_array_cast(struct strata_engine *engine, const struct strata_array *array,
		      enum strata_dtype dtype, struct strata_array *ret_array,
		      struct strata_error *err)
{
	struct engine_value value = seen(array), cast;
	int rc = engine_value_cast(&engine->heap, &value, engine_dtype_of(dtype), &cast, err);

	return rc ? rc : engine_array_of_value(&cast, ret_array, err);
}
