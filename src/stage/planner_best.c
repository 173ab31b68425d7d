/*
 * best: tries what the other planners would keep, with several settings each, takes the one whose step is shortest, of equal ones the one that
 * reads least, and then moves pages between layers as long as that helps.
 */
#include "stage/stage_int.h"

#include <strata/rng.h>

#include <errno.h>
#include <string.h>

enum { WORK = 1 << 22, TRIES_MAX = 20000 };

struct best_conf {
	int64_t seed;
};

static const struct strata_option options[] = {
	{ "seed", STRATA_INT, offsetof(struct best_conf, seed), .integer = { 1, 0, INT64_MAX },
	  .help = "of the moves that are tried" },
	{ 0 }
};

struct search {
	const struct strata_stage_problem *problem;
	struct strata_arena *scratch;
	struct reads reads;
	uint32_t *trial, *kept; /* what is tried, and the best so far */
	struct score score;
};

/* Is what is tried no worse than all before? Then it is the best from now on: from something equal there may be a way to something better. */
static bool consider(struct search *search)
{
	if (!reads_set(&search->reads, search->trial, UINT32_MAX))
		return false;
	struct score score = reads_score(&search->reads);

	if (score_better(&search->score, &score))
		return false;
	search->score = score;
	memcpy(search->kept, search->trial, search->problem->visit_count * sizeof(*search->kept));
	return true;
}

static int try_belady(struct search *search, double room)
{
	uint32_t largest = stage_largest(search->problem);
	uint32_t budget = search->problem->budget, less = (uint32_t)(room * largest);

	if (budget < largest + less)
		return 0;
	int rc = belady(search->problem, budget - less, search->scratch, search->trial, NULL);

	if (rc == 0)
		rc = trim(search->problem, budget - less, search->scratch, search->trial);
	if (rc == 0)
		consider(search);
	strata_arena_reset(search->scratch);
	return rc;
}

static int try_spread(struct search *search, double level, double room)
{
	int rc = spread_keep(search->problem, level, room, search->scratch, search->trial);

	if (rc == 0)
		consider(search);
	strata_arena_reset(search->scratch);
	return rc;
}

static int try_all(struct search *search)
{
	static const double rooms[] = { 0, 0.0625, 0.125, 0.25, 0.375, 0.5, 0.75, 1 };
	static const double parts[] = { 0, 0.25, 0.5, 0.75, 1, 1.25 };
	enum { ROOMS = sizeof(rooms) / sizeof(rooms[0]), PARTS = sizeof(parts) / sizeof(parts[0]) };
	bool many = search->problem->visit_count > 1 << 14; /* then fewer of each will do */
	int rc = aggressive_keep(search->problem, search->scratch, search->trial);

	if (rc == 0)
		consider(search);
	strata_arena_reset(search->scratch);
	for (size_t i = 0; rc == 0 && i < ROOMS; i += many ? 5 : 1)
		rc = try_belady(search, rooms[i]);
	for (size_t i = 0; rc == 0 && i < PARTS; i += many ? 4 : 1)
		for (size_t k = 0; rc == 0 && k < PARTS; k += many ? 2 : 1)
			rc = try_spread(search, parts[i], parts[k]);
	return rc;
}

/* One layer keeps a few pages more or less, and perhaps another one as many the other way. */
static void climb(struct search *search, uint64_t seed)
{
	const struct strata_stage_problem *problem = search->problem;
	size_t n = problem->visit_count, tries = WORK / n < TRIES_MAX ? WORK / n : TRIES_MAX;
	struct strata_rng rng;

	strata_rng_init(&rng, seed, 0);
	memcpy(search->trial, search->kept, n * sizeof(*search->kept));
	for (size_t i = 0; i < tries; i++) {
		size_t at[2] = { strata_rng_below(&rng, n), strata_rng_below(&rng, n) };
		int64_t change = INT64_C(1) << strata_rng_below(&rng, 5);
		size_t places = 1 + strata_rng_below(&rng, 2);

		if (strata_rng_below(&rng, 2))
			change = -change;
		for (size_t k = 0; k < places; k++, change = -change) {
			int64_t pages = search->trial[at[k]] + change, most = problem->pages[at[k]];

			search->trial[at[k]] = (uint32_t)(pages < 0      ? 0
							  : pages < most ? pages
									 : most);
		}
		if (!consider(search))
			for (size_t k = 0; k < places; k++)
				search->trial[at[k]] = search->kept[at[k]];
	}
}

static int keep(const void *conf_any, const struct strata_stage_problem *problem,
		struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err)
{
	const struct best_conf *conf = conf_any;
	size_t n = problem->visit_count;
	struct strata_arena scratch;
	struct search search = { .problem = problem,
				 .scratch = &scratch,
				 .kept = ret_kept,
				 .trial = strata_arena_array(arena, n, sizeof(*search.trial)) };
	int rc = search.trial ? reads_init(&search.reads, problem, arena, err)
			      : strata_fail_memory(err);

	if (rc)
		return rc;
	strata_arena_init(&scratch, arena->memory, 0);
	reads_set(&search.reads, ret_kept, UINT32_MAX); /* nothing is kept: always possible */
	search.score = reads_score(&search.reads);
	rc = try_all(&search);
	if (rc == 0)
		climb(&search, (uint64_t)conf->seed);
	strata_arena_fini(&scratch);
	return rc ? strata_fail_memory(err) : 0;
}

const struct strata_planner_class strata_planner_best = {
	.base = { .name = "best",
		  .summary = "tries the others, takes the fastest and improves it",
		  .aliases = "auto",
		  .conf_size = sizeof(struct best_conf),
		  .options = options },
	.ahead = UINT32_MAX,
	.keep = keep,
};
