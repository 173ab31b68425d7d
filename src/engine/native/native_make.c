/* Values from nothing: constants, ranges, filled shapes. */
#include "engine/native/native.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int run_constant(struct native_call *call, struct strata_error *err)
{
	const struct onnx_attribute *attribute =
		call->node->attribute_count ? &call->node->attributes[0] : NULL;
	int64_t count = attribute ? (int64_t)attribute->count : 0;
	int rc = 0;

	if (!attribute)
		return native_refuse(call, err, "it has no value");
	switch (attribute->type) {
	case ONNX_ATTR_TENSOR:
		return engine_value_of_tensor(call->heap, attribute->tensor, call->directory, true,
					      &call->outputs[0], err);
	case ONNX_ATTR_INT:
		rc = native_make(call, 0, ONNX_INT64, 0, NULL, err);
		if (rc == 0)
			*(int64_t *)call->outputs[0].data = attribute->integer;
		return rc;
	case ONNX_ATTR_FLOAT:
		rc = native_make(call, 0, ONNX_FLOAT, 0, NULL, err);
		if (rc == 0)
			*(float *)call->outputs[0].data = (float)attribute->real;
		return rc;
	case ONNX_ATTR_INTS:
		rc = native_make(call, 0, ONNX_INT64, 1, &count, err);
		if (rc == 0)
			memcpy(call->outputs[0].data, attribute->integers,
			       (size_t)count * sizeof(int64_t));
		return rc;
	case ONNX_ATTR_FLOATS:
		rc = native_make(call, 0, ONNX_FLOAT, 1, &count, err);
		for (int64_t i = 0; rc == 0 && i < count; i++)
			((float *)call->outputs[0].data)[i] = (float)attribute->reals[i];
		return rc;
	case ONNX_ATTR_STRING:
		return engine_value_texts(call->heap, 0, NULL, &attribute->text, &call->outputs[0],
					  err);
	default:
		return native_lacks(call, err, "a value of that form is not built");
	}
}

static int run_constant_of_shape(struct native_call *call, struct strata_error *err)
{
	const struct onnx_attribute *attribute = onnx_attribute_find(call->node, "value");
	struct engine_value one = { 0 };
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	size_t rank;
	int rc = native_input_ints(call, 0, dims, STRATA_TENSOR_RANK_MAX, &rank, err);

	if (rc)
		return rc;
	if (attribute && attribute->type == ONNX_ATTR_TENSOR) {
		rc = engine_value_of_tensor(call->heap, attribute->tensor, call->directory, true,
					    &one, err);
	} else {
		rc = engine_value_make(call->heap, ONNX_FLOAT, 0, NULL, &one, err);
		if (rc == 0)
			*(float *)one.data = 0;
	}
	if (rc == 0 && (engine_value_elements(&one) != 1 || one.dtype == ONNX_STRING))
		rc = native_refuse(call, err, "its value is not a single number");
	if (rc == 0)
		rc = native_make(call, 0, one.dtype, rank, dims, err);
	if (rc == 0) {
		size_t width = engine_dtype_bytes(one.dtype);
		int64_t count = engine_value_elements(&call->outputs[0]);

		for (int64_t i = 0; i < count; i++)
			memcpy((char *)call->outputs[0].data + (size_t)i * width, one.data, width);
	}
	engine_value_drop(&one);
	return rc;
}

/* start, start + delta … below limit. */
static int run_range(struct native_call *call, struct strata_error *err)
{
	struct engine_value wide = { 0 };
	double start, limit, delta;
	int rc = native_input_real(call, 0, &start, err);

	if (rc == 0)
		rc = native_input_real(call, 1, &limit, err);
	if (rc == 0)
		rc = native_input_real(call, 2, &delta, err);
	if (rc)
		return rc;
	double count_real = ceil((limit - start) / delta);

	if (!(delta != 0) || !(count_real < 1e15))
		return native_refuse(call, err, "delta is %g from %g to %g", delta, start, limit);
	int64_t count = count_real > 0 ? (int64_t)count_real : 0;

	rc = engine_value_make(call->heap, ONNX_DOUBLE, 1, &count, &wide, err);
	for (int64_t i = 0; rc == 0 && i < count; i++)
		((double *)wide.data)[i] = start + (double)i * delta;
	if (rc == 0)
		rc = engine_value_cast(call->heap, &wide, call->inputs[0]->dtype, &call->outputs[0],
				       err);
	engine_value_drop(&wide);
	return rc;
}

static int run_eye(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value wide = { 0 };
	int64_t diagonal = native_int(call, "k", 0);
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (x->rank != 2)
		return native_refuse(call, err, "input 1 has %u dimensions; expected 2", x->rank);
	rc = engine_value_make(call->heap, ONNX_DOUBLE, 2, x->dims, &wide, err);
	if (rc)
		return rc;
	for (int64_t i = 0; i < x->dims[0]; i++)
		for (int64_t k = 0; k < x->dims[1]; k++)
			((double *)wide.data)[i * x->dims[1] + k] = k - i == diagonal;
	int64_t dtype = native_int(call, "dtype", x->dtype);

	rc = engine_value_cast(call->heap, &wide,
			       dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16 ? ONNX_FLOAT
									       : (int)dtype,
			       &call->outputs[0], err);
	engine_value_drop(&wide);
	return rc;
}

static const struct native_op ops[] = {
	{ "Constant", run_constant },
	{ "ConstantOfShape", run_constant_of_shape },
	{ "EyeLike", run_eye },
	{ "Range", run_range },
};

const struct native_family native_family_make = { "constants", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
