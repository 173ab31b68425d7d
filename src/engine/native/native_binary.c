/*
 * Functions of two numbers, element by element: arithmetic, comparisons, logic. Each is a loop over a run of elements by type; stretching the operands
 * to each other is the same for all (native_walk).
 */
#include "engine/native/native.h"

#include "engine/team.h"

#include <math.h>
#include <string.h>

typedef void (*binary_loop)(const void *a, int64_t a_step, const void *b, int64_t b_step, void *to,
			    int64_t count);
struct binary {
	binary_loop loops[ONNX_DTYPE_COUNT]; /* NULL: not for that type */
	bool compares;                       /* the result is bool */
};

struct binary_work {
	const struct native_walk *walk;
	const char *a, *b;
	char *to;
	size_t width, to_width;
	binary_loop loop;
	int64_t a_step, b_step;
};

static void binary_part(void *arg, int64_t first, int64_t past)
{
	const struct binary_work *work = arg;
	int64_t run = work->walk->run;

	for (int64_t i = first; i < past; i++) {
		int64_t offsets[NATIVE_WALK_MAX];

		native_walk_at(work->walk, i, offsets);
		work->loop(work->a + (size_t)offsets[0] * work->width, work->a_step,
			   work->b + (size_t)offsets[1] * work->width, work->b_step,
			   work->to + (size_t)(i * run) * work->to_width, run);
	}
}

/* One long run is cut into pieces, so that threads have something to share. */
static void cut_run(struct native_walk *walk)
{
	enum { PIECE = 1 << 14 };

	if (walk->rank == 0 || walk->run < 2 * PIECE || walk->rank == STRATA_TENSOR_RANK_MAX ||
	    walk->run % PIECE)
		return;
	memmove(walk->dims + 1, walk->dims, walk->rank * sizeof(walk->dims[0]));
	walk->dims[0] = PIECE;
	walk->dims[1] = walk->run / PIECE;
	for (size_t i = 0; i < walk->count; i++) {
		memmove(walk->strides[i] + 1, walk->strides[i],
			walk->rank * sizeof(walk->strides[0][0]));
		walk->strides[i][1] = walk->strides[i][0] * PIECE;
	}
	walk->rank++;
	walk->runs *= walk->dims[1];
	walk->run = PIECE;
}

/* May the result take the place of operand `input`? Only when it has its full shape and type. */
static bool takes_place(const struct native_call *call, size_t input, int dtype, size_t rank,
			const int64_t *dims)
{
	const struct engine_value *value = call->inputs[input];

	return value->dtype == dtype && value->rank == rank &&
	       memcmp(value->dims, dims, rank * sizeof(*dims)) == 0;
}

static int make_broadcast(struct native_call *call, int dtype, size_t rank, const int64_t *dims,
			  struct strata_error *err)
{
	for (size_t i = 0; i < 2; i++)
		if (takes_place(call, i, dtype, rank, dims) && call->last_use &&
		    call->last_use[i] && engine_value_alone(call->inputs[i]))
			return native_make_like(call, 0, i, err);
	return native_make(call, 0, dtype, rank, dims, err);
}

static int run_binary(struct native_call *call, const struct binary *how, struct strata_error *err)
{
	const struct engine_value *values[2];
	struct native_walk walk;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	size_t rank;
	int rc = native_tensor(call, 0, &values[0], err);

	if (rc == 0)
		rc = native_typed(call, 1, values[0]->dtype, &values[1], err);
	if (rc == 0)
		rc = native_broadcast(call, values, 2, &rank, dims, err);
	if (rc)
		return rc;
	int dtype = values[0]->dtype;

	if (!how->loops[dtype])
		return native_refuse(call, err, "it does not take %s", engine_dtype_name(dtype));
	rc = make_broadcast(call, how->compares ? ONNX_BOOL : dtype, rank, dims, err);
	if (rc)
		return rc;
	native_walk_init(&walk, rank, dims, values, 2);
	cut_run(&walk);
	struct binary_work work = { &walk,
				    values[0]->data,
				    values[1]->data,
				    call->outputs[0].data,
				    engine_dtype_bytes(dtype),
				    engine_dtype_bytes(call->outputs[0].dtype),
				    how->loops[dtype],
				    walk.rank ? walk.strides[0][0] : 1,
				    walk.rank ? walk.strides[1][0] : 1 };

	if (engine_value_elements(&call->outputs[0]) > 0)
		engine_team_run(call->team, walk.runs, 1 + (1 << 14) / (walk.run + 1), binary_part,
				&work);
	return 0;
}

#define BINARY_LOOP(name, type, result, expression)                                             \
	static void name##_##type(const void *a_any, int64_t a_step, const void *b_any,         \
				  int64_t b_step, void *to_any, int64_t count)                  \
	{                                                                                       \
		const type *a_at = a_any, *b_at = b_any;                                        \
		result *to = to_any;                                                            \
		if (a_step && b_step) {                                                         \
			NATIVE_EACH for (int64_t i = 0; i < count; i++) {                       \
				type a = a_at[i], b = b_at[i];                                  \
				to[i] = (result)(expression);                                   \
			}                                                                       \
		} else if (a_step) {                                                            \
			type b = *b_at;                                                         \
			NATIVE_EACH for (int64_t i = 0; i < count; i++) {                       \
				type a = a_at[i];                                               \
				to[i] = (result)(expression);                                   \
			}                                                                       \
		} else {                                                                        \
			type a = *a_at;                                                         \
			NATIVE_EACH for (int64_t i = 0; i < count; i++) {                       \
				type b = b_at[b_step ? i : 0];                                  \
				to[i] = (result)(expression);                                   \
			}                                                                       \
		}                                                                               \
	}

/* Both operands have a step of 1 or 0, because a walk's innermost dimension is joined from the last one. */
#define BINARY_TABLE(name, real_expression, whole_expression, unsigned_expression)                                      \
	BINARY_LOOP(name, float, float, real_expression)                                         \
	BINARY_LOOP(name, double, double, real_expression)                                       \
	BINARY_LOOP(name, int8_t, int8_t, whole_expression)                                      \
	BINARY_LOOP(name, int16_t, int16_t, whole_expression)                                    \
	BINARY_LOOP(name, int32_t, int32_t, whole_expression)                                    \
	BINARY_LOOP(name, int64_t, int64_t, whole_expression)                                    \
	BINARY_LOOP(name, uint8_t, uint8_t, unsigned_expression)                                    \
	BINARY_LOOP(name, uint16_t, uint16_t, unsigned_expression)                                  \
	BINARY_LOOP(name, uint32_t, uint32_t, unsigned_expression)                                  \
	BINARY_LOOP(name, uint64_t, uint64_t, unsigned_expression)                                  \
	static const struct binary binary_##name = {                                                   \
		.loops = { [ONNX_FLOAT] = name##_float,     [ONNX_DOUBLE] = name##_double,       \
			   [ONNX_INT8] = name##_int8_t,     [ONNX_INT16] = name##_int16_t,       \
			   [ONNX_INT32] = name##_int32_t,   [ONNX_INT64] = name##_int64_t,       \
			   [ONNX_UINT8] = name##_uint8_t,   [ONNX_UINT16] = name##_uint16_t,     \
			   [ONNX_UINT32] = name##_uint32_t, [ONNX_UINT64] = name##_uint64_t }    \
	};
#define BINARY_OP(name, real_expression, whole_expression, unsigned_expression)          \
	BINARY_TABLE(name, real_expression, whole_expression, unsigned_expression)       \
	static int run_##name(struct native_call *call, struct strata_error *err)        \
	{                                                                                \
		return run_binary(call, &binary_##name, err);                            \
	}

#define COMPARE_OP(name, expression)                                                             \
	BINARY_LOOP(name, float, uint8_t, expression)                                            \
	BINARY_LOOP(name, double, uint8_t, expression)                                           \
	BINARY_LOOP(name, int8_t, uint8_t, expression)                                           \
	BINARY_LOOP(name, int16_t, uint8_t, expression)                                          \
	BINARY_LOOP(name, int32_t, uint8_t, expression)                                          \
	BINARY_LOOP(name, int64_t, uint8_t, expression)                                          \
	BINARY_LOOP(name, uint8_t, uint8_t, expression)                                          \
	BINARY_LOOP(name, uint16_t, uint8_t, expression)                                         \
	BINARY_LOOP(name, uint32_t, uint8_t, expression)                                         \
	BINARY_LOOP(name, uint64_t, uint8_t, expression)                                         \
	static const struct binary binary_##name = {                                             \
		.loops = { [ONNX_FLOAT] = name##_float,     [ONNX_DOUBLE] = name##_double,       \
			   [ONNX_INT8] = name##_int8_t,     [ONNX_INT16] = name##_int16_t,       \
			   [ONNX_INT32] = name##_int32_t,   [ONNX_INT64] = name##_int64_t,       \
			   [ONNX_UINT8] = name##_uint8_t,   [ONNX_UINT16] = name##_uint16_t,     \
			   [ONNX_UINT32] = name##_uint32_t, [ONNX_UINT64] = name##_uint64_t,     \
			   [ONNX_BOOL] = name##_uint8_t },                                       \
		.compares = true,                                                                \
	};                                                                                       \
	static int run_##name(struct native_call *call, struct strata_error *err)                \
	{                                                                                        \
		return run_binary(call, &binary_##name, err);                                    \
	}

BINARY_OP(add, a + b, (uint64_t)a + (uint64_t)b, (uint64_t)a + (uint64_t)b)
BINARY_OP(sub, a - b, (uint64_t)a - (uint64_t)b, (uint64_t)a - (uint64_t)b)
BINARY_OP(mul, a *b, (uint64_t)a * (uint64_t)b, (uint64_t)a * (uint64_t)b)
/* Nothing is divided by 0; -1 is a case of its own, because the least number divided by it does not fit. */
BINARY_OP(div, a / b, b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b, b == 0 ? 0 : a / b)
BINARY_TABLE(max2, a > b || a != a ? a : b, a > b ? a : b, a > b ? a : b)
BINARY_TABLE(min2, a < b || a != a ? a : b, a < b ? a : b, a < b ? a : b)
BINARY_OP(fmod, fmod(a, b), b == 0 || b == -1 ? 0 : a % b, b == 0 ? 0 : a % b)
/* As Python has it: the sign of the divisor. */
BINARY_OP(mod, fmod(a, b) + (fmod(a, b) != 0 && (fmod(a, b) < 0) != (b < 0) ? b : 0),
	  b == 0 || b == -1                        ? 0
	  : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b
						 : a % b,
	  b == 0 ? 0 : a % b)
COMPARE_OP(equal, a == b)
COMPARE_OP(greater, a > b)
COMPARE_OP(greater_equal, a >= b)
COMPARE_OP(less, a < b)
COMPARE_OP(less_equal, a <= b)

#define LOGIC_OP(name, expression)                                                               \
	BINARY_LOOP(name, uint8_t, uint8_t, expression)                                          \
	static const struct binary binary_##name = { .loops = { [ONNX_BOOL] = name##_uint8_t },  \
						     .compares = true };                         \
	static int run_##name(struct native_call *call, struct strata_error *err)                \
	{                                                                                        \
		return run_binary(call, &binary_##name, err);                                    \
	}
LOGIC_OP(and, a &&b)
LOGIC_OP(or, a || b)
LOGIC_OP(xor, !a != !b)

static int run_remainder(struct native_call *call, struct strata_error *err)
{
	return native_int(call, "fmod", 0) ? run_fmod(call, err) : run_mod(call, err);
}

/* ---- powers: the exponent may be of another type ---- */

BINARY_LOOP(pow, float, float, powf(a, b))
BINARY_LOOP(pow, double, double, pow(a, b))
static const struct binary binary_pow = { .loops = { [ONNX_FLOAT] = pow_float,
						     [ONNX_DOUBLE] = pow_double } };

/* Squares and square roots are what models ask for, and a product is exact to the last bit. */
static bool pow_simple(struct native_call *call, double exponent, struct strata_error *err,
		       int *ret_rc)
{
	const struct engine_value *x = call->inputs[0];

	if (x->dtype != ONNX_FLOAT || (exponent != 2 && exponent != 0.5))
		return false;
	*ret_rc = native_make_like(call, 0, 0, err);
	if (*ret_rc)
		return true;
	const float *from = x->data;
	float *to = call->outputs[0].data;
	int64_t count = engine_value_elements(x);

	for (int64_t i = 0; i < count; i++)
		to[i] = exponent == 2 ? from[i] * from[i] : sqrtf(from[i]);
	return true;
}

static int run_pow(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *y;
	struct engine_value wide_x = { 0 }, wide_y = { 0 }, result = { 0 };
	int rc = native_tensor(call, 0, &x, err);
	double exponent;

	if (rc == 0)
		rc = native_tensor(call, 1, &y, err);
	if (rc == 0 && y->rank == 0 && native_input_real(call, 1, &exponent, NULL) == 0 &&
	    pow_simple(call, exponent, err, &rc))
		return rc;
	if (rc)
		return rc;
	int dtype = x->dtype == ONNX_FLOAT ? ONNX_FLOAT : ONNX_DOUBLE;

	rc = engine_value_cast(call->heap, x, dtype, &wide_x, err);
	if (rc == 0)
		rc = engine_value_cast(call->heap, y, dtype, &wide_y, err);
	if (rc == 0) {
		const struct engine_value *inputs[2] = { &wide_x, &wide_y };
		struct native_call inner = *call;

		inner.inputs = inputs;
		inner.last_use = NULL;
		rc = run_binary(&inner, &binary_pow, err);
	}
	if (rc == 0 && x->dtype != dtype) {
		rc = engine_value_cast(call->heap, &call->outputs[0], x->dtype, &result, err);
		engine_value_drop(&call->outputs[0]);
		if (rc == 0)
			call->outputs[0] = result;
	}
	engine_value_drop(&wide_x);
	engine_value_drop(&wide_y);
	return rc;
}

/* ---- bits ---- */

#define BITS_OP(name, expression)                                                                \
	BINARY_LOOP(name, uint8_t, uint8_t, expression)                                          \
	BINARY_LOOP(name, uint16_t, uint16_t, expression)                                        \
	BINARY_LOOP(name, uint32_t, uint32_t, expression)                                        \
	BINARY_LOOP(name, uint64_t, uint64_t, expression)                                        \
	static const struct binary binary_##name = {                                             \
		.loops = { [ONNX_UINT8] = name##_uint8_t,   [ONNX_UINT16] = name##_uint16_t,     \
			   [ONNX_UINT32] = name##_uint32_t, [ONNX_UINT64] = name##_uint64_t,     \
			   [ONNX_INT8] = name##_uint8_t,    [ONNX_INT16] = name##_uint16_t,      \
			   [ONNX_INT32] = name##_uint32_t,  [ONNX_INT64] = name##_uint64_t }     \
	};
BITS_OP(bits_and, a &b)
BITS_OP(bits_or, a | b)
BITS_OP(bits_xor, a ^ b)
BITS_OP(shift_left, b >= 8 * sizeof(a) ? 0 : (uint64_t)a << b)
BITS_OP(shift_right, b >= 8 * sizeof(a) ? 0 : (uint64_t)a >> b)

static int run_bits_and(struct native_call *call, struct strata_error *err)
{
	return run_binary(call, &binary_bits_and, err);
}
static int run_bits_or(struct native_call *call, struct strata_error *err)
{
	return run_binary(call, &binary_bits_or, err);
}
static int run_bits_xor(struct native_call *call, struct strata_error *err)
{
	return run_binary(call, &binary_bits_xor, err);
}
static int run_shift(struct native_call *call, struct strata_error *err)
{
	bool left = strcmp(native_text(call, "direction", ""), "LEFT") == 0;

	return run_binary(call, left ? &binary_shift_left : &binary_shift_right, err);
}

/* ---- any number of operands: Max, Min, Sum, Mean ---- */

static int run_many(struct native_call *call, const struct binary *how, struct strata_error *err)
{
	const struct engine_value *first;
	int rc = native_tensor(call, 0, &first, err);

	if (rc)
		return rc;
	struct engine_value sum = engine_value_share(first);

	for (size_t i = 1; rc == 0 && i < call->input_count; i++) {
		const struct engine_value *inputs[2] = { &sum, call->inputs[i] };
		struct native_call inner = *call;
		struct engine_value next = { 0 };

		inner.inputs = inputs;
		inner.input_count = 2;
		inner.outputs = &next;
		inner.last_use = NULL;
		rc = run_binary(&inner, how, err);
		engine_value_drop(&sum);
		sum = next;
	}
	if (rc)
		return rc;
	call->outputs[0] = sum;
	return 0;
}

static int run_max(struct native_call *call, struct strata_error *err)
{
	return run_many(call, &binary_max2, err);
}
static int run_min(struct native_call *call, struct strata_error *err)
{
	return run_many(call, &binary_min2, err);
}
static int run_sum(struct native_call *call, struct strata_error *err)
{
	return run_many(call, &binary_add, err);
}

static int run_mean(struct native_call *call, struct strata_error *err)
{
	struct engine_value total = { 0 }, count = { 0 };
	int rc = run_many(call, &binary_add, err);

	if (rc)
		return rc;
	total = call->outputs[0];
	call->outputs[0] = (struct engine_value){ 0 };
	if (total.dtype != ONNX_FLOAT && total.dtype != ONNX_DOUBLE)
		rc = native_refuse(call, err, "it does not take %s", engine_dtype_name(total.dtype));
	else
		rc = engine_value_make(call->heap, total.dtype, 0, NULL, &count, err);
	if (rc == 0) {
		const struct engine_value *inputs[2] = { &total, &count };
		struct native_call inner = *call;

		if (total.dtype == ONNX_FLOAT)
			*(float *)count.data = (float)call->input_count;
		else
			*(double *)count.data = (double)call->input_count;
		inner.inputs = inputs;
		inner.input_count = 2;
		inner.last_use = NULL;
		rc = run_binary(&inner, &binary_div, err);
	}
	engine_value_drop(&total);
	engine_value_drop(&count);
	return rc;
}

static int run_not(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_typed(call, 0, ONNX_BOOL, &x, err);

	if (rc == 0)
		rc = native_make_like(call, 0, 0, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x);
	const uint8_t *from = x->data;
	uint8_t *to = call->outputs[0].data;

	for (int64_t i = 0; i < count; i++)
		to[i] = !from[i];
	return 0;
}

static int run_bits_not(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && (onnx_dtype_real(x->dtype) || x->dtype == ONNX_BOOL || x->dtype == ONNX_STRING))
		rc = native_refuse(call, err, "it does not take %s", engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = native_make_like(call, 0, 0, err);
	int64_t count = rc ? 0 : (int64_t)engine_value_bytes(x);

	for (int64_t i = 0; i < count; i++)
		((uint8_t *)call->outputs[0].data)[i] = (uint8_t)~((const uint8_t *)x->data)[i];
	return rc;
}

#define ROW(kind, name) { kind, run_##name }
static const struct native_op ops[] = {
	ROW("Add", add),
	ROW("And", and),
	ROW("BitShift", shift),
	ROW("BitwiseAnd", bits_and),
	ROW("BitwiseNot", bits_not),
	ROW("BitwiseOr", bits_or),
	ROW("BitwiseXor", bits_xor),
	ROW("Div", div),
	ROW("Equal", equal),
	ROW("Greater", greater),
	ROW("GreaterOrEqual", greater_equal),
	ROW("Less", less),
	ROW("LessOrEqual", less_equal),
	ROW("Max", max),
	ROW("Mean", mean),
	ROW("Min", min),
	ROW("Mod", remainder),
	ROW("Mul", mul),
	ROW("Not", not),
	ROW("Or", or),
	ROW("Pow", pow),
	ROW("Sub", sub),
	ROW("Sum", sum),
	ROW("Xor", xor),
};

const struct native_family native_family_binary = { "functions of two numbers", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
