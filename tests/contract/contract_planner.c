/* What every planner must keep: whatever it chooses, the plan passes the verifier, keeps within the budget, and is the same every time. */
#include "test.h"

#include <strata/rng.h>
#include <strata/stage.h>

#include <stdio.h>
#include <string.h>

enum { LAYERS_MAX = 12, VISITS_MAX = 30 };

static struct strata_memory memory;
static struct strata_error err;
static struct strata_registry *registry;

struct instance {
	struct strata_stage_layer layers[LAYERS_MAX];
	uint32_t order[VISITS_MAX];
	struct strata_stage_model model;
	struct strata_stage_machine machine;
};

/* Pages of ten bytes; every layer is visited, in any order and some of them often. */
static void draw(struct strata_rng *rng, struct instance *instance)
{
	size_t layers = 1 + strata_rng_below(rng, LAYERS_MAX);
	size_t visits = layers + strata_rng_below(rng, VISITS_MAX - layers + 1);
	int64_t largest = 0, sum = 0;

	for (size_t i = 0; i < layers; i++) {
		int64_t bytes = 1 + (int64_t)strata_rng_below(rng, 80);

		instance->layers[i] = (struct strata_stage_layer){
			"l", bytes,
			(int64_t)strata_rng_below(rng, 3) * (int64_t)strata_rng_below(rng, 8000)
		};
		sum += (bytes + 9) / 10 * 10;
		if ((bytes + 9) / 10 * 10 > largest)
			largest = (bytes + 9) / 10 * 10;
	}
	for (size_t v = 0; v < visits; v++)
		instance->order[v] = (uint32_t)(v < layers ? v : strata_rng_below(rng, layers));
	strata_rng_shuffle(rng, instance->order, visits, sizeof(*instance->order));
	instance->model =
		(struct strata_stage_model){ instance->layers, layers, instance->order, visits };
	instance->machine = (struct strata_stage_machine){
		.page_bytes = 10,
		.budget_bytes = largest +
				(int64_t)strata_rng_below(rng, (uint64_t)(sum - largest + 11)),
		.bytes_per_s = 10000000, /* a page in a microsecond */
	};
}

static void check_plan(const struct strata_class *cls, const struct instance *instance, bool twice)
{
	struct strata_arena arena;
	struct strata_spec spec;
	struct strata_stage_plan plan, again;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_spec_read(registry, cls->name, strlen(cls->name), &arena, &spec, &err));
	CHECK_OK(strata_stage_plan(&spec, &instance->model, &instance->machine, &arena, &plan,
				   &err));
	CHECK_OK(strata_stage_verify(&plan, &instance->model, &arena, &err));
	CHECK(plan.metrics.peak_bytes <= instance->machine.budget_bytes);
	CHECK(plan.metrics.step_ns >= plan.metrics.compute_ns * (1 - 1e-9));
	CHECK(plan.metrics.bytes_per_step >= plan.metrics.min_bytes_per_step);
	CHECK(plan.metrics.ratio >= 1 - 1e-9);
	if (twice) {
		CHECK_OK(strata_stage_plan(&spec, &instance->model, &instance->machine, &arena,
					   &again, &err));
		CHECK_INT(again.entry_count, plan.entry_count);
		CHECK_BYTES(again.entries, plan.entries, plan.entry_count * sizeof(*plan.entries));
	}
	strata_arena_fini(&arena);
}

/* Each instance goes to one planner in turn; `best` takes its time and gets a few. */
TEST(every_plan_passes_the_verifier)
{
	const struct strata_class *const *classes = strata_planner_kind.classes;
	struct strata_rng rng;
	struct instance instance;
	size_t class_count = 0;

	while (classes[class_count])
		class_count++;
	strata_rng_init(&rng, 8, 0);
	CHECK_OK(strata_registry_new(&strata_planner_kind, &memory, &registry, &err));
	for (size_t i = 0; i < INSTANCES; i++) {
		const struct strata_class *cls = classes[i % class_count];

		if (strcmp(cls->name, "best") == 0 && i > 100 * class_count)
			cls = classes[(i + 1) % class_count];
		draw(&rng, &instance);
		check_plan(cls, &instance, i % 64 < class_count);
	}
	strata_registry_free(registry);
	CHECK_INT(memory.used_bytes, 0);
}
