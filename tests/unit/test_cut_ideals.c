/* The exact split of a pipeline where so many sets of blocks are tried that their arrays grow. */
#include "place_random.h"

#include <errno.h>

enum { LENGTH = 6 };

static struct strata_memory memory;
static struct strata_error err;
static double rates[9], latencies[9];
static struct strata_device devices[3];
static struct strata_machine machine = { .devices = devices,
					 .device_count = 3,
					 .bytes_per_s = rates,
					 .latency_ns = latencies,
					 .activations_apart = true };

static uint32_t weight(uint32_t op)
{
	return 3 + op * 7 % 11;
}

static struct strata_graph *chains(uint32_t count)
{
	struct strata_graph *graph;

	CHECK_OK(strata_graph_new("chains", &memory, &graph, &err));
	for (uint32_t i = 0; i < count * LENGTH; i++) {
		char name[24];
		struct strata_op op = { .name = name,
					.kind = "MatMul",
					.flops = 1e6 * weight(i),
					.weight_bytes = 10,
					.kv_device = STRATA_NONE };

		snprintf(name, sizeof(name), "n%u", i);
		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
		if (i % LENGTH)
			CHECK_OK(strata_graph_add_edge(graph, i - 1, i, 8, -1, &err));
	}
	CHECK_OK(strata_graph_finish(graph, &err));
	for (size_t d = 0; d < 3; d++)
		devices[d] = (struct strata_device){ .name = d == 0   ? "a"
							     : d == 1 ? "b"
								      : "c",
						     .kind = "gpu",
						     .flops_per_s = 1e9,
						     .bytes_per_s = 1e9 };
	for (size_t i = 0; i < 9; i++)
		rates[i] = 1e9;
	return graph;
}

static int split(struct strata_memory *mem, void *graph, struct strata_error *error)
{
	struct strata_place_request request = { .graph = graph,
						.machine = &machine,
						.objective = STRATA_THROUGHPUT,
						.budget = { .visits = 1000000 } };
	struct strata_arena arena;
	struct strata_place_plan plan;

	strata_arena_init(&arena, mem, 0);
	int rc = strata_place_build("contiguous", &request, &arena, &plan, error);

	if (rc == 0) {
		test_result(plan.device, request.graph->op_count * sizeof(*plan.device));
		test_result(&plan.value, sizeof(plan.value));
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(no_split_is_better)
{
	struct strata_graph *graph = chains(4);
	struct strata_arena arena;
	struct strata_place_plan plan;
	struct strata_place_request request = { .graph = graph,
						.machine = &machine,
						.objective = STRATA_THROUGHPUT,
						.budget = { .visits = 1000000 } };
	double loads[3] = { 0 }, most = 0;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_place_build("contiguous", &request, &arena, &plan, &err));
	for (uint32_t i = 0; i < 4 * LENGTH; i++)
		loads[plan.device[i]] += weight(i);
	for (size_t d = 0; d < 3; d++)
		most = loads[d] > most ? loads[d] : most;
	CHECK_NEAR(most, 63, 0); /* 189 in all */
	strata_arena_fini(&arena);
	strata_graph_free(graph);
}

TEST(nothing_is_lost_when_their_arrays_cannot_grow)
{
	struct strata_graph *graph = chains(5); /* more than 1024 of its 7^5 sets are tried */
	uint64_t had = memory.used_bytes;

	CHECK(test_every_allocation(split, graph) > 10);
	CHECK_INT(memory.used_bytes, had);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}
