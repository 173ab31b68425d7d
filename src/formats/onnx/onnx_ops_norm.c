/* Normalisation, dropout, losses, quantisation, and the steps of training: mostly shapes that are passed on. */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

static int shape_same(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), onnx_input(call, 0));
	return 0;
}

static int shape_batch(struct onnx_call *call, struct strata_error *err)
{
	int rc = shape_same(call, err);

	/* running figures, one for each channel, like the inputs they come from */
	for (size_t i = 1; i < call->output_count; i++)
		onnx_set_like(onnx_output(call, i), onnx_input(call, i <= 2 ? i + 2 : i));
	return rc;
}

static int shape_layer(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0);
	int64_t stash = onnx_call_int(call, "stash_type", ONNX_FLOAT);
	int rc = shape_same(call, err);
	size_t axis;

	if (!x || !x->ranked)
		return rc;
	if (!onnx_axis(onnx_call_int(call, "axis", -1), x->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	for (size_t i = 1; i < call->output_count; i++) {
		onnx_set_like(onnx_output(call, i), x);
		onnx_output(call, i)->dtype = stash > 0 && stash < ONNX_DTYPE_COUNT ? (int)stash
										    : ONNX_NONE;
		for (size_t d = axis; d < x->rank; d++)
			onnx_output(call, i)->dims[d] = 1;
	}
	return rc;
}

static int shape_dropout(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0);
	int rc = shape_same(call, err);

	if (x && x->kind == ONNX_TENSOR && call->output_count > 1) {
		onnx_set_like(onnx_output(call, 1), x);
		onnx_output(call, 1)->dtype =
			onnx_opset(call) > 0 && onnx_opset(call) < 10 ? x->dtype : ONNX_BOOL;
	}
	return rc;
}

/* ---- losses ---- */

/* One figure, or one for each target. */
static int shape_loss(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0), *target = onnx_input(call, 1);
	int dtype = x ? x->dtype : ONNX_NONE;

	(void)err;
	if (strcmp(onnx_call_text(call, "reduction", "mean"), "none") != 0) {
		onnx_set_scalar(onnx_output(call, 0), dtype);
	} else if (target) {
		onnx_set_like(onnx_output(call, 0), target);
		onnx_output(call, 0)->dtype = dtype;
	}
	return 0;
}

static int shape_cross_entropy(struct onnx_call *call, struct strata_error *err)
{
	if (call->output_count > 1)
		onnx_set_like(onnx_output(call, 1), onnx_input(call, 0));
	return shape_loss(call, err);
}

/* ---- quantisation ---- */

static int shape_quantize(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *zero = onnx_input(call, 2);
	int64_t wanted = onnx_call_int(call, "output_dtype", 0);
	int rc = shape_same(call, err);

	if (onnx_output(call, 0)->kind == ONNX_TENSOR)
		onnx_output(call, 0)->dtype = zero ? zero->dtype
					      : wanted > 0 && wanted < ONNX_DTYPE_COUNT
						      ? (int)wanted
						      : ONNX_UINT8;
	return rc;
}

static int shape_dequantize(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *scale = onnx_input(call, 1);
	int rc = shape_same(call, err);

	if (onnx_output(call, 0)->kind == ONNX_TENSOR)
		onnx_output(call, 0)->dtype = scale ? scale->dtype : ONNX_FLOAT;
	return rc;
}

static int shape_dynamic_quantize(struct onnx_call *call, struct strata_error *err)
{
	int rc = shape_same(call, err);

	if (onnx_output(call, 0)->kind == ONNX_TENSOR)
		onnx_output(call, 0)->dtype = ONNX_UINT8;
	onnx_set_scalar(onnx_output(call, 1), ONNX_FLOAT);
	onnx_set_scalar(onnx_output(call, 2), ONNX_UINT8);
	return rc;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "BatchNormalization", shape_batch },
	{ "DequantizeLinear", shape_dequantize },
	{ "Dropout", shape_dropout },
	{ "DynamicQuantizeLinear", shape_dynamic_quantize },
	{ "GroupNormalization", shape_same },
	{ "InstanceNormalization", shape_same },
	{ "LRN", shape_same },
	{ "LayerNormalization", shape_layer },
	{ "LpNormalization", shape_same },
	{ "MeanVarianceNormalization", shape_same },
	{ "NegativeLogLikelihoodLoss", shape_loss },
	{ "QuantizeLinear", shape_quantize },
	{ "RMSNormalization", shape_same },
	{ "SoftmaxCrossEntropyLoss", shape_cross_entropy },
};
/* clang-format on */

const struct onnx_family onnx_family_norm = { "normalisation, losses, quantisation", "", ops,
					      sizeof(ops) / sizeof(ops[0]) };

/* ---- training ---- */

/* Inputs are a rate, a count, then all tensors of each sort: parameters, gradients, state. Outputs: parameters and state, updated. */
static int optimizer(struct onnx_call *call, size_t sorts, struct strata_error *err)
{
	size_t tensors = call->input_count < 2 ? 0 : (call->input_count - 2) / sorts;

	(void)err;
	for (size_t i = 0; i < call->output_count && tensors; i++) {
		size_t sort = i / tensors; /* gradients are not among the outputs */

		onnx_set_like(onnx_output(call, i),
			      onnx_input(call, 2 + (sort ? sort + 1 : 0) * tensors + i % tensors));
	}
	return 0;
}

static int shape_three(struct onnx_call *call, struct strata_error *err)
{
	return optimizer(call, 3, err);
}

static int shape_four(struct onnx_call *call, struct strata_error *err)
{
	return optimizer(call, 4, err);
}

/* The gradient with respect to each of the named values, in the shape of that value. */
static int shape_gradient(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	for (size_t i = 0; i < call->output_count; i++)
		onnx_set_like(onnx_output(call, i), onnx_input(call, i));
	return 0;
}

/* clang-format off */
static const struct onnx_op training_ops[] = {
	{ "Adagrad", shape_three },
	{ "Adam", shape_four },
	{ "Gradient", shape_gradient },
	{ "Momentum", shape_three },
};
/* clang-format on */

const struct onnx_family onnx_family_training = { "training", "ai.onnx.preview.training",
						  training_ops,
						  sizeof(training_ops) / sizeof(training_ops[0]) };
