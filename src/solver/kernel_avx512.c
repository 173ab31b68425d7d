/* The loops for AVX-512 (its foundation is enough). */
#include "solver/kernel.h"

#ifdef __x86_64__

#include <immintrin.h>

#define LANES 16
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define KERNEL kernel_avx512
#define VEC_FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define VEC_MIN(a, b) ((vec)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define VEC_MAX(a, b) ((vec)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define VEC_FROM_HALF(at) ((vec)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)(at))))
#define VEC_TO_HALF(v, at) \
	_mm256_storeu_si256((void *)(at), _mm512_cvtps_ph((__m512)(v), _MM_FROUND_TO_NEAREST_INT))
#define EVERY_SECOND _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define VEC_SECOND(at, odd)                                                       \
	((vec)_mm512_permutex2var_ps(                                             \
		_mm512_loadu_ps(at),                                              \
		_mm512_add_epi32(EVERY_SECOND, _mm512_set1_epi32((odd) ? 1 : 0)), \
		_mm512_loadu_ps((at) + 16)))
#define VEC_WIDEN(at) ((words)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(at))))
#define VEC_NARROW(w, at) _mm256_storeu_si256((void *)(at), _mm512_cvtepi32_epi16((__m512i)(w)))
#define KEEP_VALUE(v) __asm__("" : "+v"(v))
#define KEEP_INDEX(i) __asm__("" : "+r"(i))

extern const struct kernel kernel_avx512;
#include "solver/kernel_body.h"

#endif
