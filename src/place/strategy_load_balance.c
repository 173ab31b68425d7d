/* load_balance: every group goes where the least has to be done once it is there. Balances time, knows nothing of what is moved. */
#include "place/place_int.h"

#include <errno.h>

static int propose(const void *conf, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	size_t count = problem->device_count;
	struct stock *stocks = strata_arena_array(arena, count, sizeof(*stocks));
	double *load = strata_arena_array(arena, count, sizeof(*load));

	if (!stocks || !load)
		return strata_fail_memory(err);
	budget_spend(budget, (int64_t)(problem->op_count * count));
	for (size_t g = 0; g < problem->group_count; g++) {
		double best = INFINITY;
		uint32_t where = STRATA_NONE;

		for (uint32_t d = 0; d < count; d++) {
			double with = stock_fits(problem, stocks, g, d)
					      ? load[d] + group_time(problem, g, d)
					      : INFINITY;

			if (with < best) {
				best = with;
				where = d;
			}
		}
		if (where == STRATA_NONE)
			return strata_fail(
				err, -ENOSPC,
				"load_balance found no placement that fits the devices' memory");
		load[where] = best;
		stock_put(problem, stocks, g, where);
		draft_put(problem, draft, g, where);
	}
	return 0;
}

const struct strata_strategy_class strata_strategy_load_balance = {
	.base = { .name = "load_balance",
		  .summary = "every op where the least has to be done with it" },
	.propose = propose,
};
