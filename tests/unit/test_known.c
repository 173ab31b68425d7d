/* Orders a run learns: recorded when none was told, one plan for each that was seen. */
#include "stage_world.h"

static struct strata_memory memory;
static struct strata_error err;

enum { LAYERS = 6, PAGES = 4 };

static void begin(struct world *world)
{
	static struct strata_stage_layer layers[LAYERS];
	const struct strata_stage_model model = { layers, LAYERS, NULL, 0 };
	struct strata_stage_run_conf conf = {
		.model = &model,
		.machine = { .page_bytes = 10, .budget_bytes = 140, .bytes_per_s = 1000000 },
	};

	*world = (struct world){ .budget = 14 };
	for (int i = 0; i < LAYERS; i++) {
		world->pages[i] = PAGES;
		layers[i] = (struct strata_stage_layer){ "l", PAGES * 10, 40000 };
	}
	CHECK_OK(strata_stage_run_new(&conf, &memory, &world->run, &err));
}

static struct strata_stage_progress progress_of(const struct world *world)
{
	struct strata_stage_progress progress;

	strata_stage_run_progress(world->run, &progress);
	return progress;
}

TEST(an_order_is_recorded_in_the_first_step)
{
	static const uint32_t order[] = { 0, 1, 2, 3, 4, 5 };
	struct world world;

	begin(&world);
	CHECK(!progress_of(&world).plan);
	world_step(&world, order, LAYERS);
	CHECK_INT(world.read, LAYERS * PAGES); /* nothing twice */
	CHECK(progress_of(&world).plan != NULL);
	world.fetches = 0;
	CHECK_INT(world_step(&world, order, LAYERS), 0);
	CHECK_INT(world.fetches, 0);
	CHECK_INT(progress_of(&world).surprises, 0);
	CHECK_INT(progress_of(&world).plans, 1);
	strata_stage_run_free(world.run);
}

TEST(both_ways_of_a_branch_have_a_plan)
{
	static const uint32_t left[] = { 0, 1, 2, 5 }, right[] = { 0, 1, 3, 4, 5 };
	struct world world;

	begin(&world);
	world_step(&world, left, 4);
	world_step(&world, right, 5);
	CHECK_INT(progress_of(&world).plans, 2);
	for (int i = 0; i < 6; i++) { /* the branch itself is a surprise, no more */
		bool way = i % 3 == 0;

		world.fetches = 0;
		CHECK(world_step(&world, way ? left : right, way ? 4 : 5) <= 1);
		CHECK(world.fetches <= 1);
	}
	CHECK_INT(progress_of(&world).plans, 2);
	CHECK_INT(world_step(&world, right, 5), 0); /* as the step before */
	strata_stage_run_free(world.run);
}

TEST(too_many_orders_make_room_only_for_one_that_stays)
{
	struct world world;
	uint32_t order[7] = { 0, 1, 2, 3, 4, 5, 0 };

	begin(&world);
	for (uint32_t i = 0; i < 36; i++) {
		order[5] = i % 6;
		order[6] = i / 6;
		world_step(&world, order, 7);
	}
	CHECK_INT(progress_of(&world).plans, 8);
	world_step(&world, order, 7); /* the last once more: now it is worth a plan */
	world.fetches = 0;
	CHECK_INT(world_step(&world, order, 7), 0);
	CHECK_INT(world.fetches, 0);
	CHECK_INT(progress_of(&world).plans, 8);
	strata_stage_run_free(world.run);
	CHECK_INT(memory.used_bytes, 0);
}

static int try_all(struct strata_memory *limited, void *context, struct strata_error *ret_err)
{
	static struct strata_stage_layer layers[2] = { { "a", 40, 10 }, { "b", 40, 10 } };
	const struct strata_stage_model model = { layers, 2, NULL, 0 };
	const struct strata_stage_run_conf conf = {
		.model = &model,
		.machine = { .page_bytes = 10, .budget_bytes = 60, .bytes_per_s = 1000000 },
	};
	static const enum strata_stage_hook hooks[] = {
		STRATA_STAGE_STEP_START,  STRATA_STAGE_PRE_FORWARD,  STRATA_STAGE_POST_FORWARD,
		STRATA_STAGE_PRE_FORWARD, STRATA_STAGE_POST_FORWARD, STRATA_STAGE_STEP_END
	};
	struct strata_stage_run *run;
	struct strata_stage_due due;
	int rc = strata_stage_run_new(&conf, limited, &run, ret_err);

	(void)context;
	if (rc)
		return rc;
	for (size_t i = 0; rc == 0 && i < 6; i++)
		rc = strata_stage_run_hook(run, hooks[i], i > 2, &due, ret_err);
	strata_stage_run_free(run);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(try_all, NULL);
}
