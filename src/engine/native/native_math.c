/*
 * Functions of one number, element by element. Those that cost something (exp, erf, tanh …) are vmath's; simple ones are expressions.
 */
#include "engine/native/native.h"

#include "engine/native/vmath.h"
#include "engine/team.h"

#include <math.h>
#include <string.h>

/* ---- functions of one number ---- */

/* float32 functions that vmath has: by threads, in parts of equal size. */
struct vmath_work {
	enum vmath function;
	const float *from;
	float *to;
};

static void vmath_part(void *arg, int64_t first, int64_t past)
{
	const struct vmath_work *work = arg;

	vmath_apply(work->function, work->from + first, past - first, work->to + first);
}

static int run_vmath(struct native_call *call, enum vmath function, double (*wide)(double),
		     struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE)
		return native_refuse(call, err, "input 1 is %s; expected float32",
				     engine_dtype_name(x->dtype));
	rc = native_make_like(call, 0, 0, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x);

	if (x->dtype == ONNX_FLOAT) {
		struct vmath_work work = { function, x->data, call->outputs[0].data };

		engine_team_run(call->team, count, 1 << 13, vmath_part, &work);
		return 0;
	}
	const double *from = x->data;
	double *to = call->outputs[0].data;

	for (int64_t i = 0; i < count; i++)
		to[i] = wide(from[i]);
	return 0;
}

static double wide_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

#define VMATH_OP(name, function, wide)                                             \
	static int run_##name(struct native_call *call, struct strata_error *err)  \
	{                                                                          \
		return run_vmath(call, function, wide, err);                       \
	}
VMATH_OP(acos, VMATH_ACOS, acos)
VMATH_OP(acosh, VMATH_ACOSH, acosh)
VMATH_OP(asin, VMATH_ASIN, asin)
VMATH_OP(asinh, VMATH_ASINH, asinh)
VMATH_OP(atan, VMATH_ATAN, atan)
VMATH_OP(atanh, VMATH_ATANH, atanh)
VMATH_OP(cos, VMATH_COS, cos)
VMATH_OP(cosh, VMATH_COSH, cosh)
VMATH_OP(erf, VMATH_ERF, erf)
VMATH_OP(exp, VMATH_EXP, exp)
VMATH_OP(log, VMATH_LOG, log)
VMATH_OP(sigmoid, VMATH_SIGMOID, wide_sigmoid)
VMATH_OP(sin, VMATH_SIN, sin)
VMATH_OP(sinh, VMATH_SINH, sinh)
VMATH_OP(tan, VMATH_TAN, tan)
VMATH_OP(tanh, VMATH_TANH, tanh)

/* Simple functions, by type. a is an attribute's number, b another's. */
struct unary {
	void (*reals)(const float *from, float *to, int64_t count, float a, float b);
	double (*wide)(double x, double a, double b);
	int64_t (*whole)(int64_t x); /* NULL: not for integers */
};

static int run_whole(struct native_call *call, const struct engine_value *x,
		     int64_t (*whole)(int64_t), struct strata_error *err)
{
	struct engine_value wide = { 0 }, back = { 0 };
	int rc = engine_value_cast(call->heap, x, ONNX_INT64, &wide, err);

	if (rc == 0 && x->dtype == ONNX_INT64) { /* a share: not ours to change */
		engine_value_drop(&wide);
		rc = engine_value_make(call->heap, ONNX_INT64, x->rank, x->dims, &wide, err);
		if (rc == 0)
			memcpy(wide.data, x->data, engine_value_bytes(x));
	}
	if (rc)
		return rc;
	int64_t count = engine_value_elements(&wide), *at = wide.data;

	for (int64_t i = 0; i < count; i++)
		at[i] = whole(at[i]);
	rc = engine_value_cast(call->heap, &wide, x->dtype, &back, err);
	engine_value_drop(&wide);
	if (rc == 0)
		call->outputs[0] = back;
	return rc;
}

static int run_unary(struct native_call *call, const struct unary *how, double a, double b,
		     struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (how->whole && x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE &&
	    x->dtype != ONNX_STRING)
		return run_whole(call, x, how->whole, err);
	if (x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE)
		return native_refuse(call, err, "input 1 is %s; expected float32",
				     engine_dtype_name(x->dtype));
	rc = native_make_like(call, 0, 0, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x);

	if (x->dtype == ONNX_FLOAT) {
		how->reals(x->data, call->outputs[0].data, count, (float)a, (float)b);
		return 0;
	}
	const double *from = x->data;
	double *to = call->outputs[0].data;

	for (int64_t i = 0; i < count; i++)
		to[i] = how->wide(from[i], a, b);
	return 0;
}

static int64_t whole_abs(int64_t x)
{
	return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
}
static int64_t whole_neg(int64_t x)
{
	return (int64_t)(0 - (uint64_t)x);
}
static int64_t whole_sign(int64_t x)
{
	return (x > 0) - (x < 0);
}
static int64_t whole_relu(int64_t x)
{
	return x > 0 ? x : 0;
}

/* name, attribute a and its default, attribute b and its default, whole or NULL, expression in x, a, b with functions of F(…) */
#define UNARY_OP(name, attribute_a, missing_a, attribute_b, missing_b, whole_function, expression)    \
	static void reals_##name(const float *from, float *to, int64_t count, float a, float b)       \
	{                                                                                             \
		(void)a, (void)b;                                                                     \
		for (int64_t i = 0; i < count; i++) {                                                 \
			float x = from[i];                                                            \
			to[i] = (float)(expression);                                                  \
		}                                                                                     \
	}                                                                                             \
	static double wide_##name(double x, double a, double b)                                       \
	{                                                                                             \
		(void)a, (void)b;                                                                     \
		return expression;                                                                    \
	}                                                                                             \
	static int run_##name(struct native_call *call, struct strata_error *err)                     \
	{                                                                                             \
		static const struct unary how = { reals_##name, wide_##name, whole_function };        \
		return run_unary(call, &how, native_real(call, attribute_a, missing_a),               \
				 native_real(call, attribute_b, missing_b), err);                     \
	}
UNARY_OP(abs, "", 0, "", 0, whole_abs, x < 0 ? -x : x == 0 ? 0 : x)
UNARY_OP(ceil, "", 0, "", 0, NULL, __builtin_ceil(x))
UNARY_OP(swish, "alpha", 1, "", 0, NULL, x / (1 + exp(-a * x)))
UNARY_OP(celu, "alpha", 1, "", 0, NULL, x > 0 ? x : a * expm1(x / a))
UNARY_OP(elu, "alpha", 1, "", 0, NULL, x > 0 ? x : a * expm1(x))
UNARY_OP(floor, "", 0, "", 0, NULL, __builtin_floor(x))
UNARY_OP(hard_sigmoid, "alpha", 0.2, "beta", 0.5, NULL, fmin(1, fmax(0, a * x + b)))
UNARY_OP(hard_swish, "", 0, "", 0, NULL, x *fmin(1, fmax(0, x / 6 + 0.5)))
UNARY_OP(leaky_relu, "alpha", 0.01, "", 0, NULL, x < 0 ? a * x : x)
UNARY_OP(mish, "", 0, "", 0, NULL, x *tanh(x > 30 ? x : log1p(exp(x))))
UNARY_OP(neg, "", 0, "", 0, whole_neg, -x)
UNARY_OP(reciprocal, "", 0, "", 0, NULL, 1 / x)
UNARY_OP(relu, "", 0, "", 0, whole_relu, x < 0 ? 0 : x)
UNARY_OP(round, "", 0, "", 0, NULL, __builtin_rint(x))
UNARY_OP(selu, "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875, NULL,
	 x > 0 ? b * x : b * a * expm1(x))
UNARY_OP(shrink, "lambd", 0.5, "bias", 0, NULL, x < -a ? x + b : x > a ? x - b : 0)
UNARY_OP(sign, "", 0, "", 0, whole_sign, x > 0 ? 1 : x < 0 ? -1 : x)
UNARY_OP(softplus, "", 0, "", 0, NULL, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
UNARY_OP(softsign, "", 0, "", 0, NULL, x / (1 + (x < 0 ? -x : x)))
UNARY_OP(sqrt, "", 0, "", 0, NULL, __builtin_sqrt(x))
UNARY_OP(thresholded_relu, "alpha", 1, "", 0, NULL, x > a ? x : 0)

static int run_gelu(struct native_call *call, struct strata_error *err)
{
	bool tanh_form = strcmp(native_text(call, "approximate", "none"), "tanh") == 0;

	return run_vmath(call, tanh_form ? VMATH_GELU_TANH : VMATH_GELU, NULL, err);
}

static int run_identity(struct native_call *call, struct strata_error *err)
{
	if (!native_input(call, 0))
		return native_refuse(call, err, "input 1 is missing");
	call->outputs[0] = engine_value_share(call->inputs[0]);
	return 0;
}

#define ROW(kind, name) { kind, run_##name }
static const struct native_op ops[] = {
	ROW("Abs", abs),
	ROW("Acos", acos),
	ROW("Acosh", acosh),
	ROW("Asin", asin),
	ROW("Asinh", asinh),
	ROW("Atan", atan),
	ROW("Atanh", atanh),
	ROW("Ceil", ceil),
	ROW("Celu", celu),
	ROW("Cos", cos),
	ROW("Cosh", cosh),
	ROW("Elu", elu),
	ROW("Erf", erf),
	ROW("Exp", exp),
	ROW("Floor", floor),
	ROW("Gelu", gelu),
	ROW("HardSigmoid", hard_sigmoid),
	ROW("HardSwish", hard_swish),
	ROW("Identity", identity),
	ROW("LeakyRelu", leaky_relu),
	ROW("Log", log),
	ROW("Mish", mish),
	ROW("Neg", neg),
	ROW("Reciprocal", reciprocal),
	ROW("Relu", relu),
	ROW("Round", round),
	ROW("Selu", selu),
	ROW("Shrink", shrink),
	ROW("Sigmoid", sigmoid),
	ROW("Sign", sign),
	ROW("Sin", sin),
	ROW("Sinh", sinh),
	ROW("Softplus", softplus),
	ROW("Softsign", softsign),
	ROW("Sqrt", sqrt),
	ROW("Swish", swish),
	ROW("Tan", tan),
	ROW("Tanh", tanh),
	ROW("ThresholdedRelu", thresholded_relu),
};

const struct native_family native_family_math = { "functions of one number", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
