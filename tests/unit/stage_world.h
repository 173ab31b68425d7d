/* A loop beside a run of the stage level, which believes nothing: it does what each hook makes due to a memory of its own and counts. */
#ifndef TESTS_STAGE_WORLD_H
#define TESTS_STAGE_WORLD_H

#include "test.h"

#include <strata/stage.h>

#include <string.h>

enum { WORLD_LAYERS_MAX = 16 };

struct world {
	struct strata_stage_run *run;
	uint32_t pages[WORLD_LAYERS_MAX]; /* of each layer */
	uint32_t held[WORLD_LAYERS_MAX];
	uint32_t used, budget;
	uint32_t fetches,
		fetched; /* entries that wait for pages, and how many, since it was last zeroed */
	uint32_t read;   /* pages, likewise */
};

static struct strata_stage_due world_hook(struct world *world, enum strata_stage_hook hook,
					  uint32_t layer)
{
	struct strata_stage_due due;
	struct strata_error err;

	CHECK_OK(strata_stage_run_hook(world->run, hook, layer, &due, &err));
	for (size_t i = 0; i < due.count; i++) {
		const struct strata_stage_entry *entry = &due.entries[i];
		uint32_t *held = &world->held[entry->layer];

		if (entry->kind == STRATA_STAGE_RELEASE) {
			CHECK(entry->count > 0 && entry->first + entry->count == *held);
			*held -= entry->count;
			world->used -= entry->count;
		} else if (entry->kind == STRATA_STAGE_COMPUTE) {
			CHECK_INT(entry->layer, layer);
			CHECK_INT(*held, world->pages[layer]);
			CHECK_INT(i, due.count - 1);
		} else {
			CHECK_INT(entry->first, *held);
			*held += entry->count;
			CHECK(*held <= world->pages[entry->layer]);
			world->used += entry->count;
			world->read += entry->count;
			CHECK(world->used <= world->budget);
			world->fetches += entry->kind == STRATA_STAGE_FETCH && entry->count > 0;
			if (entry->kind == STRATA_STAGE_FETCH)
				world->fetched += entry->count;
		}
	}
	return due;
}

/* One forward visit. */
static bool world_visit(struct world *world, uint32_t layer)
{
	struct strata_stage_due due = world_hook(world, STRATA_STAGE_PRE_FORWARD, layer);
	bool surprise = due.surprise;

	CHECK(due.count && due.entries[due.count - 1].kind == STRATA_STAGE_COMPUTE);
	world_hook(world, STRATA_STAGE_POST_FORWARD, layer);
	CHECK(world->held[layer] <= world->pages[layer]);
	return surprise;
}

/* Returns surprises. */
static int world_step(struct world *world, const uint32_t *order, size_t count)
{
	int surprises = 0;

	world_hook(world, STRATA_STAGE_STEP_START, 0);
	for (size_t i = 0; i < count; i++)
		surprises += world_visit(world, order[i]);
	world_hook(world, STRATA_STAGE_STEP_END, 0);
	return surprises;
}

#endif
