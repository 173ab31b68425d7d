/* local_search: takes the best there is so far, or what HEFT or one device make of it, and improves it move by move (search_moves.c). */
#include "place/search.h"

#include <errno.h>

struct local_conf {
	int64_t seed;
};

static const struct strata_option options[] = {
	{ "seed", STRATA_INT, offsetof(struct local_conf, seed), .integer = { 0, 0, INT64_MAX },
	  .help = "of what is drawn" },
	{ 0 }
};

static int propose(const void *conf_any, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	const struct local_conf *conf = conf_any;
	uint64_t seed = problem->seed + (uint64_t)conf->seed;
	int rc = 0;

	if (start)
		draft_copy(problem, start, draft);
	else
		rc = heft_propose(problem, true, false, 0, seed, budget, arena, draft, err);
	return rc ? rc : search_moves(problem, budget->visits / 2, seed, budget, arena, draft, err);
}

const struct strata_strategy_class strata_strategy_local_search = {
	.base = { .name = "local_search",
		  .summary = "moves ops and stretches of ops as long as that helps",
		  .conf_size = sizeof(struct local_conf),
		  .options = options },
	.propose = propose,
};
