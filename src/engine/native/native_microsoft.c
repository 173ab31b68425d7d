/* Operators of com.microsoft that exports of transformers use: GELU with its bias, products with transposed operands, sums that are normalised. */
#include "engine/native/native.h"

#include "engine/native/vmath.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- x + bias through a function ---- */

struct gelu_work {
	enum vmath function;
	const float *from, *bias; /* bias: of a row; NULL: none */
	float *to;
	int64_t row;
};

static void gelu_rows(void *arg, int64_t first, int64_t past)
{
	const struct gelu_work *work = arg;

	for (int64_t r = first; r < past; r++) {
		const float *from = work->from + r * work->row;
		float *to = work->to + r * work->row;

		for (int64_t i = 0; i < work->row; i++)
			to[i] = work->bias ? from[i] + work->bias[i] : from[i];
		vmath_apply(work->function, to, work->row, to);
	}
}

static int run_with_bias(struct native_call *call, enum vmath function, struct strata_error *err)
{
	const struct engine_value *x, *bias = native_input(call, 1);
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0 && bias)
		rc = native_typed(call, 1, ONNX_FLOAT, &bias, err);
	if (rc == 0 &&
	    (x->rank < 1 || (bias && (bias->rank != 1 || bias->dims[0] != x->dims[x->rank - 1]))))
		rc = native_refuse(call, err, "the bias does not fit to the input");
	if (rc == 0)
		rc = native_make_like(call, 0, 0, err);
	if (rc || engine_value_elements(x) == 0)
		return rc;
	struct gelu_work work = { function, x->data, bias ? bias->data : NULL,
				  call->outputs[0].data, x->dims[x->rank - 1] };

	engine_team_run(call->team, engine_value_elements(x) / work.row, 1 + 8192 / (work.row + 1),
			gelu_rows, &work);
	return 0;
}

static int run_gelu(struct native_call *call, struct strata_error *err)
{
	return run_with_bias(call, VMATH_GELU, err);
}
static int run_fast_gelu(struct native_call *call, struct strata_error *err)
{
	return run_with_bias(call, VMATH_GELU_TANH, err);
}

/* x · sigmoid(alpha · x) */
static int run_quick_gelu(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	float alpha = (float)native_real(call, "alpha", 1.702);
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	if (rc)
		return rc;
	const float *from = x->data;
	float *to = call->outputs[0].data;
	int64_t count = engine_value_elements(x);

	for (int64_t i = 0; i < count; i++)
		to[i] = alpha * from[i];
	vmath_apply(VMATH_SIGMOID, to, count, to);
	for (int64_t i = 0; i < count; i++)
		to[i] *= from[i];
	return 0;
}

/* ---- FusedMatMul: operands transposed first, the product scaled ---- */

/* The last two dimensions changed places. */
static int turned(struct native_call *call, const struct engine_value *x, bool turn,
		  struct engine_value *ret_value, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX];

	if (!turn || x->rank < 2) {
		*ret_value = engine_value_share(x);
		return 0;
	}
	memcpy(dims, x->dims, sizeof(dims));
	int64_t rows = dims[x->rank - 2], columns = dims[x->rank - 1];

	dims[x->rank - 2] = columns;
	dims[x->rank - 1] = rows;
	int rc = engine_value_make(call->heap, ONNX_FLOAT, x->rank, dims, ret_value, err);
	int64_t count = rc ? 0 : engine_value_elements(x);

	for (int64_t i = 0; i < count; i++)
		((float *)ret_value->data)[i / (rows * columns) * rows * columns +
					   i % columns * rows + i / columns % rows] =
			((const float *)x->data)[i];
	return rc;
}

static int run_fused_matmul(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x[2];
	struct engine_value operands[2] = { 0 };
	float alpha = (float)native_real(call, "alpha", 1);
	int rc = native_typed(call, 0, ONNX_FLOAT, &x[0], err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &x[1], err);
	if (rc == 0 && (native_int(call, "transBatchA", 0) || native_int(call, "transBatchB", 0)))
		rc = native_lacks(call, err, "transposed batches are not built");
	for (size_t i = 0; rc == 0 && i < 2; i++)
		rc = turned(call, x[i], native_int(call, i ? "transB" : "transA", 0), &operands[i],
			    err);
	if (rc == 0) {
		const struct engine_value *inputs[2] = { &operands[0], &operands[1] };
		struct native_call inner = *call;

		inner.inputs = inputs;
		inner.constant = NULL;
		inner.last_use = NULL;
		rc = native_op_find("", "MatMul")->run(&inner, err);
	}
	int64_t count = rc ? 0 : engine_value_elements(&call->outputs[0]);

	for (int64_t i = 0; alpha != 1 && i < count; i++)
		((float *)call->outputs[0].data)[i] *= alpha;
	engine_value_drop(&operands[0]);
	engine_value_drop(&operands[1]);
	return rc;
}

/* ---- SkipLayerNormalization: input + skip + bias, normalised ---- */

/* The sum that is normalised. */
static int skip_sum(struct native_call *call, size_t bias_index, struct engine_value *ret_sum,
		    struct strata_error *err)
{
	const struct engine_value *x, *skip, *bias = native_input(call, bias_index);
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &skip, err);
	if (rc == 0 && bias)
		rc = native_typed(call, bias_index, ONNX_FLOAT, &bias, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x), row = x->rank ? x->dims[x->rank - 1] : 0;

	if (engine_value_elements(skip) != count || (bias && engine_value_elements(bias) != row))
		return native_refuse(call, err, "input, skip and bias do not fit together");
	rc = engine_value_make(call->heap, ONNX_FLOAT, x->rank, x->dims, ret_sum, err);
	for (int64_t i = 0; rc == 0 && i < count; i++) {
		float sum = ((const float *)x->data)[i] + ((const float *)skip->data)[i];

		((float *)ret_sum->data)[i] = bias ? sum + ((const float *)bias->data)[i % row]
						   : sum;
	}
	return rc;
}

static int run_skip(struct native_call *call, bool centred, struct strata_error *err)
{
	struct engine_value sum = { 0 };
	int rc = 0;

	if (native_wants(call, 1) || native_wants(call, 2))
		rc = native_lacks(call, err, "its training outputs are not built");
	if (rc == 0)
		rc = skip_sum(call, centred ? 4 : 3, &sum, err);
	if (rc == 0) {
		const struct engine_value *inputs[3] = { &sum, native_input(call, 2),
							 centred ? native_input(call, 3) : NULL };
		struct native_call inner = *call;

		inner.inputs = inputs;
		inner.input_count = inputs[2] ? 3 : 2;
		inner.output_count = 1;
		inner.last_use = NULL;
		rc = native_op_find("", centred ? "LayerNormalization" : "RMSNormalization")
			     ->run(&inner, err);
	}
	if (rc == 0 && native_wants(call, 3))
		call->outputs[3] = engine_value_share(&sum);
	engine_value_drop(&sum);
	return rc;
}

static int run_skip_layer(struct native_call *call, struct strata_error *err)
{
	return run_skip(call, true, err);
}
static int run_skip_simplified(struct native_call *call, struct strata_error *err)
{
	return run_skip(call, false, err);
}

static const struct native_op ops[] = {
	{ "BiasGelu", run_gelu },
	{ "FastGelu", run_fast_gelu },
	{ "FusedMatMul", run_fused_matmul },
	{ "Gelu", run_gelu },
	{ "QuickGelu", run_quick_gelu },
	{ "SkipLayerNormalization", run_skip_layer },
	{ "SkipSimplifiedLayerNormalization", run_skip_simplified },
};

const struct native_family native_family_microsoft = { "com.microsoft", "com.microsoft", ops,
						       sizeof(ops) / sizeof(ops[0]) };
