/*
 * aggressive: whenever the channel is free the next missing page is read, if there is a frame or a page that is used later than it to take one
 * from (Cao, Felten, Karlin, Li 1995). What it keeps is what was never given up between two uses once it has settled.
 */
#include "stage/stage_int.h"

#include "core/container.h"
#include "core/heap.h"

#include <errno.h>
#include <math.h>

enum { STEPS = 4 };

struct held {
	struct heap_node by_use; /* the one used last is the smallest */
	uint32_t pages;          /* with a frame */
	uint32_t least;          /* since its last use */
	uint32_t last;           /* visit, 1 + its number */
	uint64_t due;
};

struct greedy {
	const struct strata_stage_problem *problem;
	struct held *layers;
	struct heap heap;
	int64_t free;
	double now, channel;
	uint64_t ahead; /* visits before this one have all their pages */
};

/* Frames for up to `wanted` pages that are used at `due`, from what is used later. */
static int64_t find_frames(struct greedy *greedy, int64_t wanted, uint64_t due)
{
	while (greedy->free < wanted) {
		struct heap_node *top = heap_top(&greedy->heap);
		struct held *victim = top ? container_of(top, struct held, by_use) : NULL;

		if (!victim || victim->due <= due)
			break;
		int64_t part = wanted - greedy->free;

		if (part >= victim->pages) {
			part = victim->pages;
			heap_pop(&greedy->heap);
		}
		victim->pages -= (uint32_t)part;
		if (victim->pages < victim->least)
			victim->least = victim->pages;
		greedy->free += part;
	}
	return greedy->free < wanted ? greedy->free : wanted;
}

/* Reads up to `wanted` pages of the layer that is used at `due`. */
static int64_t read_pages(struct greedy *greedy, struct held *layer, int64_t wanted, uint64_t due)
{
	int64_t count = find_frames(greedy, wanted, due);

	layer->pages += (uint32_t)count;
	greedy->free -= count;
	if (count)
		greedy->channel = fmax(greedy->channel, greedy->now) + (double)count;
	return count;
}

/* As long as the channel would be idle before `until`. */
static void read_ahead(struct greedy *greedy, uint64_t at, double until)
{
	const struct strata_stage_problem *problem = greedy->problem;
	size_t n = problem->visit_count;

	if (greedy->ahead <= at)
		greedy->ahead = at + 1;
	while (greedy->ahead < at + n) {
		size_t v = greedy->ahead % n;
		struct held *layer = &greedy->layers[problem->layer[v]];
		int64_t missing = (int64_t)problem->pages[v] - layer->pages;
		double idle = until - fmax(greedy->channel, greedy->now);

		if (missing > 0) {
			if (idle <= 0)
				return;
			int64_t most = idle < (double)missing ? (int64_t)ceil(idle) : missing;
			bool had = heap_node_in(&layer->by_use);

			if (had)
				heap_remove(&greedy->heap, &layer->by_use);
			int64_t count = read_pages(greedy, layer, most, greedy->ahead);

			if (layer->pages) {
				layer->due = greedy->ahead;
				heap_push(&greedy->heap, &layer->by_use, ~layer->due);
			}
			if (count < missing)
				return;
		}
		greedy->ahead++;
	}
}

static void visit(struct greedy *greedy, uint64_t at, uint32_t *ret_kept)
{
	const struct strata_stage_problem *problem = greedy->problem;
	size_t v = at % problem->visit_count;
	struct held *layer = &greedy->layers[problem->layer[v]];
	int64_t missing;

	if (layer->last)
		ret_kept[layer->last - 1] = layer->least;
	if (heap_node_in(&layer->by_use))
		heap_remove(&greedy->heap, &layer->by_use);
	missing = (int64_t)problem->pages[v] - layer->pages;
	read_pages(greedy, layer, missing, at);
	double end = fmax(greedy->now, missing ? greedy->channel : 0) + problem->compute[v];

	read_ahead(greedy, at, end);
	greedy->now = end;
	layer->least = layer->pages;
	layer->last = (uint32_t)v + 1;
	layer->due = at + problem->next[v];
	heap_push(&greedy->heap, &layer->by_use, ~layer->due);
}

int aggressive_keep(const struct strata_stage_problem *problem, struct strata_arena *arena,
		    uint32_t *ret_kept)
{
	struct greedy greedy = { .problem = problem,
				 .layers = strata_arena_array(arena, problem->layer_count,
							      sizeof(*greedy.layers)),
				 .free = problem->budget };

	heap_init(&greedy.heap, arena->memory, NULL, NULL);
	int rc = greedy.layers ? heap_reserve(&greedy.heap, problem->layer_count) : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < STEPS * problem->visit_count; at++)
		visit(&greedy, at, ret_kept);
	heap_fini(&greedy.heap);
	return rc ? rc : trim(problem, problem->budget, arena, ret_kept);
}

static int keep(const void *conf, const struct strata_stage_problem *problem,
		struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err)
{
	(void)conf;
	return aggressive_keep(problem, arena, ret_kept) ? strata_fail_memory(err) : 0;
}

const struct strata_planner_class strata_planner_aggressive = {
	.base = { .name = "aggressive", .summary = "reads whenever the channel is free" },
	.ahead = UINT32_MAX,
	.keep = keep,
};
