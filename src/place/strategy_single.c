/* single: everything on the one device that does it best. What may not run there goes to the fastest that it may run on. */
#include "place/place_int.h"

#include <errno.h>

static bool put_all(const struct strata_place_problem *problem, size_t device, struct stock *stocks,
		    struct strata_place_draft *draft)
{
	for (size_t j = 0; j < problem->device_count; j++)
		stocks[j] = (struct stock){ 0 };
	for (size_t g = 0; g < problem->group_count; g++) {
		uint32_t where = (uint32_t)device;

		if (!(problem->allowed[g] >> device & 1))
			where = draft_fastest(problem, stocks, g);
		if (where == STRATA_NONE || !stock_fits(problem, stocks, g, where))
			return false;
		stock_put(problem, stocks, g, where);
		draft_put(problem, draft, g, where);
	}
	return true;
}

static int propose(const void *conf, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	struct stock *stocks = strata_arena_array(arena, problem->device_count, sizeof(*stocks));
	struct strata_place_meter *meter;
	uint32_t best = STRATA_NONE;
	double best_value = INFINITY;
	int rc = stocks ? strata_place_meter_new(problem, arena, &meter, err)
			: strata_fail_memory(err);

	if (rc)
		return rc;
	for (uint32_t d = 0; d < problem->device_count; d++) {
		budget_spend(budget, (int64_t)problem->op_count);
		if (problem->machine->devices[d].lost || !put_all(problem, d, stocks, draft))
			continue;
		double value = strata_place_meter_read(meter, draft, best_value);

		if (value < best_value) {
			best_value = value;
			best = d;
		}
	}
	if (best == STRATA_NONE)
		return strata_fail(err, -ENOSPC,
				   "no single device has enough memory for the model");
	put_all(problem, best, stocks, draft);
	return 0;
}

const struct strata_strategy_class strata_strategy_single = {
	.base = { .name = "single",
		  .aliases = "best_single, one",
		  .summary = "everything on the best single device" },
	.propose = propose,
};
