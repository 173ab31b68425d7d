/* Many Philox blocks at once, for the streams that fill arrays (noise.c, torch_cuda.c). */
#ifndef CORE_PHILOX_H
#define CORE_PHILOX_H

#include <stddef.h>
#include <stdint.h>

enum { PHILOX_LANES = 8 }; /* counts are multiples of this */

/* Blocks for counters whose words 0-1 are low + i·low_step and words 2-3 are high + i·high_step,
 * for i below count (64-bit, wrapping). Word k of block i goes to ret_words[k][i]. */
struct philox_series {
	uint64_t key;
	uint64_t low, high;
	uint32_t low_step, high_step; /* 0 or 1 */
};

void philox_fill(const struct philox_series *series, uint32_t *const ret_words[4], size_t count);
/* The portable form: same numbers. */
void philox_fill_plain(const struct philox_series *series, uint32_t *const ret_words[4],
		       size_t count);

#endif
