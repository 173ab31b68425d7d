/*
 * contiguous: every device gets one piece of the model. Stretches of the order first, for any devices; then, for a pipeline over devices that are
 * alike, the exact best of all pieces without a way out and back in, as far as the budget goes.
 */
#include "place/cut.h"

#include <errno.h>

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

/* The largest class is what a pipeline is built of. */
static size_t largest_class(const struct cut *cut)
{
	size_t best = 0;

	for (size_t c = 1; c < cut->class_count; c++)
		if (cut->class_size[c] > cut->class_size[best])
			best = c;
	return best;
}

static int propose(const void *conf_any, const struct strata_place_problem *problem,
		   const struct strata_place_draft *start, struct strata_place_budget *budget,
		   struct strata_arena *arena, struct strata_place_draft *draft,
		   struct strata_error *err)
{
	const struct contiguous_conf *conf = conf_any;
	struct cut cut;
	uint32_t *device = strata_arena_array(arena, problem->group_count, sizeof(*device));
	int rc = device ? cut_init(&cut, problem, (size_t)conf->blocks, arena, err)
			: strata_fail_memory(err);

	if (rc)
		return rc;
	double value = cut_lines(&cut, budget, arena, device);

	if (value < 0)
		return strata_fail_memory(err);
	if (isfinite(value))
		put_blocks(&cut, device, draft);
	size_t class = largest_class(&cut);

	if (conf->exact && problem->objective == STRATA_THROUGHPUT && cut.class_size[class] > 1) {
		double limit = value;

		if (start) { /* a better one from elsewhere leaves less to look through */
			double *loads =
				strata_arena_array(arena, problem->device_count, sizeof(*loads));

			if (!loads)
				return strata_fail_memory(err);
			limit = fmin(limit, simulate_loads(problem, start, loads));
		}
		double exact =
			cut_ideals(&cut, class, limit, budget->visits / 2, budget, arena, device);

		if (exact < 0)
			return strata_fail_memory(err);
		if (isfinite(exact))
			put_blocks(&cut, device, draft);
		value = fmin(value, exact);
	}
	if (!isfinite(value))
		return strata_fail(err, -ENOSPC, "no split into one piece for each device fits");
	return 0;
}

const struct strata_strategy_class strata_strategy_contiguous = {
	.base = { .name = "contiguous",
		  .aliases = "pipeline, split",
		  .summary = "one piece of the model for each device, the best such split",
		  .conf_size = sizeof(struct contiguous_conf),
		  .options = options },
	.propose = propose,
};
