#include "test.h"

#include <strata/adaptive.h>

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

static const struct strata_device two[] = {
	{ .name = "gpu0",
	  .kind = "gpu",
	  .flops_per_s = 1e13,
	  .bytes_per_s = 1e12,
	  .capacity_bytes = 450 },
	{ .name = "gpu1",
	  .kind = "gpu",
	  .flops_per_s = 1e13,
	  .bytes_per_s = 1e12,
	  .capacity_bytes = 450 },
};
static const double links[] = { 0, 1e10, 1e10, 0 };

/* Eight ops in a row, of 100 bytes of weights each. */
static struct strata_graph *chain(void)
{
	struct strata_graph *graph;

	CHECK_OK(strata_graph_new("chain", &memory, &graph, &err));
	for (uint32_t i = 0; i < 8; i++) {
		const struct strata_op op = { .name = "op",
					      .kind = "MatMul",
					      .flops = 1e9,
					      .bytes = 100,
					      .weight_bytes = 100,
					      .kv_device = STRATA_NONE };

		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
		if (i)
			CHECK_OK(strata_graph_add_edge(graph, i - 1, i, 10, -1, &err));
	}
	CHECK_OK(strata_graph_finish(graph, &err));
	return graph;
}

TEST(pressure_is_what_is_kept_of_what_there_is)
{
	struct strata_device devices[2] = { two[0], two[1] };
	const struct strata_machine machine = { devices, 2, links };
	struct strata_graph *graph = chain();

	CHECK_NEAR(strata_place_pressure(graph, &machine), 800.0 / 900, 1e-12);
	devices[1].lost = true;
	CHECK_NEAR(strata_place_pressure(graph, &machine), 800.0 / 450, 1e-12);
	devices[0].lost = true;
	CHECK_NEAR(strata_place_pressure(graph, &machine), 1, 0);
	devices[1].capacity_bytes = 0; /* no limit */
	CHECK_NEAR(strata_place_pressure(graph, &machine), 0, 0);
	strata_graph_free(graph);
}

TEST(devices_have_names)
{
	const struct strata_machine machine = { two, 2, links };
	uint32_t device = 7;

	CHECK_OK(strata_place_device(&machine, "gpu1", &device, &err));
	CHECK_INT(device, 1);
	CHECK_ERROR(strata_place_device(&machine, "gpu2", &device, &err), -ENOENT, "gpu2");
	CHECK_INT(device, 1);
}

TEST(a_plan_needs_no_settings)
{
	const struct strata_machine machine = { two, 2, links };
	struct strata_graph *graph = chain();
	struct strata_place_request ask = { .graph = graph, .machine = &machine };
	const struct strata_place_auto basic = { .adaptive = { .mode = STRATA_MODE_BASIC } };
	struct strata_adaptive_choice choice;
	struct strata_place_plan plan;
	struct strata_arena arena;
	struct strata_spec heft;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_place_auto(&ask, NULL, &arena, &plan, &choice, &err));
	CHECK(choice.features >> STRATA_FEATURE_MEMORY & 1); /* it is short of memory */
	CHECK_INT(plan.devices[0].op_count, 4);
	CHECK_OK(strata_place_auto(&ask, &basic, &arena, &plan, &choice, &err));
	CHECK(!(choice.features >> STRATA_FEATURE_ADVANCED & 1));
	/* what the caller asks for is what is tried */
	CHECK_OK(strata_spec_build(&strata_strategy_kind, "heft", &arena, &heft, &err));
	ask.strategies = &heft;
	ask.strategy_count = 1;
	CHECK_OK(strata_place_auto(&ask, NULL, &arena, &plan, NULL, &err));
	CHECK_INT(plan.result_count, 2);
	CHECK_TEXT(plan.results[1].strategy, "heft");
	strata_arena_fini(&arena);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_does_not_fit_is_refused)
{
	struct strata_device small[2] = { two[0], two[1] };
	const struct strata_machine machine = { small, 2, links };
	struct strata_graph *graph = chain();
	const struct strata_place_request ask = { .graph = graph, .machine = &machine };
	struct strata_adaptive_choice choice = { .features = 77 };
	struct strata_place_plan plan;
	struct strata_arena arena;

	small[0].capacity_bytes = small[1].capacity_bytes = 150;
	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(strata_place_auto(&ask, NULL, &arena, &plan, &choice, &err), -ENOSPC);
	CHECK_INT(choice.features, 77);
	strata_arena_fini(&arena);
	strata_graph_free(graph);
}

static int plan_once(struct strata_memory *limited, void *context, struct strata_error *error)
{
	struct strata_place_plan plan;
	struct strata_arena arena;

	strata_arena_init(&arena, limited, 0);
	int rc = strata_place_auto(context, NULL, &arena, &plan, NULL, error);

	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	struct strata_device roomy[2] = { two[0], two[1] };
	const struct strata_machine machine = { roomy, 2, links };
	struct strata_graph *graph = chain();
	struct strata_spec heft;
	struct strata_arena arena;

	roomy[0].capacity_bytes = 0; /* no limit */
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_spec_build(&strata_strategy_kind, "round_robin", &arena, &heft, &err));
	const struct strata_place_request ask = {
		.graph = graph, .machine = &machine, .strategies = &heft, .strategy_count = 1
	};

	CHECK(test_every_allocation(plan_once, (void *)&ask) > 5);
	strata_arena_fini(&arena);
	strata_graph_free(graph);
}
