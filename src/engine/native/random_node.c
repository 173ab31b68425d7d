/* Random numbers of nodes: see random_node.h. */
#include "engine/native/random_node.h"

#include "core/philox.h"

#include <errno.h>
#include <string.h>

struct draws {
	struct native_state base;
	struct strata_memory *memory;
	uint64_t count;
};

static void draws_free(struct native_state *base)
{
	struct draws *draws = (struct draws *)base;

	strata_memory_put(draws->memory, draws, sizeof(*draws));
}

/* Of a node without a seed: its name's. */
static uint64_t name_seed(const struct onnx_node *node)
{
	uint64_t hash = 14695981039346656037u;

	for (const char *c = node->output_count ? node->outputs[0] : ""; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211u;
	return hash;
}

int random_next(struct native_call *call, struct random *ret_random, struct strata_error *err)
{
	const struct onnx_attribute *seed = onnx_attribute_find(call->node, "seed");
	struct draws *draws = (struct draws *)*call->state;
	float given = seed ? (float)seed->real : 0;
	uint32_t bits;

	if (!draws) {
		draws = strata_memory_get(call->heap->memory, sizeof(*draws));
		if (!draws)
			return strata_fail_memory(err);
		draws->base.free = draws_free;
		draws->memory = call->heap->memory;
		*call->state = &draws->base;
	}
	memcpy(&bits, &given, sizeof(bits));
	*ret_random = (struct random){
		.seed = !seed                           ? name_seed(call->node)
			: seed->type == ONNX_ATTR_FLOAT ? bits
							: (uint64_t)seed->integer,
		.draw = draws->count++,
	};
	return 0;
}

void random_uniform(const struct random *random, int64_t first, int64_t count, double *ret_values)
{
	uint32_t words[4][PHILOX_LANES];
	uint32_t *const rows[4] = { words[0], words[1], words[2], words[3] };

	/* Blocks of eight counters, four words each: element e is word e % 4 of counter e / 4. */
	for (int64_t block = first / 32; block * 32 < first + count; block++) {
		const struct philox_series series = { .key = random->seed,
						      .low = (uint64_t)block * 8,
						      .high = random->draw,
						      .low_step = 1 };

		philox_fill(&series, rows, PHILOX_LANES);
		for (int64_t e = block * 32; e < block * 32 + 32; e++)
			if (e >= first && e < first + count)
				ret_values[e - first] = words[e % 4][e / 4 % 8] * 0x1p-32;
	}
}
