/* Off the plan and back: whatever a loop does, layers are there when they compute and the budget holds. */
#include "stage_world.h"

#include <strata/rng.h>

static struct strata_memory memory;
static struct strata_error err;

enum { LAYERS = 8, PAGES = 4 };

/* Eight layers of four pages, budget half of them; the order is each in turn. */
static void begin(struct world *world, const struct strata_stage_layer *layers, bool declared)
{
	const struct strata_stage_model model = { layers, LAYERS, NULL, declared ? LAYERS : 0 };
	const struct strata_stage_run_conf conf = {
		.model = &model,
		.machine = { .page_bytes = 10, .budget_bytes = 160, .bytes_per_s = 1000000 },
	};

	*world = (struct world){ .budget = 16 };
	for (int i = 0; i < LAYERS; i++)
		world->pages[i] = PAGES;
	CHECK_OK(strata_stage_run_new(&conf, &memory, &world->run, &err));
}

static void make_layers(struct strata_stage_layer *layers)
{
	for (int i = 0; i < LAYERS; i++)
		layers[i] = (struct strata_stage_layer){ "l", PAGES * 10, 40000 };
}

static const uint32_t usual[LAYERS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

TEST(a_surprise_costs_one_fetch_of_one_layer)
{
	struct strata_stage_layer layers[LAYERS];
	struct world world;
	static const uint32_t skips[] = { 0, 1, 5, 6, 7 };               /* over a branch */
	static const uint32_t repeats[] = { 0, 1, 2, 1, 3, 4, 5, 6, 7 }; /* one more turn */
	static const uint32_t swaps[] = { 0, 1, 2, 4, 3, 5, 6, 7 };
	static const struct {
		const uint32_t *order;
		size_t count;
		int surprises;
	} steps[] = { { skips, 5, 1 }, { repeats, 9, 1 }, { swaps, 8, 2 } };

	make_layers(layers);
	for (size_t i = 0; i < 3; i++) {
		begin(&world, layers, true);
		for (int k = 0; k < 3; k++)
			CHECK_INT(world_step(&world, usual, LAYERS), 0);
		CHECK_INT(world.fetches, 0);
		CHECK_INT(world_step(&world, steps[i].order, steps[i].count), steps[i].surprises);
		/* waits for one layer at a time, and never for more than all of it */
		CHECK(world.fetches <= (uint32_t)steps[i].surprises);
		CHECK(world.fetched <= PAGES * world.fetches);
		world.fetches = 0;
		CHECK_INT(world_step(&world, usual, LAYERS), 1); /* back to the first plan */
		CHECK(world.fetches <= 1);
		strata_stage_run_free(world.run);
	}
	CHECK_INT(memory.used_bytes, 0);
}

TEST(after_a_surprise_a_step_reads_what_it_read_before)
{
	struct strata_stage_layer layers[LAYERS];
	struct world world;
	uint32_t quiet;

	make_layers(layers);
	begin(&world, layers, true);
	world_step(&world, usual, LAYERS);
	world.read = 0;
	world_step(&world, usual, LAYERS);
	quiet = world.read;
	world_hook(&world, STRATA_STAGE_STEP_START, 0);
	for (uint32_t i = 0; i < LAYERS; i++) {
		world_visit(&world, i);
		if (i == 3)
			CHECK(world_visit(&world, 0));
	}
	world_hook(&world, STRATA_STAGE_STEP_END, 0);
	world_step(&world, usual, LAYERS); /* back to this order */
	world_step(&world, usual, LAYERS);
	world.read = world.fetches = 0;
	CHECK_INT(world_step(&world, usual, LAYERS), 0);
	CHECK_INT(world.read, quiet);
	CHECK_INT(world.fetches, 0);
	strata_stage_run_free(world.run);
}

/* Steps of any order, some often, some layers never: the world checks every entry. */
TEST(any_order_keeps_the_budget)
{
	struct strata_stage_layer layers[LAYERS];
	struct strata_rng rng;
	uint32_t order[3 * LAYERS];

	strata_rng_init(&rng, 21, 0);
	make_layers(layers);
	for (int i = 0; i < 30; i++) {
		struct world world;

		begin(&world, layers, i % 2);
		for (int k = 0; k < 25; k++) {
			size_t count = strata_rng_below(&rng, 3 * LAYERS + 1);

			for (size_t v = 0; v < count; v++)
				order[v] = (uint32_t)(strata_rng_below(&rng, 4)
							      ? v % LAYERS
							      : strata_rng_below(&rng, LAYERS));
			world_step(&world, order, count);
		}
		strata_stage_run_free(world.run);
	}
	CHECK_INT(memory.used_bytes, 0);
}
