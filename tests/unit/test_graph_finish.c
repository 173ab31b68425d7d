/* Orders and cycles: each op behind what it needs, a cycle named, any depth. */
#include "test.h"

#include <strata/place.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static struct strata_graph *with_ops(size_t count, const char *const *names)
{
	struct strata_graph *graph = NULL;

	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	for (size_t i = 0; i < count; i++) {
		struct strata_op op = { .bytes = -1,
					.kv_device = STRATA_NONE,
					.name = names ? names[i] : "" };

		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
	}
	return graph;
}

TEST(the_order_takes_the_lowest_that_is_ready)
{
	struct strata_graph *graph = with_ops(5, NULL);

	CHECK_OK(strata_graph_add_edge(graph, 4, 0, 1, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 3, 1, 1, -1, &err));
	CHECK_OK(strata_graph_finish(graph, &err));
	static const uint32_t want[] = { 2, 3, 1, 4, 0 };

	CHECK_BYTES(graph->order, want, sizeof(want));
	strata_graph_free(graph);
}

TEST(a_cycle_is_named)
{
	static const char *const names[] = { "in", "a", "b", "c", "out" };
	struct strata_graph *graph = with_ops(5, names);

	CHECK_OK(strata_graph_add_edge(graph, 0, 1, 1, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 1, 2, 1, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 2, 3, 1, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 3, 1, 1, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 3, 4, 1, -1, &err));
	CHECK_ERROR(strata_graph_finish(graph, &err), -EINVAL, "cycle of 3 ops: ");
	CHECK(strstr(err.text, "a → b → c → a") || strstr(err.text, "b → c → a → b") ||
	      strstr(err.text, "c → a → b → c"));
	strata_graph_free(graph);
	graph = with_ops(1, names);
	CHECK_OK(strata_graph_add_edge(graph, 0, 0, 1, -1, &err));
	CHECK_ERROR(strata_graph_finish(graph, &err), -EINVAL, "cycle of 1 ops: in → in");
	strata_graph_free(graph);
}

TEST(a_long_cycle_is_cut)
{
	struct strata_graph *graph = with_ops(100, NULL);

	for (uint32_t i = 0; i < 100; i++)
		CHECK_OK(strata_graph_add_edge(graph, i, (i + 1) % 100, 1, -1, &err));
	CHECK_ERROR(strata_graph_finish(graph, &err), -EINVAL, "cycle of 100 ops: #");
	CHECK(strstr(err.text, "…") != NULL);
	strata_graph_free(graph);
}

TEST(a_chain_of_a_million_works_either_way_round)
{
	enum { N = 1000000 };

	for (int backwards = 0; backwards < 2; backwards++) {
		struct strata_graph *graph = with_ops(N, NULL);

		for (uint32_t i = 1; i < N; i++)
			CHECK_OK(strata_graph_add_edge(graph, backwards ? i : i - 1,
						       backwards ? i - 1 : i, 1, -1, &err));
		CHECK_OK(strata_graph_finish(graph, &err));
		CHECK_INT(graph->order[0], backwards ? N - 1 : 0);
		CHECK_INT(graph->order[N - 1], backwards ? 0 : N - 1);
		strata_graph_free(graph);
	}
	CHECK_INT(memory.used_bytes, 0);
}
