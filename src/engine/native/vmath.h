/*
 * Functions of many float32 at once: glibc's vector functions (libmvec) where the processor has AVX2, its scalar ones elsewhere. A number's result
 * does not depend on its neighbours or its place: the last few are padded to a whole vector. ret may be the same array.
 */
#ifndef ENGINE_NATIVE_VMATH_H
#define ENGINE_NATIVE_VMATH_H

#include <stdint.h>

enum vmath {
	VMATH_ACOS,
	VMATH_ACOSH,
	VMATH_ASIN,
	VMATH_ASINH,
	VMATH_ATAN,
	VMATH_ATANH,
	VMATH_COS,
	VMATH_COSH,
	VMATH_ERF,
	VMATH_EXP,
	VMATH_EXPM1,
	VMATH_LOG,
	VMATH_LOG1P,
	VMATH_SIN,
	VMATH_SINH,
	VMATH_TAN,
	VMATH_TANH,
	VMATH_SIGMOID,  /* 1 / (1 + exp(−x)) */
	VMATH_SILU,     /* x · sigmoid(x) */
	VMATH_GELU,     /* x · (1 + erf(x / √2)) / 2 */
	VMATH_GELU_TANH /* its approximation by tanh */
};
void vmath_apply(enum vmath function, const float *values, int64_t count, float *ret_values);

/* Writes exp(x − largest), none of which may be above 1, and returns the sum of these. */
float vmath_exp_sum(const float *values, int64_t count, float largest, float *ret_values);
/* −∞ when there is none; NaN is passed over. */
float vmath_largest(const float *values, int64_t count);
/* A row's softmax. ret may be the same array. */
void vmath_softmax(const float *values, int64_t count, float *ret_values);

#endif
