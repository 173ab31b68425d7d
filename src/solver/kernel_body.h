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
 *	VEC_SECOND(at, odd)	every second one of 2·LANES floats at an address; odd is 0 or 1, written out
 *	VEC_WIDEN(at)		LANES 16-bit numbers at an address, as words
 *	VEC_NARROW(w, at)	the lower 16 bits of LANES words, to an address
 *	KEEP_VALUE(v)		an empty instruction that has v in a register: the compiler would load it once for each use
 *	KEEP_INDEX(i)		the same for a number: the compiler would count a pointer up for each tensor
 */
#include "solver/kernel.h"

#include "core/half.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline)) TARGET

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_at __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint32_t words_at __attribute__((vector_size(4 * LANES), aligned(2), may_alias));

INLINE vec all_of(float value)
{
	return value - (vec){ 0 };
}

/*
 * What one turn of a loop works on: LANES elements from i on. bfloats are the upper halves of floats, so two of them lie in the
 * place of one: of 2·LANES elements the even ones are a vector once shifted up, the odd ones as they are. A turn does both.
 */
enum part { WHOLE, EVEN, ODD };

INLINE vec load(const void *tensor, const enum strata_element element, const enum part part,
		size_t i)
{
	if (element == STRATA_F16)
		return VEC_FROM_HALF((const uint16_t *)tensor + i);
	if (element == STRATA_BF16) {
		words both = *(const words_at *)((const uint16_t *)tensor + i);

		return (vec)(part == EVEN ? both << 16 : both & 0xffff0000);
	}
	if (part == EVEN)
		return VEC_SECOND((const float *)tensor + i, 0);
	if (part == ODD)
		return VEC_SECOND((const float *)tensor + i, 1);
	return *(const vec_at *)((const float *)tensor + i);
}

/* As bfloat_from_float, both of its cases at once; the result is the upper half. */
INLINE words to_bfloat(vec value)
{
	words bits = (words)value, not_a_number = (words)(value != value);
	words up = 0x7fff + (bits >> 16 & 1);

	return (bits + (up & ~not_a_number)) | (not_a_number & 0x400000);
}

/* `even` only where a turn has two parts. */
INLINE void store(void *tensor, const enum strata_element element, size_t i, vec even, vec value)
{
	if (element == STRATA_F16)
		VEC_TO_HALF(value, (uint16_t *)tensor + i);
	else if (element == STRATA_BF16)
		*(words_at *)((uint16_t *)tensor + i) = to_bfloat(even) >> 16 |
							(to_bfloat(value) & 0xffff0000);
	else
		*(vec_at *)((float *)tensor + i) = value;
}

INLINE vec clean(const struct kernel_call *call, const enum strata_element element,
		 const enum part part, size_t i)
{
	vec x = load(call->sample, element, part, i), m = load(call->output, element, part, i);
	vec y = VEC_FMA(all_of(call->q), m, all_of(call->p) * x);

	if (call->limited) {
		y = VEC_MAX(all_of(-call->most), VEC_MIN(all_of(call->most), y));
		if (call->divided)
			y = y / all_of(call->most);
	}
	return y;
}

INLINE vec value_of(const struct kernel_call *call, const enum strata_element element,
		    const enum part part, const bool is_clean, const bool last, size_t k, size_t i)
{
	if (is_clean)
		return clean(call, element, part, i);
	if (element != STRATA_F32 && last && call->last_is_float)
		return load(call->values[k], STRATA_F32, part, i);
	return load(call->values[k], element, part, i);
}

struct sums {
	vec of[KERNEL_SUMS_MAX];
};

struct factors {
	vec of[KERNEL_SUMS_MAX][KERNEL_VALUES_MAX];
};

/* Written out for each value: not every compiler would take a loop apart early enough to see that all of it is constant. */
#define EACH_VALUE(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)
#define TAKE_FACTORS(k)                                        \
	if (k < count0)                                        \
		factors.of[0][k] = all_of(here.factors[0][k]); \
	if (k < count1)                                        \
		factors.of[1][k] = all_of(here.factors[1][k]); \
	if (k < count2)                                        \
		factors.of[2][k] = all_of(here.factors[2][k]);
#define ADD_TO(n, k) \
	sums.of[n] = k ? VEC_FMA(factors->of[n][k], value, sums.of[n]) : factors->of[n][k] * value
#define ADD_VALUE(k)                                                                               \
	if (k < count0) {                                                                          \
		vec value =                                                                        \
			value_of(call, element, part, has_clean && k == 0, k + 1 == count0, k, i); \
                                                                                                   \
		if (k < count1)                                                                    \
			KEEP_VALUE(value);                                                         \
		ADD_TO(0, k);                                                                      \
		if (k < count1)                                                                    \
			ADD_TO(1, k);                                                              \
		if (k < count2)                                                                    \
			ADD_TO(2, k);                                                              \
	}

INLINE struct sums sums_at(const struct kernel_call *call, const struct factors *factors,
			   const enum strata_element element, const enum part part,
			   const bool has_clean, const size_t count0, const size_t count1,
			   const size_t count2, size_t i)
{
	struct sums sums = { 0 };

	EACH_VALUE(ADD_VALUE)
	return sums;
}

/* The one function that all loops are: the first count0 values go into the first sum, and so on. All but `call` is constant. */
INLINE void add_up(const struct kernel_call *call, const enum strata_element element,
		   const bool has_clean, const size_t count0, const size_t count1,
		   const size_t count2)
{
	const struct kernel_call here = *call; /* whatever is stored, this stays */
	const bool halved = element == STRATA_BF16;
	struct factors factors;

	EACH_VALUE(TAKE_FACTORS)
	for (size_t i = 0; i < here.count; i += halved ? 2 * LANES : LANES) {
		struct sums even, sums;

		KEEP_INDEX(i);
		if (halved)
			even = sums_at(&here, &factors, element, EVEN, has_clean, count0, count1,
				       count2, i);
		sums = sums_at(&here, &factors, element, halved ? ODD : WHOLE, has_clean, count0,
			       count1, count2, i);
		if (!halved)
			even = sums;
		store(here.results[0], element, i, even.of[0], sums.of[0]);
		if (count1)
			store(here.results[1], element, i, even.of[1], sums.of[1]);
		if (count2)
			store(here.results[2], element, i, even.of[2], sums.of[2]);
	}
}

/* Element, is y the first value, and the number of values that each sum has. */
#define LOOP(e, y, n0, n1, n2)                                                                 \
	TARGET static void loop_##e##_##y##_##n0##_##n1##_##n2(const struct kernel_call *call) \
	{                                                                                      \
		add_up(call, STRATA_##e, y, n0, n1, n2);                                       \
	}
#define LOOPS_OF(e, y, n)   \
	LOOP(e, y, n, 0, 0) \
	LOOP(e, y, n, 1, 0) \
	LOOP(e, y, n, n, 0) \
	LOOP(e, y, n, n, 1)
#define LOOPS(e, y)         \
	LOOP(e, y, 1, 0, 0) \
	LOOP(e, y, 1, 1, 0) \
	LOOP(e, y, 1, 1, 1) \
	LOOPS_OF(e, y, 2)   \
	LOOPS_OF(e, y, 3)   \
	LOOPS_OF(e, y, 4)   \
	LOOPS_OF(e, y, 5)   \
	LOOPS_OF(e, y, 6)   \
	LOOP(e, y, 3, 2, 0) \
	LOOP(e, y, 4, 2, 0) \
	LOOP(e, y, 5, 2, 0) \
	LOOP(e, y, 6, 2, 0)
#define LOOPS_ALL(e)        \
	LOOPS(e, 0)         \
	LOOPS(e, 1)         \
	LOOP(e, 0, 7, 0, 0) \
	LOOP(e, 0, 8, 0, 0)

LOOPS_ALL(F32)
LOOPS_ALL(F16)
LOOPS_ALL(BF16)

#define ROW(e, y, n)                                                        \
	[n] = { loop_##e##_##y##_##n##_0_0, loop_##e##_##y##_##n##_1_0,     \
		loop_##e##_##y##_##n##_2_0, loop_##e##_##y##_##n##_##n##_0, \
		loop_##e##_##y##_##n##_##n##_1 }
/* Of one value the first is all, and there is no second. */
#define ROWS(e, y)                                                                            \
	[1] = { loop_##e##_##y##_1_0_0, loop_##e##_##y##_1_1_0, NULL, loop_##e##_##y##_1_1_0, \
		loop_##e##_##y##_1_1_1 },                                                     \
	ROW(e, y, 2), ROW(e, y, 3), ROW(e, y, 4), ROW(e, y, 5), ROW(e, y, 6)
#define TABLE(e)                                                                            \
	{                                                                                   \
		{ ROWS(e, 0), [7] = { loop_##e##_0_7_0_0 }, [8] = { loop_##e##_0_8_0_0 } }, \
		{                                                                           \
			ROWS(e, 1)                                                          \
		}                                                                           \
	}

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
		VEC_TO_HALF(*(const vec_at *)(from + i), to + i);
	for (; i < count; i++)
		to[i] = half_from_float(from[i]);
}

TARGET static void load_bfloat(const uint16_t *from, float *to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		*(vec_at *)(to + i) = (vec)(VEC_WIDEN(from + i) << 16);
	for (; i < count; i++)
		to[i] = bfloat_to_float(from[i]);
}

TARGET static void store_bfloat(const float *from, uint16_t *to, size_t count)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		VEC_NARROW(to_bfloat(*(const vec_at *)(from + i)) >> 16, to + i);
	for (; i < count; i++)
		to[i] = bfloat_from_float(from[i]);
}

const struct kernel KERNEL = {
	.lanes = LANES,
	.loops = { TABLE(F32), TABLE(F16), TABLE(BF16) }, /* as the enumeration has them */
	.load = { [STRATA_F16] = load_half, [STRATA_BF16] = load_bfloat },
	.store = { [STRATA_F16] = store_half, [STRATA_BF16] = store_bfloat },
};
