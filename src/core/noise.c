/*
 * Noise addressed by (seed, step, element): key = seed, counter = (element / 4, step), the four
 * words of a block giving elements 4i … 4i + 3 as cos, sin of words 0 and 1, cos, sin of words 2
 * and 3. A sample's noise is its own whatever stands beside it in a batch, and any part of it can
 * be made anywhere.
 */
#include <strata/rng.h>

#include "core/gauss.h"
#include "core/philox.h"

#include <string.h>

enum { BLOCKS = 64, BLOCK_VALUES = 4, CHUNK = BLOCKS * BLOCK_VALUES };
_Static_assert(BLOCKS % GAUSS_LANES == 0 && BLOCKS % PHILOX_LANES == 0, "whole vectors only");
/* Set in each counter, so that a seed shared with rng.c or torch_cuda.c shares no block. */
#define COUNTERS (UINT64_C(1) << 62)

/* At least count values from the start of a block on. */
static void fill_blocks(const struct strata_noise *noise, uint64_t first_block, float values[CHUNK],
			size_t count)
{
	uint32_t words[4][BLOCKS];
	float parts[4][BLOCKS];
	const struct philox_series series = { .key = noise->seed,
					      .low = COUNTERS | first_block,
					      .low_step = 1,
					      .high = noise->step };
	size_t whole = (count + BLOCK_VALUES * PHILOX_LANES - 1) / (BLOCK_VALUES * PHILOX_LANES) *
		       PHILOX_LANES;

	philox_fill(&series, (uint32_t *const[4]){ words[0], words[1], words[2], words[3] }, whole);
	gauss_from_words(words[0], words[1], parts[0], parts[1], whole);
	gauss_from_words(words[2], words[3], parts[2], parts[3], whole);
	for (size_t i = 0; i < whole; i++)
		for (size_t k = 0; k < BLOCK_VALUES; k++)
			values[i * BLOCK_VALUES + k] = parts[k][i];
}

void strata_noise_normal_at(const struct strata_noise *noise, uint64_t first, float *ret_values,
			    size_t count)
{
	while (count > 0) {
		float values[CHUNK];
		size_t skip = first % BLOCK_VALUES;
		size_t take = count < CHUNK - skip ? count : CHUNK - skip;

		fill_blocks(noise, first / BLOCK_VALUES, values, skip + take);
		memcpy(ret_values, values + skip, take * sizeof(float));
		first += take;
		ret_values += take;
		count -= take;
	}
}

void strata_noise_normal(struct strata_noise *noise, float *ret_values, size_t count)
{
	strata_noise_normal_at(noise, 0, ret_values, count);
	noise->step++;
}
