/* Numbers as small integers with a scale, and back: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Scale and zero point of a tensor: one for all, or one for each index of an axis. */
struct quantity {
	const float *scales;
	struct engine_value zeros; /* int32; nothing: 0 */
	int64_t count, inner;      /* how many there are, and how many elements lie within one */
	int zero_dtype;            /* ONNX_NONE: left out */
};

static int read_quantity(struct native_call *call, const struct engine_value *x,
			 struct quantity *quantity, struct strata_error *err)
{
	const struct engine_value *scale, *zero = native_input(call, 2);
	size_t axis = 0;
	int rc = native_typed(call, 1, ONNX_FLOAT, &scale, err);

	if (rc == 0 && native_int(call, "block_size", 0))
		rc = native_lacks(call, err, "scales by blocks are not built");
	if (rc)
		return rc;
	quantity->scales = scale->data;
	quantity->count = engine_value_elements(scale);
	quantity->inner = 1;
	if (quantity->count != 1 || scale->rank == 1) {
		rc = x->rank ? native_axis(call, native_int(call, "axis", 1), x->rank, &axis, NULL)
			     : -EINVAL;
		if (quantity->count != 1 &&
		    (rc || scale->rank != 1 || quantity->count != x->dims[axis]))
			return native_refuse(call, err, "there are %lld scales",
					     (long long)quantity->count);
	}
	for (size_t i = axis + 1; i < x->rank && quantity->count > 1; i++)
		quantity->inner *= x->dims[i];
	quantity->zero_dtype = ONNX_NONE;
	if (!zero)
		return 0;
	if (zero->kind != ONNX_TENSOR || zero->dtype == ONNX_STRING ||
	    engine_value_elements(zero) != quantity->count)
		return native_refuse(call, err, "zero points and scales have unlike shapes");
	quantity->zero_dtype = zero->dtype;
	return engine_value_cast(call->heap, zero, ONNX_INT32, &quantity->zeros, err);
}

static bool limits_of(int dtype, int32_t *ret_low, int32_t *ret_high)
{
	*ret_low = dtype == ONNX_INT8 ? -128 : dtype == ONNX_INT16 ? -32768 : 0;
	*ret_high = dtype == ONNX_INT8    ? 127
		    : dtype == ONNX_UINT8 ? 255
		    : dtype == ONNX_INT16 ? 32767
					  : 65535;
	return dtype == ONNX_INT8 || dtype == ONNX_UINT8 || dtype == ONNX_INT16 ||
	       dtype == ONNX_UINT16;
}

static void store(void *to, int dtype, int64_t at, int32_t value)
{
	if (dtype == ONNX_INT8 || dtype == ONNX_UINT8)
		((uint8_t *)to)[at] = (uint8_t)value;
	else
		((uint16_t *)to)[at] = (uint16_t)value;
}

/* Rounded to even, moved, and cut to what the type holds; NaN is the zero point. */
static int32_t quantized(float x, float scale, int32_t zero, int32_t low, int32_t high)
{
	double q = rint((double)(x / scale)) + zero;

	return q <= low ? low : q >= high ? high : q == q ? (int32_t)q : zero;
}

static int run_quantize(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct quantity quantity = { 0 };
	int32_t low = 0, high = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && x->dtype != ONNX_FLOAT && x->dtype != ONNX_INT32)
		rc = native_refuse(call, err, "input 1 is %s; expected float32",
				   engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = read_quantity(call, x, &quantity, err);
	int dtype = quantity.zero_dtype ? quantity.zero_dtype
					: (int)native_int(call, "output_dtype", ONNX_UINT8);

	if (rc == 0 && !limits_of(dtype, &low, &high))
		rc = native_lacks(call, err, "it is not built for %s", engine_dtype_name(dtype));
	if (rc == 0)
		rc = native_make(call, 0, dtype, x->rank, x->dims, err);
	int64_t count = rc ? 0 : engine_value_elements(x);

	for (int64_t i = 0; i < count; i++) {
		int64_t which = i / quantity.inner % quantity.count;
		float value = x->dtype == ONNX_FLOAT ? ((const float *)x->data)[i]
						     : (float)((const int32_t *)x->data)[i];
		int32_t zero = quantity.zeros.data ? ((const int32_t *)quantity.zeros.data)[which]
						   : 0;

		store(call->outputs[0].data, dtype, i,
		      quantized(value, quantity.scales[which], zero, low, high));
	}
	engine_value_drop(&quantity.zeros);
	return rc;
}

static int run_dequantize(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value wide = { 0 };
	struct quantity quantity = { 0 };
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && (onnx_dtype_real(x->dtype) || x->dtype == ONNX_STRING))
		rc = native_refuse(call, err, "input 1 is %s; expected int8 or uint8",
				   engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = read_quantity(call, x, &quantity, err);
	if (rc == 0)
		rc = engine_value_cast(call->heap, x, ONNX_INT32, &wide, err);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	int64_t count = rc ? 0 : engine_value_elements(x);
	float *to = rc ? NULL : call->outputs[0].data;

	for (int64_t i = 0; i < count; i++) {
		int64_t which = i / quantity.inner % quantity.count;
		int64_t zero = quantity.zeros.data ? ((const int32_t *)quantity.zeros.data)[which]
						   : 0;

		to[i] = (float)(((const int32_t *)wide.data)[i] - zero) * quantity.scales[which];
	}
	engine_value_drop(&wide);
	engine_value_drop(&quantity.zeros);
	return rc;
}

static int run_dynamic(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	float low = 0, high = 0; /* 0 is always in the range */
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_make(call, 0, ONNX_UINT8, x->rank, x->dims, err);
	if (rc == 0 && native_wants(call, 1))
		rc = native_make(call, 1, ONNX_FLOAT, 0, NULL, err);
	if (rc == 0 && native_wants(call, 2))
		rc = native_make(call, 2, ONNX_UINT8, 0, NULL, err);
	if (rc)
		return rc;
	const float *from = x->data;
	int64_t count = engine_value_elements(x);

	for (int64_t i = 0; i < count; i++) {
		low = from[i] < low ? from[i] : low;
		high = from[i] > high ? from[i] : high;
	}
	float scale = (high - low) / 255;
	int32_t zero = scale > 0 ? quantized(-low, scale, 0, 0, 255) : 0;

	for (int64_t i = 0; i < count; i++)
		((uint8_t *)call->outputs[0].data)[i] =
			(uint8_t)quantized(from[i], scale > 0 ? scale : 1, zero, 0, 255);
	if (native_wants(call, 1))
		*(float *)call->outputs[1].data = scale;
	if (native_wants(call, 2))
		*(uint8_t *)call->outputs[2].data = (uint8_t)zero;
	return 0;
}

static const struct native_op ops[] = {
	{ "DequantizeLinear", run_dequantize },
	{ "DynamicQuantizeLinear", run_dynamic },
	{ "QuantizeLinear", run_quantize },
};

const struct native_family native_family_quantize = { "quantisation", "", ops,
						      sizeof(ops) / sizeof(ops[0]) };
