/*
 * Operators that work element by element: outputs have the shape of their inputs, broadcast. The arithmetic that shapes are computed with
 * is also carried out (onnx_fold.c).
 */
#include "formats/onnx/onnx_fold.h"

/* ---- shapes ---- */

static int shape_same(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), onnx_input(call, 0));
	return 0;
}

static int shape_same_bool(struct onnx_call *call, struct strata_error *err)
{
	int rc = shape_same(call, err);

	if (onnx_output(call, 0)->kind == ONNX_TENSOR)
		onnx_output(call, 0)->dtype = ONNX_BOOL;
	return rc;
}

static int shape_binary(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *a = onnx_input(call, 0), *b = onnx_input(call, 1);
	struct onnx_value *output = onnx_output(call, 0);

	if (a && onnx_one_sided(call)) {
		onnx_set_like(output, a);
		return 0;
	}
	output->dtype = a ? a->dtype : ONNX_NONE;
	return onnx_broadcast(call, a, b, output, err);
}

static int shape_compare(struct onnx_call *call, struct strata_error *err)
{
	int rc = shape_binary(call, err);

	if (onnx_output(call, 0)->kind == ONNX_TENSOR)
		onnx_output(call, 0)->dtype = ONNX_BOOL;
	return rc;
}

static int shape_variadic(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *output = onnx_output(call, 0);
	int rc = shape_same(call, err);

	for (size_t i = 1; rc == 0 && i < call->input_count; i++) {
		struct onnx_value so_far = *output;

		rc = onnx_broadcast(call, &so_far, onnx_input(call, i), output, err);
	}
	return rc;
}

static int shape_where(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 1);
	struct onnx_value *output = onnx_output(call, 0), both = { .length = -1 };
	int rc = onnx_broadcast(call, x, onnx_input(call, 2), &both, err);

	if (rc)
		return rc;
	output->dtype = x ? x->dtype : ONNX_NONE;
	return onnx_broadcast(call, onnx_input(call, 0), &both, output, err);
}

static int shape_cast(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *output = onnx_output(call, 0);
	int64_t to = onnx_call_int(call, "to", ONNX_NONE);
	int rc = shape_same(call, err);

	if (output->kind == ONNX_TENSOR)
		output->dtype = to > 0 && to < ONNX_DTYPE_COUNT ? (int)to : ONNX_NONE;
	return rc;
}

static int shape_cast_like(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *output = onnx_output(call, 0);
	const struct onnx_value *like = onnx_input(call, 1);
	int rc = shape_same(call, err);

	if (output->kind == ONNX_TENSOR)
		output->dtype = like ? like->dtype : ONNX_NONE;
	return rc;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "Abs", shape_same },
	{ "Acos", shape_same },
	{ "Acosh", shape_same },
	{ "Add", shape_binary, onnx_fold_add },
	{ "And", shape_compare, onnx_fold_and },
	{ "Asin", shape_same },
	{ "Asinh", shape_same },
	{ "Atan", shape_same },
	{ "Atanh", shape_same },
	{ "BitShift", shape_binary },
	{ "BitwiseAnd", shape_binary, onnx_fold_and },
	{ "BitwiseNot", shape_same },
	{ "BitwiseOr", shape_binary, onnx_fold_or },
	{ "BitwiseXor", shape_binary, onnx_fold_xor },
	{ "Cast", shape_cast, onnx_fold_cast },
	{ "CastLike", shape_cast_like, onnx_fold_cast },
	{ "Ceil", shape_same, onnx_fold_ceil },
	{ "Celu", shape_same },
	{ "Clip", shape_same },
	{ "Cos", shape_same },
	{ "Cosh", shape_same },
	{ "CumSum", shape_same },
	{ "Div", shape_binary, onnx_fold_div },
	{ "Elu", shape_same },
	{ "Equal", shape_compare, onnx_fold_equal },
	{ "Erf", shape_same },
	{ "Exp", shape_same },
	{ "Floor", shape_same, onnx_fold_floor },
	{ "Gelu", shape_same },
	{ "Greater", shape_compare, onnx_fold_greater },
	{ "GreaterOrEqual", shape_compare, onnx_fold_greater_equal },
	{ "HardSigmoid", shape_same },
	{ "HardSwish", shape_same },
	{ "Hardmax", shape_same },
	{ "IsInf", shape_same_bool },
	{ "IsNaN", shape_same_bool },
	{ "LeakyRelu", shape_same },
	{ "Less", shape_compare, onnx_fold_less },
	{ "LessOrEqual", shape_compare, onnx_fold_less_equal },
	{ "Log", shape_same },
	{ "LogSoftmax", shape_same },
	{ "Max", shape_variadic, onnx_fold_max },
	{ "Mean", shape_variadic },
	{ "Min", shape_variadic, onnx_fold_min },
	{ "Mish", shape_same },
	{ "Mod", shape_binary, onnx_fold_mod },
	{ "Mul", shape_binary, onnx_fold_mul },
	{ "Neg", shape_same, onnx_fold_neg },
	{ "Not", shape_same, onnx_fold_not },
	{ "Or", shape_compare, onnx_fold_or },
	{ "PRelu", shape_same }, /* slopes are stretched to the input, never the other way */
	{ "Pow", shape_binary },
	{ "Reciprocal", shape_same },
	{ "Relu", shape_same },
	{ "Round", shape_same, onnx_fold_round },
	{ "Selu", shape_same },
	{ "Shrink", shape_same },
	{ "Sigmoid", shape_same },
	{ "Sign", shape_same },
	{ "Sin", shape_same },
	{ "Sinh", shape_same },
	{ "Softmax", shape_same },
	{ "Softplus", shape_same },
	{ "Softsign", shape_same },
	{ "Sqrt", shape_same, onnx_fold_sqrt },
	{ "Sub", shape_binary, onnx_fold_sub },
	{ "Sum", shape_variadic },
	{ "Swish", shape_same },
	{ "Tan", shape_same },
	{ "Tanh", shape_same },
	{ "ThresholdedRelu", shape_same },
	{ "Trilu", shape_same },
	{ "Where", shape_where, onnx_fold_where },
	{ "Xor", shape_compare, onnx_fold_xor },
};
/* clang-format on */

const struct onnx_family onnx_family_math = { "element by element", "", ops,
					      sizeof(ops) / sizeof(ops[0]) };
