/*
 * What every kernel promises: the bits of the scalar reference, for every loop that it has, any row, element and length. The
 * loops for AVX-512 need a machine that has it; so that their sixteen lanes are tested on others too, the same body is built
 * here once more with two registers of AVX2 for each vector.
 */
#include "unit/row_sample.h"

#include "solver/kernel.h"
#include "solver/row.h"

#include <math.h>

#ifdef __x86_64__
#include <immintrin.h>

#define LANES 16
#define TARGET __attribute__((target("avx2,fma,f16c")))
#define KERNEL kernel_wide
#define WIDE TARGET static inline __attribute__((always_inline))

typedef float wide __attribute__((vector_size(64)));
union pair {
	wide all;
	__m256 half[2];
};

WIDE wide wide_fma(const union pair *a, const union pair *b, const union pair *c)
{
	union pair result;

	for (int h = 0; h < 2; h++)
		result.half[h] = _mm256_fmadd_ps(a->half[h], b->half[h], c->half[h]);
	return result.all;
}

WIDE wide wide_min(const union pair *a, const union pair *b)
{
	union pair result;

	for (int h = 0; h < 2; h++)
		result.half[h] = _mm256_min_ps(a->half[h], b->half[h]);
	return result.all;
}

WIDE wide wide_max(const union pair *a, const union pair *b)
{
	union pair result;

	for (int h = 0; h < 2; h++)
		result.half[h] = _mm256_max_ps(a->half[h], b->half[h]);
	return result.all;
}

WIDE wide wide_from_half(const uint16_t *at)
{
	union pair result;

	for (int h = 0; h < 2; h++)
		result.half[h] = _mm256_cvtph_ps(_mm_loadu_si128((const void *)(at + 8 * h)));
	return result.all;
}

WIDE void wide_to_half(const union pair *from, uint16_t *at)
{
	for (int h = 0; h < 2; h++)
		_mm_storeu_si128((void *)(at + 8 * h),
				 _mm256_cvtps_ph(from->half[h], _MM_FROUND_TO_NEAREST_INT));
}

WIDE wide wide_second(const float *at, bool odd)
{
	wide result;

	for (int i = 0; i < 16; i++)
		result[i] = at[2 * i + odd];
	return result;
}

typedef uint32_t wide_u32 __attribute__((vector_size(64)));

WIDE wide_u32 wide_words(const uint16_t *at)
{
	wide_u32 result;

	for (int i = 0; i < 16; i++)
		result[i] = at[i];
	return result;
}

union wide_pair {
	wide_u32 all;
	uint32_t each[16];
};

WIDE void wide_narrow(const union wide_pair *from, uint16_t *at)
{
	for (int i = 0; i < 16; i++)
		at[i] = (uint16_t)from->each[i];
}

#define PAIR(v) (&(union pair){ v })
#define VEC_FMA(a, b, c) wide_fma(PAIR(a), PAIR(b), PAIR(c))
#define VEC_MIN(a, b) wide_min(PAIR(a), PAIR(b))
#define VEC_MAX(a, b) wide_max(PAIR(a), PAIR(b))
#define VEC_FROM_HALF wide_from_half
#define VEC_TO_HALF(v, at) wide_to_half(PAIR(v), at)
#define VEC_SECOND(at, odd) wide_second(at, odd)
#define VEC_WIDEN(at) wide_words(at)
#define VEC_NARROW(w, at) wide_narrow(&(union wide_pair){ w }, at)
#define KEEP_VALUE(v) ((void)0)
#define KEEP_INDEX(i) ((void)0)
extern const struct kernel kernel_wide;
#include "solver/kernel_body.h"
#endif

enum { KERNELS_MAX = 3 };

static const struct candidate {
	const char *name;
	const struct kernel *kernel;
} * candidates(size_t *ret_count)
{
	static struct candidate found[KERNELS_MAX];
	size_t count = 0;

	if (strata_isa_works(STRATA_ISA_AVX2))
		found[count++] = (struct candidate){ "AVX2", kernel_find(STRATA_ISA_AVX2) };
	if (strata_isa_works(STRATA_ISA_AVX512))
		found[count++] = (struct candidate){ "AVX-512", kernel_find(STRATA_ISA_AVX512) };
#ifdef __x86_64__
	if (strata_isa_works(STRATA_ISA_AVX2))
		found[count++] = (struct candidate){ "sixteen lanes", &kernel_wide };
#endif
	*ret_count = count;
	if (!count)
		test_skip("this machine has none of the instruction sets");
	return found;
}

/* Applies a row by the reference and by every kernel; all of the blocks must be the same, guards and all. */
static void check_row(const struct strata_solver_row *row, enum strata_element element,
		      size_t count, bool in_place, uint64_t *seed, const char *what)
{
	size_t kernel_count;
	const struct candidate *kernels = candidates(&kernel_count);
	struct sample_item start, want, got;
	struct terms terms;

	terms_of(row, &terms);
	sample_init(&start, seed, element, count, in_place, row);
	sample_copy(&start, &want);
	row_apply(&terms, &want.item, element, 0, count, 1.25f);
	for (size_t i = 0; i < kernel_count; i++) {
		sample_copy(&start, &got);
		kernel_apply(kernels[i].kernel, &terms, &got.item, element, 0, count, 1.25f);
		if (memcmp(got.block, want.block, want.block_bytes) != 0)
			test_fail(__FILE__, __LINE__,
				  "%s, %s: %zu elements of kind %d differ from the reference's",
				  kernels[i].name, what, count, (int)element);
		sample_fini(&got);
	}
	sample_fini(&want);
	sample_fini(&start);
}

TEST(avx_512_runs_where_the_machine_has_it)
{
	size_t count, found = 0;

	if (!strata_isa_works(STRATA_ISA_AVX512))
		test_skip("this machine has no AVX-512: its kernel was not run");
	const struct candidate *kernels = candidates(&count);

	for (size_t i = 0; i < count; i++)
		found += kernels[i].kernel == kernel_find(STRATA_ISA_AVX512);
	CHECK_INT(found, 1);
	CHECK_INT(strata_isa_best(), STRATA_ISA_AVX512);
}

TEST(any_row_has_the_reference_s_bits)
{
	static const size_t counts[] = { 0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 255, 256, 257, 600 };
	uint64_t seed = 1;

	for (int round = 0; round < 3000; round++) {
		struct strata_solver_row row = sample_row(&seed);
		size_t count = counts[random_below(&seed, sizeof(counts) / sizeof(counts[0]))];

		check_row(&row, (enum strata_element)(round % 3), count, round & 1, &seed,
			  "a row at random");
	}
}

/* A row whose terms have a shape: y or the sample first, then slots. */
static struct strata_solver_row shaped(bool has_clean, size_t values, enum kernel_shape shape,
				       uint32_t flags)
{
	static const size_t writes[SHAPE_COUNT] = { [SHAPE_ONE] = 0,
						    [SHAPE_FIRST] = 1,
						    [SHAPE_TWO] = 1,
						    [SHAPE_ALL] = 1,
						    [SHAPE_ALL_FIRST] = 2 };
	struct strata_solver_row row = { .p = 1.1, .q = -0.3, .limit = 1, .flags = flags };
	struct strata_solver_sum *sums[3] = { &row.next, &row.writes[0].sum, &row.writes[1].sum };
	size_t counts[3] = { values, 0, 1 };

	counts[1] = shape == SHAPE_FIRST ? 1 : shape == SHAPE_TWO ? 2 : values;
	row.write_count = (uint32_t)writes[shape];
	row.writes[0].slot = 3;
	row.writes[1].slot = 1;
	for (size_t s = 0; s <= row.write_count; s++) {
		*(has_clean ? &sums[s]->b : &sums[s]->a) = 0.7 + (double)s / 10;
		for (size_t k = 1; k < counts[s]; k++)
			sums[s]->c[k - 1] = 0.1 * (double)(1 + s + k);
	}
	return row;
}

TEST(every_loop_has_the_reference_s_bits)
{
	static const uint32_t flags[] = { 0, STRATA_ROW_CLIP, STRATA_ROW_THRESHOLD };
	uint64_t seed = 2;
	size_t kernel_count, loops = 0;
	const struct kernel *kernel = candidates(&kernel_count)[0].kernel;

	for (size_t y = 0; y < 2; y++)
		for (size_t n = 1; n <= KERNEL_VALUES_MAX; n++)
			for (size_t shape = 0; shape < SHAPE_COUNT; shape++) {
				if (!kernel->loops[STRATA_F32][y][n][shape])
					continue;
				loops++;
				for (size_t f = 0; f < 3; f++) {
					struct strata_solver_row row =
						shaped(y, n, (enum kernel_shape)shape, flags[f]);

					for (int e = STRATA_F32; e <= STRATA_BF16; e++)
						check_row(&row, (enum strata_element)e, 100, f & 1,
							  &seed, "a loop");
				}
			}
	CHECK_INT(loops, 60);
}

TEST(what_is_not_finite_goes_where_the_reference_takes_it)
{
	static const float odd[] = { INFINITY, -INFINITY, NAN, -0.0f, 3e38f };
	uint64_t seed = 3;
	size_t kernel_count;
	const struct candidate *kernels = candidates(&kernel_count);

	for (int round = 0; round < 600; round++) {
		struct strata_solver_row row = sample_row(&seed);
		struct sample_item start, want, got;
		struct terms terms;
		size_t tensor = random_below(&seed, SAMPLE_TENSORS);

		terms_of(&row, &terms);
		sample_init(&start, &seed, STRATA_F32, 70, false, &row);
		for (size_t i = 0; i < 70; i += 3)
			((float *)start.tensors[tensor])[i] = odd[i % 5];
		sample_copy(&start, &want);
		row_apply(&terms, &want.item, STRATA_F32, 0, 70, 1);
		for (size_t i = 0; i < kernel_count; i++) {
			sample_copy(&start, &got);
			kernel_apply(kernels[i].kernel, &terms, &got.item, STRATA_F32, 0, 70, 1);
			CHECK_BYTES(got.block, want.block, want.block_bytes);
			sample_fini(&got);
		}
		sample_fini(&want);
		sample_fini(&start);
	}
}

TEST(every_16_bit_value_is_widened_as_core_does_it)
{
	static uint16_t bits[UINT16_MAX + 1];
	static float got[UINT16_MAX + 1];
	size_t kernel_count;
	const struct candidate *kernels = candidates(&kernel_count);

	for (uint32_t i = 0; i <= UINT16_MAX; i++)
		bits[i] = (uint16_t)i;
	for (size_t k = 0; k < kernel_count; k++)
		for (int element = STRATA_F16; element <= STRATA_BF16; element++) {
			kernels[k].kernel->load[element](bits, got, UINT16_MAX + 1);
			for (uint32_t i = 0; i <= UINT16_MAX; i++) {
				float want = element == STRATA_F16 ? half_to_float(bits[i])
								   : bfloat_to_float(bits[i]);

				CHECK_BYTES(&got[i], &want, sizeof(want));
			}
		}
}

/* All exponents, with mantissas on both sides of every place where rounding turns. */
TEST(floats_are_narrowed_as_core_does_it)
{
	enum { COUNT = 1 << 16 };
	static float values[COUNT];
	static uint16_t got[COUNT];
	size_t kernel_count;
	const struct candidate *kernels = candidates(&kernel_count);

	for (uint32_t low = 0; low < 64; low++) {
		for (uint32_t i = 0; i < COUNT; i++) {
			static const uint32_t ends[] = { 0,      1,      0xfff,  0x1000,
							 0x1001, 0x7fff, 0x8000, 0x8001 };
			uint32_t bits = i << 16 | (ends[low % 8] + (low / 8) * 0x2000) % 0x10000;

			memcpy(&values[i], &bits, sizeof(bits));
		}
		for (size_t k = 0; k < kernel_count; k++)
			for (int element = STRATA_F16; element <= STRATA_BF16; element++) {
				kernels[k].kernel->store[element](values, got, COUNT);
				for (uint32_t i = 0; i < COUNT; i++)
					CHECK_INT(got[i], element == STRATA_F16
								  ? half_from_float(values[i])
								  : bfloat_from_float(values[i]));
			}
	}
}
