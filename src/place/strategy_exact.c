/* exact: branch and bound over all choices, for latency and small graphs (search_all.c). Ends at the budget with the best so far. */
#include "place/search.h"

#include <errno.h>

static int propose(const void *conf, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	bool proven;
	int rc = 0;

	if (problem->op_count > SEARCH_ALL_OPS_MAX || problem->objective != STRATA_LATENCY)
		return strata_fail(err, -ENOTSUP, "exact is for latency and up to %d ops",
				   SEARCH_ALL_OPS_MAX);
	if (start)
		draft_copy(problem, start, draft);
	else
		rc = heft_propose(problem, true, false, 0, problem->seed, budget, arena, draft,
				  err);
	return rc ? rc : search_all(problem, budget->visits, budget, arena, draft, &proven, err);
}

const struct strata_strategy_class strata_strategy_exact = {
	.base = { .name = "exact",
		  .aliases = "branch_and_bound",
		  .summary = "tries all choices, for latency and small graphs" },
	.propose = propose,
};
