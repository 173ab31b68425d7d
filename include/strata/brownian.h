/*
 * The noise of a Brownian tree: one path for a seed, of which any stretch can be asked for in any order. DPM++ SDE and its like
 * draw from one in k-diffusion and diffusers, so that a picture hardly changes with the number of steps. The numbers are those of
 * torchsde's BrownianTree on the CPU: seeds by numpy's SeedSequence, normals by torch's generator, halves down to a millionth.
 */
#ifndef STRATA_BROWNIAN_H
#define STRATA_BROWNIAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct strata_brownian {
	uint64_t seed;
	double low,
		high; /* what the path runs between: the least noise level above 0 and the greatest */
};

/* Bytes of scratch memory for tensors of `count` elements. */
size_t strata_brownian_scratch(size_t count);

/* The stretch from one level to another as count standard normals: the difference of the path, divided by the root of its length.
 * Levels outside are moved to the nearer end. Thread-safe; costs some fifty tensors of normals. */
void strata_brownian_normal(const struct strata_brownian *tree, double from, double to,
			    size_t count, void *scratch, float *ret_values);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
