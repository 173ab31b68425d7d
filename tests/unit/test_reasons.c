/* Sentences: why a plan is as it is, and what would make one fit. */
#include "place_random.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(what_is_missing_is_said)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_plan plan;

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 4, 4, &memory);
	it.ask.rule_count = 0;
	it.machine.device_count = 2;
	for (size_t i = 0; i < 4; i++) {
		it.graph->ops[i].weight_bytes = 100;
		it.graph->ops[i].kv_bytes = 0;
		it.graph->ops[i].group = 0;
	}
	it.devices[0].capacity_bytes = it.devices[1].capacity_bytes = 150;
	CHECK_ERROR(strata_place_plan(&it.ask, &arena, &plan, &err), -ENOSPC, "100 bytes");
	it.devices[0].capacity_bytes = it.devices[1].capacity_bytes = 99;
	CHECK_ERROR(strata_place_plan(&it.ask, &arena, &plan, &err), -ENOSPC,
		    "largest device has 99 B");
	it.machine.activations_apart = true;
	it.devices[0].capacity_bytes = it.devices[1].capacity_bytes = 200;
	CHECK_OK(strata_place_plan(&it.ask, &arena, &plan, &err));
	CHECK(plan.reason_count >= 2);
	CHECK(strstr(plan.reasons[0], "no single device has enough memory for the model; 2 devices do") != NULL);
	CHECK(strstr(plan.reasons[plan.reason_count - 1], "is full to 100 %") != NULL);
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
	CHECK_INT(memory.used_bytes, 0);
}
