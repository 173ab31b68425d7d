/* What operators ask of their call: inputs, attributes, outputs, and sentences that name the node when something is wrong. */
#include "engine/native/native.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int complain(const struct native_call *call, int code, struct strata_error *err,
		    const char *format, va_list rest)
{
	char why[200];

	vsnprintf(why, sizeof(why), format, rest);
	return strata_fail(err, code, "%.40s node '%.64s': %s", call->node->kind,
			   call->node->name[0] ? call->node->name
			   : call->node->output_count ? call->node->outputs[0]
						      : "",
			   why);
}

int native_refuse(const struct native_call *call, struct strata_error *err, const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	int rc = complain(call, -EINVAL, err, format, rest);

	va_end(rest);
	return rc;
}

int native_lacks(const struct native_call *call, struct strata_error *err, const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	int rc = complain(call, -ENOTSUP, err, format, rest);

	va_end(rest);
	return rc;
}

/* ---- inputs ---- */

const struct engine_value *native_input(const struct native_call *call, size_t index)
{
	return index < call->input_count ? call->inputs[index] : NULL;
}

int native_tensor(const struct native_call *call, size_t index,
		  const struct engine_value **ret_value, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, index);

	if (!value)
		return native_refuse(call, err, "input %zu is missing", index + 1);
	if (value->kind != ONNX_TENSOR)
		return native_refuse(call, err, "input %zu is not a tensor", index + 1);
	*ret_value = value;
	return 0;
}

int native_typed(const struct native_call *call, size_t index, int dtype,
		 const struct engine_value **ret_value, struct strata_error *err)
{
	int rc = native_tensor(call, index, ret_value, err);

	if (rc == 0 && (*ret_value)->dtype != dtype)
		return native_refuse(call, err, "input %zu is %s; expected %s", index + 1,
				     engine_dtype_name((*ret_value)->dtype),
				     engine_dtype_name(dtype));
	return rc;
}

bool native_wants(const struct native_call *call, size_t index)
{
	return index < call->output_count && call->node->outputs[index][0];
}

int native_input_ints(const struct native_call *call, size_t index, int64_t *ret_values,
		      size_t room, size_t *ret_count, struct strata_error *err)
{
	const struct engine_value *value = NULL;
	int rc = native_tensor(call, index, &value, err);

	if (rc)
		return rc;
	int64_t count = engine_value_elements(value);

	if (value->dtype != ONNX_INT64 && value->dtype != ONNX_INT32)
		return native_refuse(call, err, "input %zu is %s; expected int64", index + 1,
				     engine_dtype_name(value->dtype));
	if (count > (int64_t)room)
		return native_refuse(call, err, "input %zu has %lld numbers; expected at most %zu",
				     index + 1, (long long)count, room);
	for (int64_t i = 0; i < count; i++)
		ret_values[i] = value->dtype == ONNX_INT64 ? ((const int64_t *)value->data)[i]
							   : ((const int32_t *)value->data)[i];
	*ret_count = (size_t)count;
	return 0;
}

int native_ints_either(const struct native_call *call, const char *name, size_t input,
		       int64_t *ret_values, size_t room, size_t *ret_count, bool *ret_given,
		       struct strata_error *err)
{
	size_t count = 0;
	const int64_t *values = native_ints(call, name, &count);

	*ret_given = true;
	if (values) {
		if (count > room)
			return native_refuse(call, err, "%s has %zu numbers; expected at most %zu",
					     name, count, room);
		memcpy(ret_values, values, count * sizeof(*values));
		*ret_count = count;
		return 0;
	}
	if (native_input(call, input))
		return native_input_ints(call, input, ret_values, room, ret_count, err);
	*ret_given = false;
	*ret_count = 0;
	return 0;
}

int native_input_real(const struct native_call *call, size_t index, double *ret_value,
		      struct strata_error *err)
{
	const struct engine_value *value = NULL;
	struct engine_value one, real;
	int rc = native_tensor(call, index, &value, err);

	if (rc)
		return rc;
	if (engine_value_elements(value) < 1 || value->dtype == ONNX_STRING)
		return native_refuse(call, err, "input %zu is not a number", index + 1);
	one = *value; /* its first element, borrowed */
	one.rank = 0;
	one.buffer = NULL;
	if (value->dtype == ONNX_DOUBLE) {
		*ret_value = *(const double *)value->data;
		return 0;
	}
	rc = engine_value_cast(call->heap, &one, ONNX_DOUBLE, &real, err);
	if (rc == 0) {
		*ret_value = *(const double *)real.data;
		engine_value_drop(&real);
	}
	return rc;
}

int native_axis(const struct native_call *call, int64_t axis, size_t rank, size_t *ret_axis,
		struct strata_error *err)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		return native_refuse(call, err, "axis is %lld; expected %lld to %lld",
				     (long long)axis, -(long long)rank, (long long)rank - 1);
	*ret_axis = (size_t)(axis < 0 ? axis + (int64_t)rank : axis);
	return 0;
}

/* ---- attributes ---- */

static const struct onnx_attribute *find(const struct native_call *call, const char *name, int type)
{
	const struct onnx_attribute *found = onnx_attribute_find(call->node, name);

	return found && found->type == type ? found : NULL;
}

int64_t native_int(const struct native_call *call, const char *name, int64_t missing)
{
	const struct onnx_attribute *found = find(call, name, ONNX_ATTR_INT);

	return found ? found->integer : missing;
}

double native_real(const struct native_call *call, const char *name, double missing)
{
	const struct onnx_attribute *found = find(call, name, ONNX_ATTR_FLOAT);

	return found ? found->real : missing;
}

const char *native_text(const struct native_call *call, const char *name, const char *missing)
{
	const struct onnx_attribute *found = find(call, name, ONNX_ATTR_STRING);

	return found ? found->text : missing;
}

const int64_t *native_ints(const struct native_call *call, const char *name, size_t *ret_count)
{
	static const int64_t none;
	const struct onnx_attribute *found = find(call, name, ONNX_ATTR_INTS);

	*ret_count = found ? found->count : 0;
	return !found ? NULL : found->count ? found->integers : &none;
}

const double *native_reals(const struct native_call *call, const char *name, size_t *ret_count)
{
	const struct onnx_attribute *found = find(call, name, ONNX_ATTR_FLOATS);

	*ret_count = found ? found->count : 0;
	return found ? found->reals : NULL;
}

/* ---- outputs ---- */

int native_make(struct native_call *call, size_t index, int dtype, size_t rank, const int64_t *dims,
		struct strata_error *err)
{
	struct strata_error why = { 0 };

	assert(index < call->output_count);
	int rc = (call->planned ? engine_value_make_planned : engine_value_make)(
		call->heap, dtype, rank, dims, &call->outputs[index], &why);

	if (rc == -ENOMEM)
		return strata_fail(err, rc, "%s", why.text);
	return rc ? native_refuse(call, err, "%s", why.text) : 0;
}

int native_make_like(struct native_call *call, size_t index, size_t input, struct strata_error *err)
{
	const struct engine_value *value = call->inputs[input];

	if (call->last_use && call->last_use[input] && engine_value_alone(value)) {
		call->outputs[index] = engine_value_share(value);
		return 0;
	}
	return native_make(call, index, value->dtype, value->rank, value->dims, err);
}

void native_share(struct native_call *call, size_t index, const struct engine_value *value,
		  size_t rank, const int64_t *dims)
{
	struct engine_value *output = &call->outputs[index];
	int64_t shape[STRATA_TENSOR_RANK_MAX];

	memcpy(shape, dims, rank * sizeof(*dims)); /* dims may be the value's own */
	*output = engine_value_share(value);
	output->rank = (uint32_t)rank;
	memcpy(output->dims, shape, rank * sizeof(*dims));
}

void *native_scratch(struct native_call *call, size_t bytes, struct strata_error *err)
{
	void *block = engine_heap_get(call->heap, bytes);

	if (!block)
		strata_fail(err, -ENOMEM, "no memory for %zu bytes of scratch", bytes);
	return block;
}
