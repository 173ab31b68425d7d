/*
 * The Box-Muller transform in float32, eight pairs at a time: what the torch, CUDA and noise
 * streams share.
 *
 * log, sin and cos are the single-precision Cephes polynomials evaluated in one fixed order with
 * fused multiply-adds, because that is what torch's CPU build computes; so the torch stream is
 * equal to torch's to the bit, and every stream has the same bits on every machine. The errors are
 * below 2 units in the last place.
 */
#ifndef CORE_GAUSS_H
#define CORE_GAUSS_H

#include <stddef.h>
#include <stdint.h>

enum { GAUSS_LANES = 8 }; /* counts are multiples of this */

/* With r = sqrt(-2 ln u[i]): ret_cos[i] = r cos theta[i], ret_sin[i] = r sin theta[i]; u in (0, 1],
 * theta in [0, 2π]. The outputs may be the inputs. */
void gauss_from_angles(const float *u, const float *theta, float *ret_cos, float *ret_sin,
		       size_t count);

/* The same from random words as CUDA maps them: u = radius·2^-32 + 2^-33, theta = (angle·2^-32 +
 * 2^-33)·2π. */
void gauss_from_words(const uint32_t *radius, const uint32_t *angle, float *ret_cos, float *ret_sin,
		      size_t count);

/* The portable forms of the two above: same bits, slower where AVX2 is present. */
void gauss_from_angles_plain(const float *u, const float *theta, float *ret_cos, float *ret_sin,
			     size_t count);
void gauss_from_words_plain(const uint32_t *radius, const uint32_t *angle, float *ret_cos,
			    float *ret_sin, size_t count);

#endif
