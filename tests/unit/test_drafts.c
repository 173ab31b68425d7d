/* Small things: the fastest device that has room, accelerators, budgets, the floor that nothing is below. */
#include "place_random.h"

#include "place/place_int.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(nothing_is_below_the_floor)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct place_random it;
		struct strata_arena arena;
		struct strata_place_problem problem;
		struct strata_place_plan plan;
		double scratch[16];

		strata_arena_init(&arena, &memory, 0);
		place_random_make(&it, seed, 0, &memory);
		it.ask.objective = STRATA_LATENCY;
		if (strata_place_plan(&it.ask, &arena, &plan, &err) == 0) {
			CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
			CHECK(plan.value >= draft_floor(&problem, scratch) * (1 - 1e-12));
		}
		strata_arena_fini(&arena);
		strata_graph_free(it.graph);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(the_fastest_that_has_room)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_problem problem;
	struct stock stocks[4] = { 0 };

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 2, 5, &memory);
	it.ask.rule_count = 0;
	it.machine.device_count = 3;
	for (size_t d = 0; d < 3; d++)
		it.devices[d] = (struct strata_device){ .name = "d",
							.kind = d == 2 ? "cpu" : "gpu",
							.flops_per_s = 1e9 * (double)(d + 1),
							.capacity_bytes = 100 };
	it.graph->ops[0].flops = 10;
	it.graph->ops[0].weight_bytes = 60;
	CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
	CHECK_INT(draft_fastest(&problem, stocks, problem.group[0]), 2);
	stocks[2].weights = 41;
	CHECK_INT(draft_fastest(&problem, stocks, problem.group[0]), 1);
	stocks[1].kv = stocks[0].weights = 41;
	CHECK_INT(draft_fastest(&problem, stocks, problem.group[0]), STRATA_NONE);
	CHECK_INT(draft_accelerators(&problem), 3);
	it.devices[0].lost = it.devices[1].lost = true;
	CHECK_INT(draft_accelerators(&problem), 4);
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
}

TEST(a_budget_ends)
{
	struct strata_place_budget budget = { .visits = 10 };

	CHECK(!budget_spend(&budget, 9));
	CHECK(budget_spend(&budget, 1));
}
