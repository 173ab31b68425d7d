/* round_robin: the accelerators in turn, op by op in the order. A rule of thumb to compare with: it balances counts and nothing else. */
#include "place/place_int.h"

#include <errno.h>

static int propose(const void *conf, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	struct stock *stocks = strata_arena_array(arena, problem->device_count, sizeof(*stocks));
	uint64_t among = draft_accelerators(problem);
	size_t count = (size_t)__builtin_popcountll(among);

	if (!stocks)
		return strata_fail_memory(err);
	budget_spend(budget, (int64_t)problem->op_count);
	for (size_t i = 0; i < problem->op_count; i++) {
		uint32_t op = problem->order[i], group = problem->group[op], device = 0;

		if (draft->device[op] != STRATA_NONE)
			continue;
		for (size_t skip = i % count, d = 0; d < problem->device_count; d++)
			if (among >> d & 1 && skip-- == 0) {
				device = (uint32_t)d;
				break;
			}
		if (!(problem->allowed[group] >> device & 1))
			device = draft_fastest(problem, stocks, group);
		if (device == STRATA_NONE || !stock_fits(problem, stocks, group, device))
			return strata_fail(
				err, -ENOSPC,
				"round_robin found no placement that fits the devices' memory");
		stock_put(problem, stocks, group, device);
		draft_put(problem, draft, group, device);
	}
	return 0;
}

const struct strata_strategy_class strata_strategy_round_robin = {
	.base = { .name = "round_robin", .aliases = "rr", .summary = "the accelerators in turn" },
	.propose = propose,
};
