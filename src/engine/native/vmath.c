/* Vector functions: see vmath.h. The names are those of the vector ABI that glibc documents: d is AVX2, N8 eight lanes, v one vector argument. */
#include "engine/native/vmath.h"

#include "engine/native/avx2.h"

#include <math.h>
#include <string.h>

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,fma")))
typedef float v8 __attribute__((vector_size(32)));

#define VECTOR_FUNCTIONS(X)                                                                          \
	X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(erf) X(exp) X(expm1) X(log) \
	X(log1p) X(sin) X(sinh) X(tan) X(tanh)

#define DECLARE(name) AVX2 v8 _ZGVdN8v_##name##f(v8);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
VECTOR_FUNCTIONS(DECLARE)

/* Eight at a time; the rest is padded with zeros. */
#define LOOP(name, expression)                                                       \
	AVX2 static void vector_##name(const float *values, int64_t count, float *ret) \
	{                                                                            \
		int64_t i = 0;                                                       \
		v8 x, y;                                                             \
		for (; i + 8 <= count; i += 8) {                                     \
			memcpy(&x, values + i, sizeof(x));                           \
			y = (expression);                                            \
			memcpy(ret + i, &y, sizeof(y));                              \
		}                                                                    \
		if (i < count) {                                                     \
			size_t rest = (size_t)(count - i) * sizeof(float);           \
			x = (v8){ 0 };                                               \
			memcpy(&x, values + i, rest);                                \
			y = (expression);                                            \
			memcpy(ret + i, &y, rest);                                   \
		}                                                                    \
	}

#define PLAIN_LOOP(name) LOOP(name, _ZGVdN8v_##name##f(x))
VECTOR_FUNCTIONS(PLAIN_LOOP)
LOOP(sigmoid, 1.0f / (1.0f + _ZGVdN8v_expf(-x)))
LOOP(silu, x / (1.0f + _ZGVdN8v_expf(-x)))
LOOP(gelu, 0.5f * x * (1.0f + _ZGVdN8v_erff(x * 0.70710678118654752f)))
LOOP(gelu_tanh, 0.5f * x * (1.0f + _ZGVdN8v_tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x))))
#pragma GCC diagnostic pop
#endif

static float scalar(enum vmath function, float x)
{
	switch (function) {
	case VMATH_ACOS:
		return acosf(x);
	case VMATH_ACOSH:
		return acoshf(x);
	case VMATH_ASIN:
		return asinf(x);
	case VMATH_ASINH:
		return asinhf(x);
	case VMATH_ATAN:
		return atanf(x);
	case VMATH_ATANH:
		return atanhf(x);
	case VMATH_COS:
		return cosf(x);
	case VMATH_COSH:
		return coshf(x);
	case VMATH_ERF:
		return erff(x);
	case VMATH_EXP:
		return expf(x);
	case VMATH_EXPM1:
		return expm1f(x);
	case VMATH_LOG:
		return logf(x);
	case VMATH_LOG1P:
		return log1pf(x);
	case VMATH_SIN:
		return sinf(x);
	case VMATH_SINH:
		return sinhf(x);
	case VMATH_TAN:
		return tanf(x);
	case VMATH_TANH:
		return tanhf(x);
	case VMATH_SIGMOID:
		return 1.0f / (1.0f + expf(-x));
	case VMATH_SILU:
		return x / (1.0f + expf(-x));
	case VMATH_GELU:
		return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
	case VMATH_GELU_TANH:
		return 0.5f * x *
		       (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
	}
	return x;
}

void vmath_apply(enum vmath function, const float *values, int64_t count, float *ret_values)
{
#ifdef __x86_64__
	static void (*const loops[])(const float *, int64_t, float *) = {
		[VMATH_ACOS] = vector_acos,       [VMATH_ACOSH] = vector_acosh,
		[VMATH_ASIN] = vector_asin,       [VMATH_ASINH] = vector_asinh,
		[VMATH_ATAN] = vector_atan,       [VMATH_ATANH] = vector_atanh,
		[VMATH_COS] = vector_cos,         [VMATH_COSH] = vector_cosh,
		[VMATH_ERF] = vector_erf,         [VMATH_EXP] = vector_exp,
		[VMATH_EXPM1] = vector_expm1,     [VMATH_LOG] = vector_log,
		[VMATH_LOG1P] = vector_log1p,     [VMATH_SIN] = vector_sin,
		[VMATH_SINH] = vector_sinh,       [VMATH_TAN] = vector_tan,
		[VMATH_TANH] = vector_tanh,       [VMATH_SIGMOID] = vector_sigmoid,
		[VMATH_SILU] = vector_silu,       [VMATH_GELU] = vector_gelu,
		[VMATH_GELU_TANH] = vector_gelu_tanh,
	};

	if (avx2_works()) {
		loops[function](values, count, ret_values);
		return;
	}
#endif
	for (int64_t i = 0; i < count; i++)
		ret_values[i] = scalar(function, values[i]);
}

float vmath_exp_sum(const float *values, int64_t count, float largest, float *ret_values)
{
	float sum = 0;

	for (int64_t i = 0; i < count; i++)
		ret_values[i] = values[i] - largest;
	vmath_apply(VMATH_EXP, ret_values, count, ret_values);
	/* Eight running sums, added up at the end: the order depends on the count alone. */
	float sums[8] = { 0 };
	int64_t i = 0;

	for (; i + 8 <= count; i += 8)
		for (int k = 0; k < 8; k++)
			sums[k] += ret_values[i + k];
	for (int k = 0; k < 8; k++)
		sum += sums[k];
	for (; i < count; i++)
		sum += ret_values[i];
	return sum;
}
