/* The clock beside what planners promise: it follows entries, they count pages. */
#include "test.h"

#include <strata/rng.h>
#include <strata/stage.h>

#include <errno.h>
#include <math.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

enum { LAYERS = 7, VISITS = 16, STEPS = 6 };

static double step_of(const struct strata_stage_plan *plan, const struct strata_stage_model *model,
		      int64_t bytes_per_s, struct strata_arena *arena)
{
	struct strata_stage_clock clock;
	double half = 0;

	CHECK_OK(
		strata_stage_clock_init(&clock, model, plan->page_bytes, bytes_per_s, arena, &err));
	for (int step = 0; step < STEPS; step++) {
		if (step == STEPS / 2)
			half = clock.now_ns;
		for (size_t i = 0; i < plan->entry_count; i++)
			strata_stage_clock_do(&clock, &plan->entries[i]);
	}
	return (clock.now_ns - half) / (STEPS - STEPS / 2);
}

TEST(a_step_takes_what_the_plan_says)
{
	struct strata_arena arena;
	struct strata_rng rng;

	strata_rng_init(&rng, 5, 0);
	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < 400; i++) {
		struct strata_stage_layer layers[LAYERS];
		uint32_t order[VISITS];
		const struct strata_stage_model model = { layers, LAYERS, order, VISITS };
		const struct strata_stage_machine machine = {
			1, 9 + (int64_t)strata_rng_below(&rng, 40), 1000000
		};

		for (uint32_t k = 0; k < LAYERS; k++)
			layers[k] = (struct strata_stage_layer){
				"l", 1 + (int64_t)strata_rng_below(&rng, 9),
				(int64_t)strata_rng_below(&rng, 6000)
			};
		for (uint32_t v = 0; v < VISITS; v++)
			order[v] = v < LAYERS ? v : (uint32_t)strata_rng_below(&rng, LAYERS);
		for (const struct strata_class *const *cls = strata_planner_kind.classes; *cls;
		     cls++) {
			struct strata_stage_plan plan;

			if (strcmp((*cls)->name, "best") == 0 && i > 10)
				continue;
			CHECK_OK(strata_stage_build((*cls)->name, &model, &machine, &arena, &plan,
						    &err));
			CHECK(fabs(step_of(&plan, &model, 1000000, &arena) -
				   plan.metrics.step_ns) <= 1e-6 * plan.metrics.step_ns);
		}
		strata_arena_reset(&arena);
	}
	strata_arena_fini(&arena);
}

TEST(a_clock_needs_a_speed)
{
	const struct strata_stage_layer layer = { "l", 1, 0 };
	const struct strata_stage_model model = { &layer, 1, NULL, 1 };
	struct strata_stage_clock clock;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_INT(strata_stage_clock_init(&clock, &model, 1, 0, &arena, &err), -EINVAL);
	CHECK_INT(strata_stage_clock_init(&clock, &model, 0, 1, &arena, &err), -EINVAL);
	strata_arena_fini(&arena);
}
