/* Elements kept, cut, scaled or asked about one by one: Clip, PRelu, IsInf, IsNaN. */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Clip ---- */

/* A bound of the input's own type: an input, or an attribute before opset 11. False: there is none. */
static int read_bound(struct native_call *call, size_t input, int dtype, const void **ret_bound,
		      struct strata_error *err)
{
	const struct engine_value *value = native_input(call, input);

	*ret_bound = NULL;
	if (!value)
		return 0;
	int rc = native_typed(call, input, dtype, &value, err);

	if (rc == 0 && engine_value_elements(value) != 1)
		rc = native_refuse(call, err, "input %zu is not a single number", input + 1);
	if (rc == 0)
		*ret_bound = value->data;
	return rc;
}

/* NaN stays NaN; when the bounds cross, the upper one holds. */
#define CLIP(type, low_end, high_end)                                      \
	do {                                                               \
		type low = low_at ? *(const type *)low_at : (low_end);     \
		type high = high_at ? *(const type *)high_at : (high_end); \
		const type *from = x->data;                                \
		type *to = call->outputs[0].data;                          \
		NATIVE_EACH for (int64_t i = 0; i < count; i++) {          \
			type v = from[i];                                  \
			v = v < low ? low : v;                             \
			to[i] = v > high ? high : v;                       \
		}                                                          \
	} while (0)

static int clip(struct native_call *call, const struct engine_value *x, const void *low_at,
		const void *high_at, struct strata_error *err)
{
	int64_t count = engine_value_elements(x);

	switch (x->dtype) {
	case ONNX_FLOAT:
		CLIP(float, -INFINITY, INFINITY);
		return 0;
	case ONNX_DOUBLE:
		CLIP(double, -INFINITY, INFINITY);
		return 0;
	case ONNX_INT8:
		CLIP(int8_t, INT8_MIN, INT8_MAX);
		return 0;
	case ONNX_INT16:
		CLIP(int16_t, INT16_MIN, INT16_MAX);
		return 0;
	case ONNX_INT32:
		CLIP(int32_t, INT32_MIN, INT32_MAX);
		return 0;
	case ONNX_INT64:
		CLIP(int64_t, INT64_MIN, INT64_MAX);
		return 0;
	case ONNX_UINT8:
		CLIP(uint8_t, 0, UINT8_MAX);
		return 0;
	case ONNX_UINT16:
		CLIP(uint16_t, 0, UINT16_MAX);
		return 0;
	case ONNX_UINT32:
		CLIP(uint32_t, 0, UINT32_MAX);
		return 0;
	case ONNX_UINT64:
		CLIP(uint64_t, 0, UINT64_MAX);
		return 0;
	default:
		return native_refuse(call, err, "it does not take %s", engine_dtype_name(x->dtype));
	}
}

static int run_clip(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	const void *low = NULL, *high = NULL;
	float low_old = (float)native_real(call, "min", -INFINITY);
	float high_old = (float)native_real(call, "max", INFINITY);
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_bound(call, 1, x->dtype, &low, err);
	if (rc == 0)
		rc = read_bound(call, 2, x->dtype, &high, err);
	if (rc)
		return rc;
	if (call->opset < 11 && x->dtype == ONNX_FLOAT) {
		low = &low_old;
		high = &high_old;
	}
	rc = native_make_like(call, 0, 0, err);
	return rc ? rc : clip(call, x, low, high, err);
}

/* ---- PRelu ---- */

#define PRELU(type)                                                                        \
	do {                                                                               \
		const type *from = (const type *)values[0]->data + offsets[0];             \
		const type *slope = (const type *)values[1]->data + offsets[1];            \
		type *to = (type *)call->outputs[0].data + r * walk.run;                   \
		for (int64_t i = 0; i < walk.run; i++)                                     \
			to[i] = from[i] < 0 ? (type)(from[i] * slope[i * step]) : from[i]; \
	} while (0)

static int run_prelu(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *values[2];
	int64_t dims[STRATA_TENSOR_RANK_MAX], offsets[NATIVE_WALK_MAX];
	struct engine_value shaped;
	struct native_walk walk;
	size_t rank;
	int rc = native_tensor(call, 0, &values[0], err);

	if (rc == 0)
		rc = native_typed(call, 1, values[0]->dtype, &values[1], err);
	if (rc)
		return rc;
	/* Old files have one slope for each channel without saying so. */
	shaped = *values[1];
	if (call->opset < 9 && shaped.rank == 1 && values[0]->rank > 2 &&
	    shaped.dims[0] == values[0]->dims[1]) {
		shaped.rank = values[0]->rank - 1;
		for (size_t i = 1; i < shaped.rank; i++)
			shaped.dims[i] = 1;
		values[1] = &shaped;
	}
	rc = native_broadcast(call, values, 2, &rank, dims, err);
	if (rc == 0 &&
	    (rank != values[0]->rank || memcmp(dims, values[0]->dims, rank * sizeof(*dims)) != 0))
		rc = native_refuse(call, err, "the slopes do not fit to the input");
	if (rc == 0 && values[0]->dtype != ONNX_FLOAT && values[0]->dtype != ONNX_DOUBLE)
		rc = native_lacks(call, err, "it is not built for %s",
				  engine_dtype_name(values[0]->dtype));
	if (rc == 0)
		rc = native_make(call, 0, values[0]->dtype, rank, dims, err);
	if (rc || engine_value_elements(&call->outputs[0]) == 0)
		return rc;
	native_walk_init(&walk, rank, dims, values, 2);
	int64_t step = walk.rank ? walk.strides[1][0] : 0;

	for (int64_t r = 0; r < walk.runs; r++) {
		native_walk_at(&walk, r, offsets);
		if (values[0]->dtype == ONNX_FLOAT)
			PRELU(float);
		else
			PRELU(double);
	}
	return 0;
}

/* ---- questions ---- */

#define ASK(type, expression)                         \
	do {                                          \
		const type *from = x->data;           \
		for (int64_t i = 0; i < count; i++) { \
			type v = from[i];             \
			to[i] = (expression);         \
		}                                     \
	} while (0)

static int ask(struct native_call *call, bool infinite, struct strata_error *err)
{
	const struct engine_value *x;
	bool plus = native_int(call, "detect_positive", 1);
	bool minus = native_int(call, "detect_negative", 1);
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE)
		rc = native_refuse(call, err, "input 1 is %s; expected float32",
				   engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = native_make(call, 0, ONNX_BOOL, x->rank, x->dims, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x);
	uint8_t *to = call->outputs[0].data;

	if (x->dtype == ONNX_FLOAT && infinite)
		ASK(float, (plus && v > FLT_MAX) || (minus && v < -FLT_MAX));
	else if (x->dtype == ONNX_FLOAT)
		ASK(float, v != v);
	else if (infinite)
		ASK(double, (plus && v > DBL_MAX) || (minus && v < -DBL_MAX));
	else
		ASK(double, v != v);
	return 0;
}

static int run_is_inf(struct native_call *call, struct strata_error *err)
{
	return ask(call, true, err);
}
static int run_is_nan(struct native_call *call, struct strata_error *err)
{
	return ask(call, false, err);
}

static const struct native_op ops[] = {
	{ "Clip", run_clip },
	{ "IsInf", run_is_inf },
	{ "IsNaN", run_is_nan },
	{ "PRelu", run_prelu },
};

const struct native_family native_family_limit = { "limits", "", ops,
						   sizeof(ops) / sizeof(ops[0]) };
