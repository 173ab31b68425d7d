#include "test.h"

#include "stage/stage_int.h"

#include <strata/rng.h>

#include <errno.h>
#include <string.h>

enum { VISITS = 12, LAYERS = 5 };

static struct strata_memory memory;
static struct strata_error err;

/* Layers in any order, each visited; what is kept is drawn without looking at the budget. */
TEST(what_is_left_fits_and_what_fits_is_left)
{
	uint32_t layer[VISITS], pages[VISITS], next[VISITS], kept[VISITS], before[VISITS];
	double compute[VISITS] = { 0 };
	struct strata_rng rng;
	struct strata_arena arena;

	strata_rng_init(&rng, 6, 0);
	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < 5000; i++) {
		struct strata_stage_problem problem = { VISITS, LAYERS,  layer,     pages,
							next,   compute, 9 + i % 30 };
		struct reads reads;

		for (uint32_t v = 0; v < VISITS; v++)
			layer[v] = v < LAYERS ? v : (uint32_t)strata_rng_below(&rng, LAYERS);
		strata_rng_shuffle(&rng, layer, VISITS, sizeof(*layer));
		for (uint32_t v = 0; v < VISITS; v++) {
			pages[v] = 1 + layer[v] * 2;
			kept[v] = before[v] = (uint32_t)strata_rng_below(&rng, pages[v] + 1);
			for (next[v] = 1; layer[(v + next[v]) % VISITS] != layer[v];)
				next[v]++;
		}
		strata_arena_reset(&arena);
		CHECK_OK(reads_init(&reads, &problem, &arena, &err));
		bool fits = reads_set(&reads, kept, UINT32_MAX);

		CHECK_INT(trim(&problem, problem.budget, &arena, kept), 0);
		CHECK(reads_set(&reads, kept, UINT32_MAX));
		if (fits)
			CHECK_BYTES(kept, before, sizeof(kept));
		for (uint32_t v = 0; v < VISITS; v++)
			CHECK(kept[v] <= before[v]);
	}
	strata_arena_fini(&arena);
}
