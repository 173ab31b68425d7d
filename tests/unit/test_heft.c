/* Earliest finish: gaps are used, KV state draws its op or not, jitter changes ranks and never breaks the order. */
#include "place_random.h"

#include "place/place_int.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(a_gap_is_filled)
{
	/* on one device b waits 10 for nothing; d, which needs nobody, goes in between */
	struct strata_graph *graph;
	struct strata_arena arena;
	struct strata_device devices[2] = { { .name = "a", .flops_per_s = 1e9 },
					    { .name = "b", .flops_per_s = 1e9 } };
	struct strata_machine machine = { .devices = devices, .device_count = 2 };
	struct strata_place_problem problem;
	struct strata_place_draft draft;
	struct strata_place_budget budget = { .visits = 1000 };
	static const double flops[] = { 10, 30, 10, 12, 5 };
	static const uint32_t edges[][2] = { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	for (int i = 0; i < 5; i++) {
		struct strata_op op = { .flops = flops[i], .kv_device = STRATA_NONE };

		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
	}
	for (int i = 0; i < 4; i++)
		CHECK_OK(strata_graph_add_edge(graph, edges[i][0], edges[i][1], 0, 4, &err));
	CHECK_OK(strata_graph_finish(graph, &err));
	struct strata_place_request ask = { .graph = graph, .machine = &machine };

	CHECK_OK(problem_make(&ask, &arena, &problem, &err));
	CHECK_OK(draft_make(&problem, &arena, &draft, &err));
	CHECK_OK(heft_propose(&problem, true, false, 0, 0, &budget, &arena, &draft, &err));
	CHECK_OK(check_draft(&problem, &draft, &arena, &err));
	double finish[5], free_ns[2];

	CHECK_NEAR(simulate_latency(&problem, &draft, INFINITY, NULL, finish, free_ns), 52, 0);
	CHECK(finish[4] <= 14); /* before what waits for a transfer */
	strata_arena_fini(&arena);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(jitter_never_breaks_the_order)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct place_random it;
		struct strata_arena arena;
		struct strata_place_problem problem;
		struct strata_place_draft draft;
		struct strata_place_budget budget = { .visits = 100000 };

		strata_arena_init(&arena, &memory, 0);
		place_random_make(&it, seed, 12, &memory);
		it.ask.rule_count = 0;
		for (size_t d = 0; d < 4; d++)
			it.devices[d].capacity_bytes = 0;
		CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
		CHECK_OK(draft_make(&problem, &arena, &draft, &err));
		CHECK_OK(heft_propose(&problem, seed % 2, seed % 3 == 0, 1.9, seed, &budget, &arena,
				      &draft, &err));
		CHECK_OK(check_draft(&problem, &draft, &arena, &err));
		strata_arena_fini(&arena);
		strata_graph_free(it.graph);
	}
}
