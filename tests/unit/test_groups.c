/* Groups: numbers, tied weights and large shared weights bring ops together; each weight counts once. */
#include "test.h"

#include "place/place_int.h"

#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static uint32_t weight(struct strata_graph *graph, const char *name, int64_t bytes, uint32_t tied)
{
	struct strata_tensor tensor = { .name = name,
					.role = STRATA_ROLE_WEIGHT,
					.bytes = bytes,
					.tied = tied,
					.file = STRATA_NONE,
					.device = STRATA_NONE };
	uint32_t index;

	CHECK_OK(strata_graph_add_tensor(graph, &tensor, &index, &err));
	return index;
}

static void reader(struct strata_graph *graph, uint32_t tensor, uint32_t group)
{
	struct strata_op op = { .bytes = -1,
				.kv_device = STRATA_NONE,
				.group = group,
				.inputs = &tensor,
				.input_count = 1 };

	CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
}

TEST(weights_bring_ops_together_and_count_once)
{
	struct strata_graph *graph;
	struct strata_arena arena;
	struct strata_device device = { .name = "a", .flops_per_s = 1e9, .bytes_per_s = 1e9 };
	struct strata_machine machine = { .devices = &device, .device_count = 1 };
	struct strata_place_problem problem;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	uint32_t large = weight(graph, "large", 1 << 20, 0), small = weight(graph, "small", 100, 0);
	uint32_t in = weight(graph, "embedding", 5000, 7), out = weight(graph, "head", 5000, 7);

	reader(graph, large, 0);
	reader(graph, small, 0);
	reader(graph, large, 0);
	reader(graph, small, 9);
	reader(graph, in, 0);
	reader(graph, out, 9);
	CHECK_OK(strata_graph_finish(graph, &err));
	struct strata_place_request ask = { .graph = graph, .machine = &machine };

	CHECK_OK(problem_make(&ask, &arena, &problem, &err));
	static const uint32_t want[] = { 0, 1, 0, 2, 2, 2 };

	CHECK_BYTES(problem.group, want, sizeof(want));
	CHECK_INT(problem.group_count, 3);
	CHECK_INT(problem.weight_bytes[0], 1 << 20);
	CHECK_INT(problem.weight_bytes[1], 100);
	CHECK_INT(problem.weight_bytes[2], 5100); /* small again, and the tied pair once */
	CHECK_INT(problem.group_first[2], 3);
	CHECK_INT(problem.group_ops[problem.group_first[2]], 3);
	strata_arena_fini(&arena);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}
