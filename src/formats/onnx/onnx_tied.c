/*
 * Weights that are stored twice: exporters write a transposed copy of an embedding for the last layer. Two initializers of the same type are
 * taken for one when their shapes are the same, or those of a matrix and its transpose, and their contents agree at many places that are
 * spread over them. They are not read as a whole, so a model of many GB is not either; weights that are the same number at all these places
 * (zeros, ones) are not taken for copies.
 */
#include "formats/onnx/onnx_graph.h"

#include <stdlib.h>
#include <string.h>

enum {
	PLACES = 256,        /* looked at of each pair */
	BYTES_MIN = 1024,    /* less is not worth it */
	PAIRS_MAX = 1 << 22, /* in all */
};

struct candidate {
	const struct onnx_tensor *tensor;
	size_t index; /* of the initializer */
};

static bool worth_it(const struct onnx_tensor *tensor)
{
	return tensor->raw.at && tensor->bytes >= BYTES_MIN && onnx_dtype_bits(tensor->dtype) >= 8;
}

static int by_size(const void *a_any, const void *b_any)
{
	const struct candidate *a = a_any, *b = b_any;

	if (a->tensor->bytes != b->tensor->bytes)
		return a->tensor->bytes < b->tensor->bytes ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static bool same_dims(const struct onnx_tensor *a, const struct onnx_tensor *b)
{
	return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) == 0;
}

static bool transposed_dims(const struct onnx_tensor *a, const struct onnx_tensor *b)
{
	return a->rank == 2 && b->rank == 2 && a->dims[0] == b->dims[1] && a->dims[1] == b->dims[0];
}

static bool agree(const struct onnx_tensor *a, const struct onnx_tensor *b, bool transposed)
{
	size_t width = onnx_dtype_bits(a->dtype) / 8;
	uint64_t elements = (uint64_t)a->elements, step = elements / PLACES | 1;
	bool varied = false;

	for (uint64_t i = 0, at = 0; i < PLACES && i < elements; i++, at = (at + step) % elements) {
		uint64_t other = at;

		if (transposed) {
			uint64_t columns = (uint64_t)a->dims[1], rows = (uint64_t)a->dims[0];

			other = at % columns * rows + at / columns;
		}
		if (memcmp(a->raw.at + at * width, b->raw.at + other * width, width) != 0)
			return false;
		varied |= memcmp(a->raw.at + at * width, a->raw.at, width) != 0;
	}
	return varied;
}

static bool same_weights(const struct onnx_tensor *a, const struct onnx_tensor *b)
{
	if (a->dtype != b->dtype)
		return false;
	return (same_dims(a, b) && agree(a, b, false)) ||
	       (transposed_dims(a, b) && agree(a, b, true));
}

int onnx_find_tied(const struct onnx_graph *graph, struct strata_arena *arena, uint32_t *ret_groups,
		   int64_t *ret_bytes, struct strata_error *err)
{
	struct candidate *candidates =
		strata_arena_array(arena, graph->initializer_count, sizeof(*candidates));
	size_t count = 0, pairs = 0;
	uint32_t groups = 0;
	int64_t bytes = 0;

	if (!candidates)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->initializer_count; i++)
		if (worth_it(&graph->initializers[i]))
			candidates[count++] = (struct candidate){ &graph->initializers[i], i };
	qsort(candidates, count, sizeof(*candidates), by_size);
	for (size_t i = 0; i < count; i++) {
		const struct onnx_tensor *first = candidates[i].tensor;

		if (ret_groups[candidates[i].index])
			continue;
		for (size_t k = i + 1;
		     k < count && candidates[k].tensor->bytes == first->bytes && pairs < PAIRS_MAX;
		     k++, pairs++) {
			if (ret_groups[candidates[k].index] ||
			    !same_weights(first, candidates[k].tensor))
				continue;
			if (!ret_groups[candidates[i].index])
				ret_groups[candidates[i].index] = ++groups;
			ret_groups[candidates[k].index] = ret_groups[candidates[i].index];
			bytes += first->bytes;
		}
	}
	*ret_bytes = bytes;
	return 0;
}
