/*
 * The loops of a kernel, for one instruction set. Included once by each kernel_*.c, which defines
 *
 *	LANES			floats of a vector
 *	TARGET			the attribute that lets the compiler use the instruction set
 *	KERNEL			the name of the table
 *	VEC_FMA(a, b, c)	a·b + c, rounded once
 *	VEC_MIN(a, b)		a < b ? a : b, so that b passes when it is not a number; VEC_MAX alike
 *	VEC_FROM_HALF(at)	LANES halves at an address, as floats
 *	VEC_TO_HALF(v, at)	the way back
 */
#include "solver/kernel.h"

#include "core/half.h"

#include <string.h>

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline)) TARGET

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_at __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t halves_at __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

INLINE vec all_of(float value)
{
	return value - (vec){ 0 };
}

INLINE vec load(const float *at)
{
	return *(const vec_at *)at;
}

INLINE vec clean(const struct kernel_call *call, size_t i)
{
	vec x = load(call->sample + i), m = load(call->output + i);
	vec y = VEC_FMA(all_of(call->q), m, all_of(call->p) * x);

	if (call->limited) {
		y = VEC_MAX(all_of(-call->most), VEC_MIN(all_of(call->most), y));
		if (call->divided)
			y = y / all_of(call->most);
	}
	return y;
}

/* The one function that all loops are: `counts` values go into the sums, and everything but `call` is constant. */
INLINE void add_up(const struct kernel_call *call, const bool has_clean, const size_t count0,
		   const size_t count1, const size_t count2)
{
	const size_t counts[KERNEL_SUMS_MAX] = { count0, count1, count2 };
	const struct kernel_call here = *call; /* whatever is stored, this stays */
	vec factors[KERNEL_SUMS_MAX][KERNEL_VALUES_MAX], sums[KERNEL_SUMS_MAX];

	UNROLL
	for (size_t s = 0; s < KERNEL_SUMS_MAX; s++)
		UNROLL
	for (size_t k = 0; k < counts[s]; k++)
		factors[s][k] = all_of(here.factors[s][k]);
	for (size_t i = 0; i < here.count; i += LANES) {
		UNROLL
		for (size_t k = 0; k < count0; k++) {
			vec value = has_clean && k == 0 ? clean(&here, i)
							: load(here.values[k] + i);

			UNROLL
			for (size_t s = 0; s < KERNEL_SUMS_MAX; s++)
				if (k < counts[s])
					sums[s] = k ? VEC_FMA(factors[s][k], value, sums[s])
						    : factors[s][k] * value;
		}
		UNROLL
		for (size_t s = 0; s < KERNEL_SUMS_MAX; s++)
			if (counts[s])
				*(vec_at *)(here.results[s] + i) = sums[s];
	}
}

/* y?, and the number of values that each sum has. */
#define LOOP(y, n0, n1, n2)                                                              \
	TARGET static void loop_##y##_##n0##_##n1##_##n2(const struct kernel_call *call) \
	{                                                                                \
		add_up(call, y, n0, n1, n2);                                             \
	}
#define LOOPS_SHORT(y)   \
	LOOP(y, 1, 0, 0) \
	LOOP(y, 2, 0, 0) \
	LOOP(y, 3, 0, 0) \
	LOOP(y, 4, 0, 0) \
	LOOP(y, 5, 0, 0) \
	LOOP(y, 6, 0, 0) \
	LOOP(y, 1, 1, 0) \
	LOOP(y, 2, 1, 0) \
	LOOP(y, 3, 1, 0) \
	LOOP(y, 4, 1, 0) \
	LOOP(y, 5, 1, 0) \
	LOOP(y, 6, 1, 0) \
	LOOP(y, 2, 2, 0) \
	LOOP(y, 3, 2, 0) \
	LOOP(y, 4, 2, 0) \
	LOOP(y, 5, 2, 0) \
	LOOP(y, 6, 2, 0) \
	LOOP(y, 3, 3, 0) \
	LOOP(y, 4, 4, 0) \
	LOOP(y, 5, 5, 0) \
	LOOP(y, 6, 6, 0) \
	LOOP(y, 1, 1, 1) \
	LOOP(y, 2, 2, 1) \
	LOOP(y, 3, 3, 1) \
	LOOP(y, 4, 4, 1) \
	LOOP(y, 5, 5, 1) \
	LOOP(y, 6, 6, 1)

LOOPS_SHORT(0)
LOOPS_SHORT(1)
LOOP(0, 7, 0, 0)
LOOP(0, 8, 0, 0)

#define ROW(y, n)                                                                 \
	[n] = { loop_##y##_##n##_0_0, loop_##y##_##n##_1_0, loop_##y##_##n##_2_0, \
		loop_##y##_##n##_##n##_0, loop_##y##_##n##_##n##_1 }
/* Of one value the first is all, and there is no second. */
#define ROWS_SHORT(y)                                                                           \
	[1] = { loop_##y##_1_0_0, loop_##y##_1_1_0, NULL, loop_##y##_1_1_0, loop_##y##_1_1_1 }, \
	ROW(y, 2), ROW(y, 3), ROW(y, 4), ROW(y, 5), ROW(y, 6)

TARGET static void load_half(const uint16_t *from, float *to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		*(vec_at *)(to + i) = VEC_FROM_HALF(from + i);
	for (; i < count; i++)
		to[i] = half_to_float(from[i]);
}

TARGET static void store_half(const float *from, uint16_t *to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		VEC_TO_HALF(load(from + i), to + i);
	for (; i < count; i++)
		to[i] = half_from_float(from[i]);
}

TARGET static void load_bfloat(const uint16_t *from, float *to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		*(vec_at *)(to + i) =
			(vec)(__builtin_convertvector(*(const halves_at *)(from + i), words) << 16);
	for (; i < count; i++)
		to[i] = bfloat_to_float(from[i]);
}

/* As bfloat_from_float, both of its cases at once. */
TARGET static void store_bfloat(const float *from, uint16_t *to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		words bits = (words)load(from + i);
		words not_a_number = (words)((bits & 0x7fffffff) > 0x7f800000);
		words rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
		words quiet = bits >> 16 | 0x40;

		*(halves_at *)(to + i) = __builtin_convertvector(
			(quiet & not_a_number) | (rounded & ~not_a_number), halves);
	}
	for (; i < count; i++)
		to[i] = bfloat_from_float(from[i]);
}

const struct kernel KERNEL = {
	.lanes = LANES,
	.loops = { { ROWS_SHORT(0), [7] = { loop_0_7_0_0 }, [8] = { loop_0_8_0_0 } },
		   { ROWS_SHORT(1) } },
	.load = { [STRATA_F16] = load_half, [STRATA_BF16] = load_bfloat },
	.store = { [STRATA_F16] = store_half, [STRATA_BF16] = store_bfloat },
};
