/* Vector functions: see vmath.h. The names are those of the vector ABI that glibc documents: d is AVX2, N8 eight lanes, v one vector argument. */
#include "engine/native/vmath.h"

#include "engine/native/instructions.h"

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

	if (native_isa() >= NATIVE_AVX2) {
		loops[function](values, count, ret_values);
		return;
	}
#endif
	for (int64_t i = 0; i < count; i++)
		ret_values[i] = scalar(function, values[i]);
}

/* ---- rows of a softmax ---- */

#ifdef __x86_64__
#include <immintrin.h>

/* The first `count` lanes, up to eight. */
AVX2 static __m256i lanes(int64_t count)
{
	const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return _mm256_cmpgt_epi32(_mm256_set1_epi32(count > 8 ? 8 : (int)count), index);
}

/*
 * exp(x) for x up to 0: 2^n · e^r with r within ± ln 2 / 2, e^r by its series up to r^7, whose next term is below half a unit in the last place. Below the
 * smallest normal number it is 0; NaN stays NaN. glibc's vectors take many times as long where a lane underflows, as those of masks do.
 */
AVX2 static __m256 exp_of(__m256 x)
{
	const __m256 least = _mm256_set1_ps(-87.33654f);
	__m256 there = _mm256_cmp_ps(x, least, _CMP_NLT_UQ);
	__m256 within = _mm256_max_ps(least, x); /* NaN is the second, and stays */
	__m256 n = _mm256_round_ps(_mm256_mul_ps(within, _mm256_set1_ps(1.44269504088896341f)),
				   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	__m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0.693359375f), within);

	r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4f), r);
	__m256 y = _mm256_set1_ps(1.0f / 5040);

	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.0f / 720));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.0f / 120));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.0f / 24));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.0f / 6));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(0.5f));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1));
	__m256i power = _mm256_slli_epi32(
		_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);

	return _mm256_and_ps(_mm256_mul_ps(y, _mm256_castsi256_ps(power)), there);
}

AVX2 static float in_order(__m256 sums)
{
	float each[8], sum = 0;

	_mm256_storeu_ps(each, sums);
	for (int k = 0; k < 8; k++)
		sum += each[k];
	return sum;
}

AVX2 static float vector_exp_sum(const float *values, int64_t count, float largest,
				 float *ret_values)
{
	__m256 sums = _mm256_setzero_ps(), most = _mm256_set1_ps(largest);
	int64_t i = 0;

	for (; i + 8 <= count; i += 8) {
		__m256 y = exp_of(_mm256_sub_ps(_mm256_loadu_ps(values + i), most));

		_mm256_storeu_ps(ret_values + i, y);
		sums = _mm256_add_ps(sums, y);
	}
	if (i < count) {
		__m256i some = lanes(count - i);
		__m256 y = exp_of(_mm256_sub_ps(_mm256_maskload_ps(values + i, some), most));

		y = _mm256_and_ps(y, _mm256_castsi256_ps(some));
		_mm256_maskstore_ps(ret_values + i, some, y);
		sums = _mm256_add_ps(sums, y);
	}
	return in_order(sums);
}

AVX2 static float vector_largest(const float *values, int64_t count)
{
	__m256 most = _mm256_set1_ps(-INFINITY);
	float each[8], largest = -INFINITY;
	int64_t i = 0;

	for (; i + 8 <= count; i += 8) /* NaN is passed over: it would be the first */
		most = _mm256_max_ps(_mm256_loadu_ps(values + i), most);
	_mm256_storeu_ps(each, most);
	for (int k = 0; k < 8; k++)
		largest = each[k] > largest ? each[k] : largest;
	for (; i < count; i++)
		largest = values[i] > largest ? values[i] : largest;
	return largest;
}

AVX2 static void vector_scale(float *values, int64_t count, float factor)
{
	__m256 by = _mm256_set1_ps(factor);
	int64_t i = 0;

	for (; i + 8 <= count; i += 8)
		_mm256_storeu_ps(values + i, _mm256_mul_ps(_mm256_loadu_ps(values + i), by));
	for (; i < count; i++)
		values[i] *= factor;
}
#endif

/* Eight running sums, the k-th of every eighth: the order depends on the count alone. */
static float plain_exp_sum(const float *values, int64_t count, float largest, float *ret_values)
{
	float sums[8] = { 0 }, sum = 0;

	for (int64_t i = 0; i < count; i++) {
		ret_values[i] = expf(values[i] - largest);
		sums[i % 8] += ret_values[i];
	}
	for (int k = 0; k < 8; k++)
		sum += sums[k];
	return sum;
}

float vmath_exp_sum(const float *values, int64_t count, float largest, float *ret_values)
{
#ifdef __x86_64__
	if (native_isa() >= NATIVE_AVX2)
		return vector_exp_sum(values, count, largest, ret_values);
#endif
	return plain_exp_sum(values, count, largest, ret_values);
}

float vmath_largest(const float *values, int64_t count)
{
	float largest = -INFINITY;

#ifdef __x86_64__
	if (native_isa() >= NATIVE_AVX2)
		return vector_largest(values, count);
#endif
	for (int64_t i = 0; i < count; i++)
		largest = values[i] > largest ? values[i] : largest;
	return largest;
}

void vmath_softmax(const float *values, int64_t count, float *ret_values)
{
	float largest = vmath_largest(values, count);

	if (largest == -INFINITY)
		largest = 0; /* all are: exp gives 0 / 0, which is NaN, as others have it */
	float factor = 1 / vmath_exp_sum(values, count, largest, ret_values);

#ifdef __x86_64__
	if (native_isa() >= NATIVE_AVX2) {
		vector_scale(ret_values, count, factor);
		return;
	}
#endif
	for (int64_t i = 0; i < count; i++)
		ret_values[i] *= factor;
}
