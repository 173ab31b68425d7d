/* Where does each layer of a model run? A chain of twelve layers of 1 GiB each goes on two GPUs of 8 GiB, of which neither holds all; what is
 * tried is found out by itself.
 *	cc place.c $(pkg-config --cflags --libs strata) && ./a.out */
#include <strata/adaptive.h>

#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 12 };
#define GIB (INT64_C(1) << 30)

static void must(int rc, const struct strata_error *err)
{
	if (rc) {
		fprintf(stderr, "place: %s\n", err->text);
		exit(1);
	}
}

int main(void)
{
	const struct strata_device devices[] = { { "gpu0", "gpu", 2e13, 0, 1e12, 5000, 8 * GIB },
						 { "gpu1", "gpu", 1e13, 0, 5e11, 5000, 8 * GIB } };
	const double links[] = { 0, 2e10, 2e10, 0 };
	const struct strata_machine machine = { devices, 2, links };
	struct strata_op op = { .name = "layer", .kind = "MatMul", .flops = 1e11, .bytes = GIB };
	struct strata_adaptive_choice choice;
	struct strata_place_plan plan;
	struct strata_memory memory = { 0 };
	struct strata_graph *graph;
	struct strata_arena arena;
	struct strata_error err;

	op.weight_bytes = GIB;
	op.kv_device = STRATA_NONE;
	strata_arena_init(&arena, &memory, 0);
	must(strata_graph_new("chain", &memory, &graph, &err), &err);
	for (uint32_t i = 0; i < LAYERS; i++) {
		must(strata_graph_add_op(graph, &op, NULL, &err), &err);
		if (i)
			must(strata_graph_add_edge(graph, i - 1, i, 1 << 20, -1, &err), &err);
	}
	must(strata_graph_finish(graph, &err), &err);
	const struct strata_place_request ask = { .graph = graph, .machine = &machine };

	must(strata_place_auto(&ask, NULL, &arena, &plan, &choice, &err), &err);
	for (uint32_t i = 0; i < LAYERS; i++)
		printf("layer %2u on %s\n", i, devices[plan.device[i]].name);
	printf("%.1f ms by %s, of %s\n", plan.latency_ns / 1e6, plan.strategy, choice.strategies);
	strata_graph_free(graph);
	strata_arena_fini(&arena);
	return 0;
}
