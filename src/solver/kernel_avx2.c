/* The loops for AVX2, with FMA and F16C: any x86 processor since about 2013. */
#include "solver/kernel.h"

#ifdef __x86_64__

#include <immintrin.h>

#define LANES 8
#define TARGET __attribute__((target("avx2,fma,f16c")))
#define KERNEL kernel_avx2
#define VEC_FMA(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define VEC_MIN(a, b) ((vec)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define VEC_MAX(a, b) ((vec)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define VEC_FROM_HALF(at) ((vec)_mm256_cvtph_ps(_mm_loadu_si128((const void *)(at))))
#define VEC_TO_HALF(v, at) \
	_mm_storeu_si128((void *)(at), _mm256_cvtps_ph((__m256)(v), _MM_FROUND_TO_NEAREST_INT))
#define VEC_SECOND(at, odd)                                                                        \
	((vec)_mm256_castpd_ps(_mm256_permute4x64_pd(                                              \
		_mm256_castps_pd(_mm256_shuffle_ps(_mm256_loadu_ps(at), _mm256_loadu_ps((at) + 8), \
						   (odd) ? 0xdd : 0x88)),                          \
		0xd8)))
#define VEC_WIDEN(at) ((words)_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(at))))
#define VEC_NARROW(w, at)                                                       \
	_mm_storeu_si128((void *)(at),                                          \
			 _mm_packus_epi32(_mm256_castsi256_si128((__m256i)(w)), \
					  _mm256_extracti128_si256((__m256i)(w), 1)))
#define KEEP_VALUE(v) __asm__("" : "+x"(v))
#define KEEP_INDEX(i) __asm__("" : "+r"(i))

extern const struct kernel kernel_avx2;
#include "solver/kernel_body.h"

#endif
