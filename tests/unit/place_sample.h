/* Small graphs for tests of what is found in them, built by a line per op. */
#ifndef PLACE_SAMPLE_H
#define PLACE_SAMPLE_H

#include "test.h"

#include <strata/place.h>

#include <string.h>

struct sample {
	struct strata_memory memory;
	struct strata_graph *graph;
};

static inline void sample_begin(struct sample *sample)
{
	memset(sample, 0, sizeof(*sample));
	CHECK(strata_graph_new("sample", &sample->memory, &sample->graph, NULL) == 0);
}

static inline void sample_end(struct sample *sample)
{
	strata_graph_free(sample->graph);
	CHECK_INT(sample->memory.used_bytes, 0);
}

/* A tensor of f32 (integers when `integer`) with these dimensions, 0 ends them. */
static inline uint32_t sample_tensor(struct sample *sample, const char *name, enum strata_role role,
				     bool integer, const int64_t *dims)
{
	struct strata_tensor tensor = { .name = name,
					.role = role,
					.dtype = integer ? STRATA_DTYPE_I64 : STRATA_DTYPE_F32,
					.shaped = true,
					.bytes = integer ? 8 : 4,
					.file = STRATA_NONE,
					.device = STRATA_NONE };
	uint32_t index;

	for (; dims[tensor.rank]; tensor.rank++) {
		tensor.shape[tensor.rank] = dims[tensor.rank];
		tensor.bytes *= dims[tensor.rank];
	}
	CHECK(strata_graph_add_tensor(sample->graph, &tensor, &index, NULL) == 0);
	return index;
}

/* An op on tensors given by name, "a b", that makes one more with these dimensions. */
static inline uint32_t sample_op(struct sample *sample, const char *kind, const char *inputs,
				 const char *output, enum strata_role role, const int64_t *dims)
{
	uint32_t in[8], out = sample_tensor(sample, output, role, false, dims), op, count = 0;

	while (*inputs) {
		size_t length = strcspn(inputs, " ");

		in[count] = strata_graph_find_tensor(sample->graph, inputs, length);
		CHECK(in[count] != STRATA_NONE);
		count++;
		inputs += length + (inputs[length] == ' ');
	}
	CHECK(strata_graph_add_op(sample->graph,
				  &(struct strata_op){ .name = output,
						       .kind = kind,
						       .inputs = in,
						       .input_count = count,
						       .outputs = &out,
						       .output_count = 1,
						       .bytes = -1,
						       .kv_device = STRATA_NONE },
				  &op, NULL) == 0);
	return op;
}

#define DIMS(...) ((const int64_t[]){ __VA_ARGS__, 0 })

#endif
