/* Belady's rule on pages, with all of the layer that computes in memory: nobody reads less. Pages of a layer are alike, so it goes by counts. */
#include "stage/stage_int.h"

#include "core/container.h"
#include "core/heap.h"

#include <errno.h>

enum { STEPS_MAX = 64, WORK_MAX = 1 << 20 };

struct resident {
	struct heap_node by_use; /* the one used last is the smallest */
	uint32_t pages;
	uint32_t last; /* visit, 1 + its number; 0: none */
	uint64_t due;  /* its next */
};

struct world {
	const struct strata_stage_problem *problem;
	struct resident *layers;
	struct heap heap;
	int64_t free;
};

static void make_room(struct world *world, int64_t wanted)
{
	while (world->free < wanted) {
		struct resident *victim =
			container_of(heap_top(&world->heap), struct resident, by_use);
		int64_t missing = wanted - world->free;
		int64_t part = victim->pages < missing ? victim->pages : missing;

		victim->pages -= (uint32_t)part;
		world->free += part;
		if (!victim->pages)
			heap_pop(&world->heap);
	}
}

/* Pages read. */
static int64_t visit(struct world *world, uint64_t at, uint32_t *ret_kept)
{
	const struct strata_stage_problem *problem = world->problem;
	size_t v = at % problem->visit_count;
	struct resident *layer = &world->layers[problem->layer[v]];
	int64_t missing = problem->pages[v] - layer->pages;

	if (layer->last && ret_kept)
		ret_kept[layer->last - 1] = layer->pages;
	if (heap_node_in(&layer->by_use))
		heap_remove(&world->heap, &layer->by_use);
	make_room(world, missing);
	world->free -= missing;
	layer->pages = problem->pages[v];
	layer->last = (uint32_t)v + 1;
	layer->due = at + problem->next[v];
	heap_push(&world->heap, &layer->by_use, ~layer->due);
	return missing;
}

int belady(const struct strata_stage_problem *problem, uint32_t budget, struct strata_arena *arena,
	   uint32_t *ret_kept, double *ret_pages)
{
	size_t n = problem->visit_count;
	struct world world = { .problem = problem,
			       .layers = strata_arena_array(arena, problem->layer_count,
							    sizeof(*world.layers)),
			       .free = budget };
	uint64_t steps = WORK_MAX / n < 4 ? 4 : WORK_MAX / n > STEPS_MAX ? STEPS_MAX : WORK_MAX / n;
	uint64_t warm = steps / 2, at = 0;
	int64_t read = 0;

	heap_init(&world.heap, arena->memory, NULL, NULL);
	if (budget < stage_largest(problem) || !world.layers ||
	    heap_reserve(&world.heap, problem->layer_count)) {
		heap_fini(&world.heap);
		return budget < stage_largest(problem) ? -ENOSPC : -ENOMEM;
	}
	for (; at < warm * n; at++)
		visit(&world, at, ret_kept);
	for (; at < steps * n; at++)
		read += visit(&world, at, ret_kept);
	heap_fini(&world.heap);
	if (ret_pages)
		*ret_pages = (double)read / (double)(steps - warm);
	return 0;
}
