/*
 * The plain loops, as one would write them for a solver, and left to the compiler with all it has: full optimisation, the
 * machine's vectors, fused multiply-add, and the promise that nothing overlaps.
 */
#include "bench/stepcost.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#define FAST
#define WIDEST
#else
#define FAST __attribute__((optimize("O3")))
#define WIDEST ",prefer-vector-width=512"
#endif

#define PLAIN_LOOPS(name, target)                                                                  \
	FAST target static void one_##name(const struct plain *plain, float *restrict x,           \
					   const float *restrict m, size_t count)                  \
	{                                                                                          \
		const float a = plain->next[0], e = plain->next[1];                                \
                                                                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			x[i] = fmaf(e, m[i], a * x[i]);                                            \
	}                                                                                          \
                                                                                                   \
	FAST target static void two_##name(const struct plain *plain, float *restrict x,           \
					   const float *restrict m, float *restrict last,          \
					   size_t count)                                           \
	{                                                                                          \
		const float a = plain->next[0], e = plain->next[1], c = plain->next[2];            \
		const float p = plain->written[0], q = plain->written[1];                          \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			float next = fmaf(c, last[i], fmaf(e, m[i], a * x[i]));                    \
                                                                                                   \
			last[i] = fmaf(q, m[i], p * x[i]);                                         \
			x[i] = next;                                                               \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	FAST target static void three_##name(const struct plain *plain, float *restrict x,         \
					     const float *restrict m, float *restrict oldest,      \
					     const float *restrict newer, float *restrict start,   \
					     size_t count)                                         \
	{                                                                                          \
		const struct plain k = *plain;                                                     \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			float y = fmaf(k.q, m[i], k.p * x[i]);                                     \
			float s0 = oldest[i], s1 = newer[i], s2 = start[i];                        \
                                                                                                   \
			x[i] = fmaf(k.next[3], s2,                                                 \
				    fmaf(k.next[2], s1, fmaf(k.next[1], s0, k.next[0] * y)));      \
			start[i] = fmaf(                                                           \
				k.written[3], s2,                                                  \
				fmaf(k.written[2], s1, fmaf(k.written[1], s0, k.written[0] * y))); \
			oldest[i] = y;                                                             \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void run_##name(const struct plain *plain, float *x, const float *m,                \
			       void *const *slots, size_t count)                                   \
	{                                                                                          \
		if (plain->kind == PLAIN_ONE)                                                      \
			one_##name(plain, x, m, count);                                            \
		else if (plain->kind == PLAIN_TWO)                                                 \
			two_##name(plain, x, m, slots[plain->slots[0]], count);                    \
		else if (plain->kind == PLAIN_THREE)                                               \
			three_##name(plain, x, m, slots[plain->slots[0]], slots[plain->slots[1]],  \
				     slots[plain->slots[2]], count);                               \
	}

PLAIN_LOOPS(base, )
#ifdef __x86_64__
PLAIN_LOOPS(avx2, __attribute__((target("avx2,fma"))))
PLAIN_LOOPS(avx512, __attribute__((target("avx512f,avx2,fma" WIDEST))))
#endif

void plain_run(const struct plain *plain, enum strata_isa isa, float *sample, const float *output,
	       void *const *slots, size_t count)
{
	switch (isa) {
#ifdef __x86_64__
	case STRATA_ISA_AVX2:
		run_avx2(plain, sample, output, slots, count);
		return;
	case STRATA_ISA_AVX512:
		run_avx512(plain, sample, output, slots, count);
		return;
#endif
	default:
		run_base(plain, sample, output, slots, count);
	}
}

/* Does a sum have exactly these terms? Bits of slots. */
static bool reads(const struct strata_solver_sum *sum, bool a, bool e, bool b, unsigned slots)
{
	unsigned read = 0;

	for (unsigned k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		read |= (unsigned)(sum->c[k] != 0) << k;
	return (sum->a != 0) == a && (sum->e != 0) == e && (sum->b != 0) == b && read == slots &&
	       sum->d == 0;
}

static bool is_two(const struct strata_solver_row *row, struct plain *plain)
{
	const struct strata_solver_sum *next = &row->next, *kept = &row->writes[0].sum;
	uint32_t slot = row->writes[0].slot;

	if (!reads(next, true, true, false, 1u << slot) || !reads(kept, true, true, false, 0))
		return false;
	*plain = (struct plain){
		.kind = PLAIN_TWO,
		.next = { (float)next->a, (float)next->e, (float)next->c[slot] },
		.written = { (float)kept->a, (float)kept->e },
		.slots = { slot },
	};
	return true;
}

/* y to the slot of the oldest one, and the corrected sample to that of the last start. */
static bool is_three(const struct strata_solver_row *row, struct plain *plain)
{
	const struct strata_solver_sum *next = &row->next, *start = &row->writes[1].sum;
	uint32_t oldest = row->writes[0].slot, last = row->writes[1].slot, newer = 0;

	while (newer == oldest || newer == last)
		newer++;
	unsigned all = 1u << oldest | 1u << newer | 1u << last;

	if (!reads(next, false, false, true, all) || !reads(start, false, false, true, all) ||
	    !reads(&row->writes[0].sum, false, false, true, 0) || row->writes[0].sum.b != 1)
		return false;
	*plain = (struct plain){ .kind = PLAIN_THREE,
				 .p = (float)row->p,
				 .q = (float)row->q,
				 .next = { (float)next->b },
				 .written = { (float)start->b },
				 .slots = { oldest, newer, last } };
	for (size_t k = 0; k < 3; k++) {
		plain->next[1 + k] = (float)next->c[plain->slots[k]];
		plain->written[1 + k] = (float)start->c[plain->slots[k]];
	}
	return true;
}

void plain_of(const struct strata_solver_row *row, struct plain *ret_plain)
{
	*ret_plain = (struct plain){ .kind = PLAIN_NONE };
	if (row->flags)
		return;
	if (row->write_count == 0 && reads(&row->next, true, true, false, 0))
		*ret_plain = (struct plain){ .kind = PLAIN_ONE,
					     .next = { (float)row->next.a, (float)row->next.e } };
	else if (row->write_count == 1)
		is_two(row, ret_plain);
	else if (row->write_count == 2)
		is_three(row, ret_plain);
}
