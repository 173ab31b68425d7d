#include "test.h"

#include "stage/stage_int.h"

#include <strata/rng.h>

#include <errno.h>

enum { LAYERS = 3, PAGES = 3, STATES = 64, VISITS = 6, STEPS = 64 };

static struct strata_memory memory;

struct tiny {
	uint32_t layer[VISITS], pages[VISITS], next[VISITS];
	double compute[VISITS];
	struct strata_stage_problem problem;
};

static void draw(struct strata_rng *rng, struct tiny *tiny)
{
	uint32_t sizes[LAYERS];

	for (int i = 0; i < LAYERS; i++)
		sizes[i] = 1 + (uint32_t)strata_rng_below(rng, PAGES);
	for (int v = 0; v < VISITS; v++) {
		tiny->layer[v] = v < LAYERS ? (uint32_t)v : (uint32_t)strata_rng_below(rng, LAYERS);
		tiny->pages[v] = sizes[tiny->layer[v]];
	}
	for (int v = 0; v < VISITS; v++)
		for (tiny->next[v] = 1;
		     tiny->layer[(v + (int)tiny->next[v]) % VISITS] != tiny->layer[v];)
			tiny->next[v]++;
	tiny->problem = (struct strata_stage_problem){ VISITS,
						       LAYERS,
						       tiny->layer,
						       tiny->pages,
						       tiny->next,
						       tiny->compute,
						       PAGES + (uint32_t)strata_rng_below(rng, 5) };
}

/* The fewest pages that any rule could read in so many steps, by trying every set of pages after every visit. */
static int fewest(const struct strata_stage_problem *problem)
{
	int cost[STATES], later[STATES];

	for (int s = 0; s < STATES; s++)
		cost[s] = s ? 1000000 : 0;
	for (int at = 0; at < STEPS * VISITS; at++) {
		int shift = 2 * (int)problem->layer[at % VISITS],
		    pages = (int)problem->pages[at % VISITS];

		for (int to = 0; to < STATES; to++) {
			later[to] = 1000000;
			if ((to >> shift & 3) != pages ||
			    (uint32_t)((to & 3) + (to >> 2 & 3) + (to >> 4)) > problem->budget)
				continue;
			for (int from = 0; from < STATES; from++) {
				bool possible = true;

				for (int k = 0; k < 6; k += 2)
					possible &= k == shift || (to >> k & 3) <= (from >> k & 3);
				int sum = cost[from] + pages - (from >> shift & 3);

				if (possible && (from >> shift & 3) <= pages && sum < later[to])
					later[to] = sum;
			}
		}
		for (int s = 0; s < STATES; s++)
			cost[s] = later[s];
	}
	int least = 1000000;

	for (int s = 0; s < STATES; s++)
		least = cost[s] < least ? cost[s] : least;
	return least;
}

TEST(nobody_reads_less)
{
	struct strata_rng rng;
	struct strata_arena arena;
	struct tiny tiny;

	strata_rng_init(&rng, 5, 0);
	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < 100; i++) {
		draw(&rng, &tiny);
		double read;

		CHECK_INT(belady(&tiny.problem, tiny.problem.budget, &arena, NULL, &read), 0);
		/* steps alone, and from an empty memory, which costs what fits into it once */
		CHECK_NEAR(read, (double)fewest(&tiny.problem) / STEPS,
			   (double)tiny.problem.budget / (STEPS / 2) + 1e-9);
	}
	CHECK_INT(belady(&tiny.problem, 0, &arena, NULL, NULL), -ENOSPC);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}
