/* Plans: what a user asks for and gets, and the sentence when nothing fits. */
#include "place_random.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(objectives_have_names)
{
	CHECK_TEXT(strata_objective_name(STRATA_LATENCY), "latency");
	CHECK_TEXT(strata_objective_name(STRATA_THROUGHPUT), "throughput");
	CHECK_TEXT(strata_objective_name(STRATA_MEMORY), "memory");
}

TEST(memory_is_spread_when_memory_is_what_counts)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_plan fast, even;

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 4, 8, &memory);
	it.ask.rule_count = 0;
	it.machine.device_count = 2;
	it.machine.activations_apart = true;
	for (size_t i = 0; i < 8; i++) {
		it.graph->ops[i].weight_bytes = 10;
		it.graph->ops[i].kv_bytes = 0;
		it.graph->ops[i].group = 0;
	}
	it.devices[0].capacity_bytes = it.devices[1].capacity_bytes = 200;
	for (size_t i = 0; i < 4; i++)
		it.rates[i] = 1e3; /* moving anything costs more than all computing */
	it.ask.objective = STRATA_LATENCY;
	CHECK_OK(strata_place_plan(&it.ask, &arena, &fast, &err));
	CHECK_NEAR(fast.memory_share, 0.4, 0.05);
	it.ask.objective = STRATA_MEMORY;
	CHECK_OK(strata_place_plan(&it.ask, &arena, &even, &err));
	CHECK(even.devices[0].weight_bytes == 40 && even.devices[1].weight_bytes == 40);
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
	CHECK_INT(memory.used_bytes, 0);
}

static bool at_once(void *context)
{
	++*(int *)context;
	return true;
}

TEST(a_caller_may_end_the_search)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_plan plan;
	int asked = 0;

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 8, 200, &memory);
	it.ask.rule_count = 0;
	for (size_t d = 0; d < 4; d++)
		it.devices[d].capacity_bytes = 0;
	it.ask.budget = (struct strata_place_budget){ .visits = INT64_C(1) << 50,
						      .expired = at_once,
						      .context = &asked };
	CHECK_OK(strata_place_plan(&it.ask, &arena, &plan, &err)); /* and does not take for ever */
	CHECK(asked > 0);
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
}

TEST(strategies_may_be_written_as_text)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_plan plan;

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 3, 20, &memory);
	it.ask.rule_count = 0;
	CHECK_OK(strata_place_build("heft,contiguous", &it.ask, &arena, &plan, &err));
	CHECK_INT(plan.result_count, 3); /* the best single device is always among them */
	CHECK_TEXT(plan.results[1].strategy, "heft");
	CHECK_ERROR(strata_place_build("heft,hefty", &it.ask, &arena, &plan, &err), -ENOENT,
		    "hefty");
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
	CHECK_INT(memory.used_bytes, 0);
}
