/*
 * torch's CUDA generator: key = seed, counter = (call, thread), one block of four normals per
 * thread and call. With T threads, element e is made by thread e mod T as that thread's number e /
 * T; each block serves four of those, in the order sin, cos of words 0 and 1, sin, cos of words 2
 * and 3, and a fifth takes the block of the next call.
 */
#include <strata/rng.h>

#include "core/gauss.h"
#include "core/philox.h"

#include <string.h>

enum { CHUNK = 256, BLOCK_VALUES = 4 };
_Static_assert(CHUNK % GAUSS_LANES == 0 && CHUNK % PHILOX_LANES == 0, "whole vectors only");

void strata_cuda_init(struct strata_cuda *cuda, uint64_t seed, uint64_t threads)
{
	*cuda = (struct strata_cuda){ .seed = seed,
				      .threads = threads ? threads : STRATA_CUDA_THREADS };
}

/* Up to CHUNK values of neighbouring threads, all of them their thread's number `turn`. */
static void fill_chunk(const struct strata_cuda *cuda, uint64_t thread, uint64_t turn,
		       float *ret_values, size_t count)
{
	uint32_t words[4][CHUNK];
	float sines[CHUNK], cosines[CHUNK];
	const struct philox_series series = { .key = cuda->seed,
					      .low = cuda->call + turn / BLOCK_VALUES,
					      .high = thread,
					      .high_step = 1 };
	size_t whole = (count + PHILOX_LANES - 1) / PHILOX_LANES * PHILOX_LANES;
	size_t slot = turn % BLOCK_VALUES;

	philox_fill(&series, (uint32_t *const[4]){ words[0], words[1], words[2], words[3] }, whole);
	gauss_from_words(words[slot / 2 * 2], words[slot / 2 * 2 + 1], cosines, sines, whole);
	memcpy(ret_values, slot % 2 ? cosines : sines, count * sizeof(float));
}

void strata_cuda_normal_at(const struct strata_cuda *cuda, uint64_t first, float *ret_values,
			   size_t count)
{
	while (count > 0) {
		uint64_t thread = first % cuda->threads, left = cuda->threads - thread;
		size_t take = count < CHUNK ? count : CHUNK;

		if (take > left)
			take = (size_t)left;
		fill_chunk(cuda, thread, first / cuda->threads, ret_values, take);
		first += take;
		ret_values += take;
		count -= take;
	}
}

void strata_cuda_next(struct strata_cuda *cuda, uint64_t count)
{
	if (count > 0)
		cuda->call += (count - 1) / cuda->threads / BLOCK_VALUES + 1;
}

void strata_cuda_normal(struct strata_cuda *cuda, float *ret_values, size_t count)
{
	strata_cuda_normal_at(cuda, 0, ret_values, count);
	strata_cuda_next(cuda, count);
}
