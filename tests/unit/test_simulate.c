/* Latency and load of known schedules, computed by hand. */
#include "place_random.h"

#include "place/place_int.h"

static struct strata_memory memory;
static struct strata_error err;

TEST(a_fork_on_two_devices)
{
	struct strata_graph *graph;
	struct strata_arena arena;
	struct strata_device devices[2] = { { .name = "a", .flops_per_s = 1e9 },
					    { .name = "b", .flops_per_s = 2e9 } };
	double rates[4] = { 0, 1e9, 1e9, 0 }, latencies[4] = { 0, 3, 3, 0 };
	struct strata_machine machine = {
		.devices = devices, .device_count = 2, .bytes_per_s = rates, .latency_ns = latencies
	};
	struct strata_place_plan plan;
	static const double flops[] = { 10, 20, 40, 6 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	for (int i = 0; i < 4; i++) {
		struct strata_op op = { .flops = flops[i],
					.kv_bytes = i == 2 ? 12 : 0,
					.kv_device = i == 2 ? 0 : STRATA_NONE };

		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
	}
	CHECK_OK(strata_graph_add_edge(graph, 0, 1, 5, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 0, 2, 5, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 1, 3, 7, -1, &err));
	CHECK_OK(strata_graph_add_edge(graph, 2, 3, 7, -1, &err));
	CHECK_OK(strata_graph_finish(graph, &err));
	struct strata_place_request ask = { .graph = graph,
					    .machine = &machine,
					    .fixed_order = true };
	static const uint32_t device[] = { 0, 0, 1, 0 };

	CHECK_OK(strata_place_simulate(&ask, device, NULL, &arena, &plan, &err));
	/* op 2 waits for its data (10 + 3 + 5 = 18), not for its KV state (3 + 12), and takes 20; what it makes comes at 48 */
	CHECK_NEAR(plan.start_ns[2], 18, 0);
	CHECK_NEAR(plan.latency_ns, 54, 0);
	/* 36 of its own, 8 out (once), 10 in; the other: 20, 8 in, 10 out and 15 of KV state */
	CHECK_NEAR(plan.devices[0].load_ns, 36 + 8 + 10, 1e-9);
	CHECK_NEAR(plan.devices[1].load_ns, 20 + 8 + 10 + 15, 1e-9);
	CHECK_NEAR(plan.load_ns, 54, 1e-9);
	CHECK_NEAR(plan.devices[0].utilisation, 36.0 / 54, 1e-12);
	strata_arena_fini(&arena);
	strata_graph_free(graph);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_value_is_paid_once_however_many_read_it)
{
	struct strata_graph *graph;
	struct strata_arena arena;
	struct strata_device devices[2] = { { .name = "a", .flops_per_s = 1e9 },
					    { .name = "b", .flops_per_s = 1e9 } };
	struct strata_machine machine = { .devices = devices, .device_count = 2 };
	struct strata_place_plan plan;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_graph_new("g", &memory, &graph, &err));
	for (int i = 0; i < 4; i++) {
		struct strata_op op = { .flops = 1, .kv_device = STRATA_NONE };

		CHECK_OK(strata_graph_add_op(graph, &op, NULL, &err));
		if (i)
			CHECK_OK(strata_graph_add_edge(graph, 0, (uint32_t)i, 0, 10, &err));
	}
	CHECK_OK(strata_graph_finish(graph, &err));
	struct strata_place_request ask = { .graph = graph, .machine = &machine };
	static const uint32_t device[] = { 0, 1, 1, 1 };

	CHECK_OK(strata_place_simulate(&ask, device, NULL, &arena, &plan, &err));
	CHECK_NEAR(plan.devices[0].load_ns, 11, 0);
	CHECK_NEAR(plan.devices[1].load_ns, 13, 0);
	CHECK_NEAR(plan.latency_ns, 14, 0);
	machine.through_host = true; /* both ends take their time */
	CHECK_OK(strata_place_simulate(&ask, device, NULL, &arena, &plan, &err));
	CHECK_NEAR(plan.latency_ns, 24, 0);
	devices[1].transfers_free = true;
	CHECK_OK(strata_place_simulate(&ask, device, NULL, &arena, &plan, &err));
	CHECK_NEAR(plan.latency_ns, 14, 0);
	CHECK_NEAR(plan.devices[1].load_ns, 3, 0);
	strata_arena_fini(&arena);
	strata_graph_free(graph);
}
