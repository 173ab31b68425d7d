/*
 * tied: weights that are one. Those that stand at the same place of the same file get the same number; those that a reader found to be
 * copies have one already. Counted are the bytes that need not be kept a second time.
 */
#include "place/detector.h"

#include <stdlib.h>

struct place {
	uint32_t file;
	int64_t offset, extent;
	uint32_t tensor;
};

static int by_place(const void *a_any, const void *b_any)
{
	const struct place *a = a_any, *b = b_any;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->extent != b->extent)
		return a->extent < b->extent ? -1 : 1;
	return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

static bool same_place(const struct place *a, const struct place *b)
{
	return a->file == b->file && a->offset == b->offset && a->extent == b->extent;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Bytes of all but the first of each group. */
static int count_bytes(const struct strata_graph *graph, struct strata_arena *arena,
		       struct strata_findings *findings, struct strata_error *err)
{
	uint64_t *members = strata_arena_array(arena, graph->tensor_count, sizeof(*members));
	size_t count = 0;

	if (!members)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].tied)
			members[count++] = (uint64_t)graph->tensors[i].tied << 32 | i;
	qsort(members, count, sizeof(*members), by_number);
	for (size_t i = 1; i < count; i++)
		if (members[i] >> 32 == members[i - 1] >> 32)
			findings->tied_bytes += graph->tensors[(uint32_t)members[i]].bytes;
	return 0;
}

static int detect(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		  struct strata_findings *findings, struct strata_error *err)
{
	struct place *places = strata_arena_array(arena, graph->tensor_count, sizeof(*places));
	size_t count = 0;
	uint32_t next = 1;

	(void)conf;
	if (!places)
		return strata_fail_memory(err);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct strata_tensor *tensor = &graph->tensors[i];

		if (tensor->tied >= next)
			next = tensor->tied + 1;
		if (tensor->role == STRATA_ROLE_WEIGHT && tensor->file != STRATA_NONE &&
		    tensor->extent_bytes > 0)
			places[count++] = (struct place){ tensor->file, tensor->offset_bytes,
							  tensor->extent_bytes, i };
	}
	qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 1; i < count; i++) {
		struct strata_tensor *before = &graph->tensors[places[i - 1].tensor];
		struct strata_tensor *tensor = &graph->tensors[places[i].tensor];

		if (!same_place(&places[i - 1], &places[i]))
			continue;
		if (!before->tied)
			before->tied = next++;
		tensor->tied = before->tied;
	}
	return count_bytes(graph, arena, findings, err);
}

const struct strata_detector_class strata_detector_tied = {
	.base = { .name = "tied", .summary = "weights that are one" },
	.rank = 0,
	.detect = detect,
};
