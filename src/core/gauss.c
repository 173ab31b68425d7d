/*
 * Box-Muller in float32: see gauss.h. Two spellings of the same arithmetic, operation by operation:
 * plain C with fmaf(), and AVX2 with FMA chosen at run time. A test holds them equal, so the choice
 * is one of speed only.
 */
#include "core/gauss.h"

#include "core/wide.h"

#include <math.h>
#include <string.h>

/* Cephes logf: mantissa in [√½, √2), ln(1 + m) = m − m²/2 + m³·P(m), exponent times ln 2 in two
 * parts. */
#define SQRT_HALF 0.707106781186547524f
#define LN2_SMALL -2.12194440e-4f
#define LN2_LARGE 0.693359375f
static const float log_terms[] = { 7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
				   -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
				   2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f };
enum { LOG_TERM_COUNT = sizeof(log_terms) / sizeof(log_terms[0]) };

/* Cephes sinf, cosf: the nearest even multiple of π/4 is taken off in three parts, a polynomial
 * does the rest. */
#define FOUR_OVER_PI 1.27323954473516f
#define PI4_A -0.78515625f
#define PI4_B -2.4187564849853515625e-4f
#define PI4_C -3.77489497744594108e-8f
static const float sin_terms[] = { -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f };
static const float cos_terms[] = { 2.443315711809948e-5f, -1.388731625493765e-3f,
				   4.166664568298827e-2f };

/* A word as a uniform number: the middles of 2^32 equal parts of (0, 1), and of (0, 2π). */
#define WORD_SCALE 0x1p-32f
#define WORD_ANGLE 1.46291807926715968e-9f /* 2π·2^-32 */

static float log_plain(float x)
{
	int32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	float exponent = (float)((bits >> 23) - 126);

	bits = (bits & 0x007fffff) | 0x3f000000;
	float m;

	memcpy(&m, &bits, sizeof(m));
	float low = m < SQRT_HALF ? m : 0;

	exponent -= m < SQRT_HALF ? 1 : 0;
	m = (m - 1) + low;
	float square = m * m, y = log_terms[0];

	for (int i = 1; i < LOG_TERM_COUNT; i++)
		y = fmaf(y, m, log_terms[i]);
	y = fmaf(y * m, square, exponent * LN2_SMALL);
	y = fmaf(-0.5f, square, y);
	return fmaf(exponent, LN2_LARGE, m + y);
}

static void sincos_plain(float x, float *ret_sin, float *ret_cos)
{
	int32_t octant = ((int32_t)(x * FOUR_OVER_PI) + 1) & ~1;
	float y = (float)octant;

	x = fmaf(y, PI4_C, fmaf(y, PI4_B, fmaf(y, PI4_A, x)));
	float square = x * x;
	float c = fmaf(fmaf(cos_terms[0], square, cos_terms[1]), square, cos_terms[2]) * square;
	float s = fmaf(fmaf(sin_terms[0], square, sin_terms[1]), square, sin_terms[2]) * square;

	c = fmaf(c, square, -(square * 0.5f)) + 1;
	s = fmaf(s, x, x);
	float sine = octant & 2 ? c : s, cosine = octant & 2 ? s : c;

	*ret_sin = octant & 4 ? -sine : sine;
	*ret_cos = (octant - 2) & 4 ? cosine : -cosine;
}

static void pair_plain(float u, float theta, float *ret_cos, float *ret_sin)
{
	float radius = sqrtf(-2 * log_plain(u)), sine, cosine;

	sincos_plain(theta, &sine, &cosine);
	*ret_cos = radius * cosine;
	*ret_sin = radius * sine;
}

void gauss_from_angles_plain(const float *u, const float *theta, float *ret_cos, float *ret_sin,
			     size_t count)
{
	for (size_t i = 0; i < count; i++)
		pair_plain(u[i], theta[i], &ret_cos[i], &ret_sin[i]);
}

void gauss_from_words_plain(const uint32_t *radius, const uint32_t *angle, float *ret_cos,
			    float *ret_sin, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		float u = (float)radius[i] * WORD_SCALE + WORD_SCALE / 2;
		float theta = (float)angle[i] * WORD_ANGLE + WORD_ANGLE / 2;

		pair_plain(u, theta, &ret_cos[i], &ret_sin[i]);
	}
}

#ifdef WIDE
WIDE static inline __m256 log_wide(__m256 x)
{
	__m256i bits = _mm256_castps_si256(x);
	__m256i shifted = _mm256_sub_epi32(_mm256_srai_epi32(bits, 23), _mm256_set1_epi32(126));
	__m256 exponent = _mm256_cvtepi32_ps(shifted), one = _mm256_set1_ps(1);

	bits = _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff)),
			       _mm256_set1_epi32(0x3f000000));
	__m256 m = _mm256_castsi256_ps(bits);
	__m256 low = _mm256_cmp_ps(m, _mm256_set1_ps(SQRT_HALF), _CMP_LT_OQ);

	exponent = _mm256_sub_ps(exponent, _mm256_and_ps(one, low));
	m = _mm256_add_ps(_mm256_sub_ps(m, one), _mm256_and_ps(m, low));
	__m256 square = _mm256_mul_ps(m, m), y = _mm256_set1_ps(log_terms[0]);

	for (int i = 1; i < LOG_TERM_COUNT; i++)
		y = _mm256_fmadd_ps(y, m, _mm256_set1_ps(log_terms[i]));
	y = _mm256_fmadd_ps(_mm256_mul_ps(y, m), square,
			    _mm256_mul_ps(exponent, _mm256_set1_ps(LN2_SMALL)));
	y = _mm256_fmadd_ps(_mm256_set1_ps(-0.5f), square, y);
	return _mm256_fmadd_ps(exponent, _mm256_set1_ps(LN2_LARGE), _mm256_add_ps(m, y));
}

WIDE static inline __m256 cubic_wide(const float terms[3], __m256 x)
{
	__m256 y = _mm256_fmadd_ps(_mm256_set1_ps(terms[0]), x, _mm256_set1_ps(terms[1]));

	return _mm256_mul_ps(_mm256_fmadd_ps(y, x, _mm256_set1_ps(terms[2])), x);
}

WIDE static inline void sincos_wide(__m256 x, __m256 *ret_sin, __m256 *ret_cos)
{
	__m256i two = _mm256_set1_epi32(2), four = _mm256_set1_epi32(4);
	__m256i octant = _mm256_cvttps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(FOUR_OVER_PI)));

	octant = _mm256_add_epi32(octant, _mm256_set1_epi32(1));
	octant = _mm256_and_si256(octant, _mm256_set1_epi32(~1));
	__m256 y = _mm256_cvtepi32_ps(octant);

	x = _mm256_fmadd_ps(y, _mm256_set1_ps(PI4_A), x);
	x = _mm256_fmadd_ps(y, _mm256_set1_ps(PI4_B), x);
	x = _mm256_fmadd_ps(y, _mm256_set1_ps(PI4_C), x);
	__m256 square = _mm256_mul_ps(x, x), half = _mm256_set1_ps(0.5f);
	__m256 c =
		_mm256_fmsub_ps(cubic_wide(cos_terms, square), square, _mm256_mul_ps(square, half));
	__m256 s = _mm256_fmadd_ps(cubic_wide(sin_terms, square), x, x);

	c = _mm256_add_ps(c, _mm256_set1_ps(1));
	__m256 swap = _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(octant, two), two));
	__m256i sin_sign = _mm256_slli_epi32(_mm256_and_si256(octant, four), 29);
	__m256i cos_sign =
		_mm256_slli_epi32(_mm256_andnot_si256(_mm256_sub_epi32(octant, two), four), 29);

	*ret_sin = _mm256_xor_ps(_mm256_blendv_ps(s, c, swap), _mm256_castsi256_ps(sin_sign));
	*ret_cos = _mm256_xor_ps(_mm256_blendv_ps(c, s, swap), _mm256_castsi256_ps(cos_sign));
}

WIDE static inline void pairs_wide(__m256 u, __m256 theta, float *ret_cos, float *ret_sin)
{
	__m256 radius = _mm256_sqrt_ps(_mm256_mul_ps(_mm256_set1_ps(-2), log_wide(u)));
	__m256 sine, cosine;

	sincos_wide(theta, &sine, &cosine);
	_mm256_storeu_ps(ret_cos, _mm256_mul_ps(radius, cosine));
	_mm256_storeu_ps(ret_sin, _mm256_mul_ps(radius, sine));
}

WIDE static void angles_wide(const float *u, const float *theta, float *ret_cos, float *ret_sin,
			     size_t count)
{
	for (size_t i = 0; i < count; i += GAUSS_LANES)
		pairs_wide(_mm256_loadu_ps(u + i), _mm256_loadu_ps(theta + i), ret_cos + i,
			   ret_sin + i);
}

/* Rounds once, as a conversion of the whole word would: both halves are exact. */
WIDE static inline __m256 word_to_float_wide(const uint32_t *word)
{
	__m256i bits = _mm256_loadu_si256((const __m256i *)word);
	__m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(bits, 16));
	__m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(bits, _mm256_set1_epi32(0xffff)));

	return _mm256_fmadd_ps(high, _mm256_set1_ps(65536), low);
}

WIDE static void words_wide(const uint32_t *radius, const uint32_t *angle, float *ret_cos,
			    float *ret_sin, size_t count)
{
	__m256 scale = _mm256_set1_ps(WORD_SCALE), scale_half = _mm256_set1_ps(WORD_SCALE / 2);
	__m256 turn = _mm256_set1_ps(WORD_ANGLE), turn_half = _mm256_set1_ps(WORD_ANGLE / 2);

	for (size_t i = 0; i < count; i += GAUSS_LANES) {
		__m256 u = _mm256_mul_ps(word_to_float_wide(radius + i), scale);
		__m256 theta = _mm256_mul_ps(word_to_float_wide(angle + i), turn);

		pairs_wide(_mm256_add_ps(u, scale_half), _mm256_add_ps(theta, turn_half),
			   ret_cos + i, ret_sin + i);
	}
}
#endif

void gauss_from_angles(const float *u, const float *theta, float *ret_cos, float *ret_sin,
		       size_t count)
{
#ifdef WIDE
	if (wide_present()) {
		angles_wide(u, theta, ret_cos, ret_sin, count);
		return;
	}
#endif
	gauss_from_angles_plain(u, theta, ret_cos, ret_sin, count);
}

void gauss_from_words(const uint32_t *radius, const uint32_t *angle, float *ret_cos, float *ret_sin,
		      size_t count)
{
#ifdef WIDE
	if (wide_present()) {
		words_wide(radius, angle, ret_cos, ret_sin, count);
		return;
	}
#endif
	gauss_from_words_plain(radius, angle, ret_cos, ret_sin, count);
}
