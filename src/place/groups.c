/*
 * Groups: ops that must be on one device, and what they keep there. Reasons to be together are a group number of the op's own, tied weights,
 * and a weight that several ops read and that is too large to be kept twice. Sets are joined by union-find; each weight counts once.
 */
#include "place/place_int.h"

#include "core/map.h"

#include <string.h>

enum { SMALL_WEIGHT_BYTES = 64 << 10 }; /* constants below are kept wherever they are read */

struct grouper {
	const struct strata_graph *graph;
	uint32_t *parent;
	struct map_u64 tied;   /* tied number → first op that reads it, + 1 */
	struct map_u64 colour; /* group number of an op → that op + 1 */
};

static uint32_t find(uint32_t *parent, uint32_t op)
{
	while (parent[op] != op) {
		parent[op] = parent[parent[op]];
		op = parent[op];
	}
	return op;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = find(parent, a);
	b = find(parent, b);
	parent[a > b ? a : b] = a < b ? a : b;
}

/* Joins with the first that came with this number. */
static int join_by(struct grouper *grouper, struct map_u64 *map, uint64_t number, uint32_t op)
{
	size_t first = (size_t)map_u64_get(map, number);

	if (first) {
		join(grouper->parent, (uint32_t)(first - 1), op);
		return 0;
	}
	return map_u64_put(map, number, (void *)((size_t)op + 1), NULL);
}

static int join_all(struct grouper *grouper)
{
	const struct strata_graph *graph = grouper->graph;
	int rc = 0;

	for (uint32_t i = 0; i < graph->op_count && rc == 0; i++)
		if (graph->ops[i].group)
			rc = join_by(grouper, &grouper->colour, graph->ops[i].group, i);
	for (size_t t = 0; t < graph->tensor_count && rc == 0; t++) {
		const struct strata_tensor *tensor = &graph->tensors[t];
		uint32_t first = graph->reader_first[t], end = graph->reader_first[t + 1];

		if (tensor->role != STRATA_ROLE_WEIGHT || first == end)
			continue;
		if (tensor->bytes >= SMALL_WEIGHT_BYTES || tensor->tied)
			for (uint32_t r = first + 1; r < end; r++)
				join(grouper->parent, graph->readers[first], graph->readers[r]);
		if (tensor->tied)
			rc = join_by(grouper, &grouper->tied, tensor->tied, graph->readers[first]);
	}
	return rc;
}

/* Numbers groups by the first of their ops in the order. */
static void number(struct strata_place_problem *problem, uint32_t *parent, uint32_t *group,
		   uint32_t *first, uint32_t *ops)
{
	size_t n = problem->op_count, count = 0;

	memset(group, 0xff, n * sizeof(*group));
	for (size_t i = 0; i < n; i++) {
		uint32_t root = find(parent, problem->order[i]);

		if (group[root] == STRATA_NONE)
			group[root] = (uint32_t)count++;
	}
	for (size_t i = 0; i < n; i++) /* roots are the lowest of their group: already numbered */
		group[i] = group[find(parent, (uint32_t)i)];
	for (size_t i = 0; i < n; i++)
		first[group[i] + 1]++;
	for (size_t g = 0; g < count; g++)
		first[g + 1] += first[g];
	for (size_t i = n; i-- > 0;) {
		uint32_t op = problem->order[i];

		ops[--first[group[op] + 1]] = op;
	}
	/* the counts have moved one place: first[g + 1] is where g begins */
	for (size_t g = 0; g < count; g++)
		first[g] = first[g + 1];
	first[count] = (uint32_t)n;
	problem->group_count = count;
}

static void add(int64_t *sum, int64_t bytes)
{
	if (__builtin_add_overflow(*sum, bytes, sum))
		*sum = INT64_MAX / 2;
}

/* Each tensor once for a group; of tied ones the first. */
static int weigh(const struct strata_place_problem *problem, struct map_u64 *tied,
		 uint32_t *counted, int64_t *weights, int64_t *kv)
{
	const struct strata_graph *graph = problem->graph;

	for (size_t g = 0; g < problem->group_count; g++)
		for (uint32_t k = problem->group_first[g]; k < problem->group_first[g + 1]; k++) {
			const struct strata_op *op = &graph->ops[problem->group_ops[k]];

			add(&weights[g], op->weight_bytes);
			add(&kv[g], op->kv_bytes);
			for (size_t i = 0; i < op->input_count; i++) {
				uint32_t t = op->inputs[i];

				if (t == STRATA_NONE || counted[t] == g + 1)
					continue;
				const struct strata_tensor *tensor = &graph->tensors[t];

				counted[t] = (uint32_t)g + 1;
				if (tensor->role == STRATA_ROLE_KV)
					add(&kv[g], tensor->bytes);
				if (tensor->role != STRATA_ROLE_WEIGHT)
					continue;
				void *before = NULL;

				if (tensor->tied &&
				    map_u64_put(tied, tensor->tied, (void *)1, &before))
					return -1;
				if (!before)
					add(&weights[g], tensor->bytes);
			}
		}
	return 0;
}

int groups_make(struct strata_place_problem *problem, struct strata_arena *arena,
		struct strata_error *err)
{
	size_t n = problem->op_count;
	struct grouper grouper = { .graph = problem->graph,
				   .parent = strata_arena_array(arena, n, sizeof(uint32_t)) };
	uint32_t *group = strata_arena_array(arena, n, sizeof(*group));
	uint32_t *first = strata_arena_array(arena, n + 2, sizeof(*first));
	uint32_t *ops = strata_arena_array(arena, n, sizeof(*ops));
	uint32_t *counted =
		strata_arena_array(arena, problem->graph->tensor_count, sizeof(*counted));
	int64_t *weights = strata_arena_array(arena, n, sizeof(*weights));
	int64_t *kv = strata_arena_array(arena, n, sizeof(*kv));
	struct map_u64 tied;
	int rc;

	if (!grouper.parent || !group || !first || !ops || !counted || !weights || !kv)
		return strata_fail_memory(err);
	map_u64_init(&grouper.tied, arena->memory);
	map_u64_init(&grouper.colour, arena->memory);
	map_u64_init(&tied, arena->memory);
	for (size_t i = 0; i < n; i++)
		grouper.parent[i] = (uint32_t)i;
	rc = join_all(&grouper);
	if (rc == 0) {
		number(problem, grouper.parent, group, first, ops);
		problem->group = group;
		problem->group_first = first;
		problem->group_ops = ops;
		problem->weight_bytes = weights;
		problem->kv_bytes = kv;
		rc = weigh(problem, &tied, counted, weights, kv);
	}
	map_u64_fini(&tied);
	map_u64_fini(&grouper.colour);
	map_u64_fini(&grouper.tied);
	return rc ? strata_fail_memory(err) : 0;
}
