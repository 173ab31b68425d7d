/* Loads that are kept up to date are those of the simulator, whatever moves there were. */
#include "place_random.h"

#include "place/place_int.h"

static struct strata_memory memory;
static struct strata_error err;

TEST(moves_and_the_simulator_agree)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct place_random it;
		struct strata_arena arena;
		struct strata_place_problem problem;
		struct strata_place_draft draft;
		struct loads loads;
		struct strata_rng rng;
		double want[4];

		strata_arena_init(&arena, &memory, 0);
		place_random_make(&it, seed, 12, &memory);
		it.ask.rule_count = 0;
		CHECK_OK(problem_make(&it.ask, &arena, &problem, &err));
		CHECK_OK(draft_make(&problem, &arena, &draft, &err));
		CHECK_OK(loads_init(&loads, &problem, &arena, &err));
		memset(draft.device, 0, 12 * sizeof(uint32_t));
		loads_set(&loads, draft.device);
		strata_rng_init(&rng, seed, 0);
		for (int i = 0; i < 100; i++) {
			size_t op = strata_rng_below(&rng, 12);

			draft.device[op] = (uint32_t)strata_rng_below(&rng, problem.device_count);
			loads_move(&loads, op, draft.device[op]);
		}
		double most = simulate_loads(&problem, &draft, want);

		CHECK_NEAR(loads_most(&loads), most, 1e-6);
		for (size_t d = 0; d < problem.device_count; d++)
			CHECK_NEAR(loads.load[d], want[d], 1e-6);
		strata_arena_fini(&arena);
		strata_graph_free(it.graph);
	}
	CHECK_INT(memory.used_bytes, 0);
}
