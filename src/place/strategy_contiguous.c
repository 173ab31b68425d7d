/*
 * contiguous: every device gets one piece of the model. Stretches of the order first, for any devices; then, for a pipeline, the exact best of all pieces without a way out and back in, as far as the budget goes.
 */
#include "place/cut.h"

#include <errno.h>

enum { EXACT_BLOCKS_MAX = 4096 };

struct contiguous_conf {
	int64_t blocks;
	bool exact;
};

static const struct strata_option options[] = {
	{ "blocks", STRATA_INT, offsetof(struct contiguous_conf, blocks),
	  .integer = { 768, 2, 4096 }, .help = "most pieces that the model is cut from" },
	{ "exact", STRATA_BOOL, offsetof(struct contiguous_conf, exact), .boolean = true,
	  .help = "look for the best of all pieces, not only stretches of the order" },
	{ 0 }
};

static void put_blocks(const struct cut *cut, const uint32_t *device,
		       struct strata_place_draft *draft)
{
	for (size_t g = 0; g < cut->problem->group_count; g++)
		draft_put(cut->problem, draft, g, device[cut->block_of[g]]);
}

/* So many that looking at all stretches takes a part of the budget; devices may all differ. */
static size_t blocks_for(const struct strata_place_problem *problem,
			 const struct contiguous_conf *conf,
			 const struct strata_place_budget *budget)
{
	double states = problem->device_count < 12 ? (double)(1u << problem->device_count) : 4096;
	double stretch = 4 + states * (double)problem->device_count / 8;
	double blocks = sqrt((double)budget->visits / 4 / stretch);

	return blocks < 16                     ? 16
	       : blocks > (double)conf->blocks ? (size_t)conf->blocks
					       : (size_t)blocks;
}

/* The exact best, where it is better than what is known already. */
static int split(const struct strata_place_problem *problem, const struct strata_place_draft *start,
		 double value, struct strata_place_budget *budget, struct strata_arena *arena,
		 struct strata_place_draft *draft, double *ret_value, struct strata_error *err)
{
	uint32_t *device = strata_arena_array(arena, problem->group_count, sizeof(*device));
	double *loads = strata_arena_array(arena, problem->device_count, sizeof(*loads));
	struct cut cut;
	int rc = device && loads ? cut_init(&cut, problem, 0, true, arena, err)
				 : strata_fail_memory(err);

	if (rc)
		return rc;
	*ret_value = value;
	if (cut.block_count > EXACT_BLOCKS_MAX)
		return 0;
	if (start)
		value = fmin(value, simulate_loads(problem, start, loads));
	if (cut_ideals(&cut, value, budget->visits / 3, budget, arena, device, &value))
		return strata_fail_memory(err);
	if (isfinite(value)) {
		put_blocks(&cut, device, draft);
		*ret_value = value;
	}
	return 0;
}

static int propose(const void *conf_any, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	const struct contiguous_conf *conf = conf_any;
	struct cut cut;
	uint32_t *device = strata_arena_array(arena, problem->group_count, sizeof(*device));
	int rc = device ? cut_init(&cut, problem, blocks_for(problem, conf, budget), false, arena,
				   err)
			: strata_fail_memory(err);

	if (rc)
		return rc;
	double value;

	if (cut_lines(&cut, budget, arena, device, &value))
		return strata_fail_memory(err);
	if (isfinite(value))
		put_blocks(&cut, device, draft);
	if (conf->exact && problem->objective == STRATA_THROUGHPUT)
		rc = split(problem, start, value, budget, arena, draft, &value, err);
	if (rc == 0 && !isfinite(value))
		return strata_fail(err, -ENOSPC, "no split into one piece for each device fits");
	return rc;
}

const struct strata_strategy_class strata_strategy_contiguous = {
	.base = { .name = "contiguous",
		  .aliases = "pipeline, split",
		  .summary = "one piece of the model for each device, the best such split",
		  .conf_size = sizeof(struct contiguous_conf),
		  .options = options },
	.propose = propose,
};
