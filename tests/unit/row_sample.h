/* Rows and batch members made up at random, for tests of whatever applies them. */
#ifndef ROW_SAMPLE_H
#define ROW_SAMPLE_H

#include "core/half.h"
#include "random.h"
#include "test.h"

#include <strata/solver.h>

#include <stdlib.h>
#include <string.h>

enum {
	SAMPLE_TENSORS = 4 + STRATA_SOLVER_SLOTS_MAX, /* sample, output, next, noise, slots */
	SAMPLE_GUARD = 32,                            /* elements before and behind a tensor */
};

/* −2 … 2, now and then tiny, with all bits in use. */
static inline float sample_number(uint64_t *seed)
{
	float value = (float)((double)random_below(seed, 1u << 30) / (1 << 28) - 2);

	return random_below(seed, 50) ? value : value * 1e-39f;
}

/* 0 as often as not. */
static inline double sample_coefficient(uint64_t *seed)
{
	return random_below(seed, 2) ? (double)sample_number(seed) : 0;
}

static inline void sample_sum(uint64_t *seed, struct strata_solver_sum *sum)
{
	sum->a = sample_coefficient(seed);
	sum->e = sample_coefficient(seed);
	sum->b = sample_coefficient(seed);
	sum->d = sample_coefficient(seed);
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		sum->c[k] = random_below(seed, 2) ? sample_coefficient(seed) : 0;
}

static inline struct strata_solver_row sample_row(uint64_t *seed)
{
	struct strata_solver_row row = { .p = sample_coefficient(seed),
					 .q = sample_coefficient(seed),
					 .limit = 1 + (double)random_below(seed, 3) / 2,
					 .threshold_ratio = (double)random_below(seed, 1000) /
							    999 };
	uint32_t slot = (uint32_t)random_below(seed, STRATA_SOLVER_SLOTS_MAX);

	sample_sum(seed, &row.next);
	row.write_count = (uint32_t)random_below(seed, STRATA_SOLVER_WRITES_MAX + 1);
	for (uint32_t w = 0; w < row.write_count; w++) {
		row.writes[w].slot = (slot + w) % STRATA_SOLVER_SLOTS_MAX;
		sample_sum(seed, &row.writes[w].sum);
	}
	if (random_below(seed, 3) == 0)
		row.flags |= STRATA_ROW_CLIP;
	if (random_below(seed, 4) == 0)
		row.flags |= STRATA_ROW_THRESHOLD;
	if (random_below(seed, 5) == 0)
		row.flags |= STRATA_ROW_NO_MODEL;
	return row;
}

/* The tensors of one batch member in one block, each at an address that is aligned to its elements and no better. */
struct sample_item {
	enum strata_element element;
	size_t count;
	bool in_place;
	char *block;
	size_t block_bytes;
	void *tensors[SAMPLE_TENSORS];
	struct strata_solver_item item;
};

static inline size_t sample_element_bytes(enum strata_element element)
{
	return element == STRATA_F32 ? 4 : 2;
}

static inline void sample_place(struct sample_item *sample)
{
	size_t room = (sample->count + 2 * SAMPLE_GUARD + 1) * sizeof(float);

	for (size_t k = 0; k < SAMPLE_TENSORS; k++)
		sample->tensors[k] = sample->block + k * room + SAMPLE_GUARD * sizeof(float) +
				     (k % 4) * sample_element_bytes(sample->element);
	sample->tensors[3] = sample->block + 3 * room + (SAMPLE_GUARD + 1) * sizeof(float);
	sample->item.sample = sample->tensors[0];
	sample->item.output = sample->tensors[1];
	sample->item.next = sample->in_place ? sample->tensors[0] : sample->tensors[2];
	sample->item.noise = sample->tensors[3];
	sample->item.slots = sample->tensors + 4;
}

/* Filled with numbers; the noise is float32 always. */
static inline void sample_init(struct sample_item *sample, uint64_t *seed,
			       enum strata_element element, size_t count, bool in_place,
			       const struct strata_solver_row *row)
{
	*sample = (struct sample_item){ .element = element, .count = count, .in_place = in_place };
	sample->block_bytes = SAMPLE_TENSORS * (count + 2 * SAMPLE_GUARD + 1) * sizeof(float);
	sample->block = malloc(sample->block_bytes);
	CHECK(sample->block);
	memset(sample->block, 0x5a, sample->block_bytes);
	sample_place(sample);
	sample->item.row = row;
	for (size_t k = 0; k < SAMPLE_TENSORS; k++)
		for (size_t i = 0; i < count; i++) {
			float value = sample_number(seed);

			if (k == 3 || element == STRATA_F32)
				((float *)sample->tensors[k])[i] = value;
			else
				((uint16_t *)sample->tensors[k])[i] =
					element == STRATA_F16 ? half_from_float(value)
							      : bfloat_from_float(value);
		}
}

static inline void sample_copy(const struct sample_item *from, struct sample_item *ret_copy)
{
	*ret_copy = *from;
	ret_copy->block = malloc(from->block_bytes);
	CHECK(ret_copy->block);
	memcpy(ret_copy->block, from->block, from->block_bytes);
	sample_place(ret_copy);
}

static inline void sample_fini(struct sample_item *sample)
{
	free(sample->block);
}

#endif
