/* sequential: devices are filled one after the other in the order of the model, each until its memory is full. The way most loaders do it, to
 * compare with: it knows of memory and of nothing else. */
#include "place/place_int.h"

#include <errno.h>

static int propose(const void *conf, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	struct stock *stocks = strata_arena_array(arena, problem->device_count, sizeof(*stocks));
	uint32_t device = 0;

	if (!stocks)
		return strata_fail_memory(err);
	budget_spend(budget, (int64_t)problem->op_count);
	for (size_t g = 0; g < problem->group_count; g++) {
		uint32_t where = device;

		while (where < problem->device_count && !stock_fits(problem, stocks, g, where))
			where++;
		if (where == problem->device_count) { /* a pin that points back */
			where = draft_fastest(problem, stocks, g);
			if (where == STRATA_NONE)
				return strata_fail(err, -ENOSPC,
						   "sequential found no placement that fits the "
						   "devices' memory");
		} else if (problem->allowed[g] >> device & 1) {
			device = where; /* it was full, not forbidden: never back */
		}
		stock_put(problem, stocks, g, where);
		draft_put(problem, draft, g, where);
	}
	return 0;
}

const struct strata_strategy_class strata_strategy_sequential = {
	.base = { .name = "sequential",
		  .aliases = "seqfill, accelerate",
		  .summary = "fills devices in turn, each until its memory is full" },
	.propose = propose,
};
