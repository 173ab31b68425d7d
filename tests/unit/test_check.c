/* Spoilt drafts are refused, each with what is wrong. */
#include "place_random.h"

#include "place/place_int.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(what_is_wrong_is_said)
{
	struct strata_graph *graph;
	struct strata_arena arena;
	struct strata_device devices[2] = {
		{ .name = "a", .flops_per_s = 1e9, .capacity_bytes = 10 },
		{ .name = "b", .flops_per_s = 1e9 }
	};
	struct strata_machine machine = { .devices = devices,
					  .device_count = 2,
					  .activations_apart = true };
	struct strata_place_rule rule = { "z", 0, true };
	struct strata_place_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "x", "y", "z" };
		struct strata_op op = { .name = names[i],
					.flops = 1,
					.weight_bytes = 5,
					.kv_device = STRATA_NONE,
					.group = i < 2 };

		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
	}
	CHECK_OK(strata_graph_add_edge(graph, 0, 1, 1, -1, &err));
	CHECK_OK(strata_graph_finish(graph, &err));
	struct strata_place_request ask = {
		.graph = graph, .machine = &machine, .rules = &rule, .rule_count = 1
	};
	uint32_t device[] = { 0, 0, 1 }, order[] = { 0, 1, 2 };

	CHECK_OK(strata_place_simulate(&ask, device, order, &arena, &plan, &err));
	device[1] = 1;
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -EINVAL,
		    "must be on one device");
	device[1] = 0;
	device[2] = 0;
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -EINVAL,
		    "where it may not run");
	rule.ops = "no such op";
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -ENOSPC,
		    "no room for the 15 B");
	device[2] = 7;
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -EINVAL,
		    "device 7");
	device[2] = 1;
	order[0] = 1;
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -EINVAL,
		    "twice");
	order[1] = 0;
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -EINVAL,
		    "whose result it needs");
	ask.fixed_order = true;
	order[0] = 0;
	order[1] = 2;
	order[2] = 1;
	CHECK_ERROR(strata_place_simulate(&ask, device, order, &arena, &plan, &err), -EINVAL,
		    "order is fixed");
	strata_arena_fini(&arena);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}
