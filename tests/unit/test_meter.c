/* A meter: cut off where it is told, infinite where it does not fit, by the objective asked. */
#include "place_random.h"

#include "place/place_int.h"

static struct strata_memory memory;
static struct strata_error err;

TEST(it_measures_by_the_objective)
{
	struct place_random it;
	struct strata_arena arena;
	struct strata_place_problem problem;
	struct strata_place_draft draft;
	struct strata_place_meter *meter;

	strata_arena_init(&arena, &memory, 0);
	place_random_make(&it, 6, 6, &memory);
	it.ask.rule_count = 0;
	it.machine.device_count = 2;
	it.machine.activations_apart = true;
	for (size_t d = 0; d < 2; d++)
		it.devices[d].capacity_bytes = 1000;
	CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
	CHECK_OK(draft_make(&problem, &arena, &draft, &err));
	memset(draft.device, 0, 6 * sizeof(uint32_t));
	CHECK_OK(strata_place_meter_new(&problem, &arena, &meter, &err));
	problem.objective = STRATA_LATENCY;
	double latency = strata_place_meter_read(meter, &draft, INFINITY);

	CHECK(latency > 0 && isfinite(latency));
	CHECK(strata_place_meter_read(meter, &draft, latency / 2) >= latency / 2);
	problem.objective = STRATA_MEMORY;
	double share = strata_place_meter_read(meter, &draft, INFINITY);

	CHECK(share > 0 && share < 1);
	it.devices[0].capacity_bytes = 1;
	CHECK(isinf(strata_place_meter_read(meter, &draft, INFINITY)));
	strata_arena_fini(&arena);
	strata_graph_free(it.graph);
	CHECK_INT(memory.used_bytes, 0);
}
