/* Does a draft keep all rules? Every op on a device that it may run on, groups together, an order in which each op stands behind what it needs,
 * memory within every budget. It knows nothing of how drafts are made. */
#include "place/place_int.h"

#include <strata/text.h>

#include <errno.h>

static int check_devices(const struct strata_place_problem *problem,
			 const struct strata_place_draft *draft, struct strata_error *err)
{
	const struct strata_op *ops = problem->graph->ops;

	for (size_t i = 0; i < problem->op_count; i++) {
		uint32_t device = draft->device[i];
		size_t group = problem->group[i];
		uint32_t first = problem->group_ops[problem->group_first[group]];

		if (device >= problem->device_count || !(problem->allowed[group] >> device & 1))
			return strata_fail(
				err, -EINVAL,
				"op \"%.64s\" (%zu) is on device %d, where it may not run",
				ops[i].name, i, (int)device);
		if (draft->device[first] != device)
			return strata_fail(err, -EINVAL,
					   "ops \"%.64s\" and \"%.64s\" must be on one device",
					   ops[first].name, ops[i].name);
	}
	return 0;
}

static int check_order(const struct strata_place_problem *problem,
		       const struct strata_place_draft *draft, struct strata_arena *arena,
		       struct strata_error *err)
{
	size_t n = problem->op_count;
	uint32_t *position = strata_arena_array(arena, n, sizeof(*position));

	if (!position)
		return strata_fail_memory(err);
	for (size_t i = 0; i < n; i++) {
		if (draft->order[i] >= n || position[draft->order[i]])
			return strata_fail(err, -EINVAL, "the order has op %u twice, or no such op",
					   draft->order[i]);
		if (problem->fixed_order && draft->order[i] != problem->order[i])
			return strata_fail(err, -EINVAL, "the order is fixed; op %u is at %zu",
					   draft->order[i], i);
		position[draft->order[i]] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < n; i++)
		for (uint32_t e = problem->in_first[i]; e < problem->in_first[i + 1]; e++)
			if (position[problem->in_from[e]] > position[i])
				return strata_fail(
					err, -EINVAL,
					"op %zu comes before op %u, whose result it needs", i,
					problem->in_from[e]);
	return 0;
}

static int check_memory(const struct strata_place_problem *problem,
			const struct strata_place_draft *draft, struct strata_arena *arena,
			struct strata_error *err)
{
	size_t d = problem->device_count, where = 0, phase = 0;
	struct stock *stocks = strata_arena_array(arena, d, sizeof(*stocks));
	int64_t *peaks = strata_arena_array(arena, d * STRATA_PHASE_COUNT, sizeof(*peaks));
	char text[STRATA_FORM_BYTES];

	if (!stocks || !peaks || stock_activations(problem, draft, arena, peaks))
		return strata_fail_memory(err);
	draft_stocks(problem, draft, stocks);
	for (size_t j = 0; j < d; j++)
		if (!stock_holds(problem, &stocks[j], j))
			return strata_fail(
				err, -ENOSPC,
				"device %s has no room for the %s of weights and KV state on it",
				problem->machine->devices[j].name,
				strata_size_print_short(stocks[j].weights + stocks[j].kv, text));
	if (!stock_holds_activations(problem, stocks, peaks, &where, &phase))
		return strata_fail(
			err, -ENOSPC, "device %s has no room for %s of activations in phase %s",
			problem->machine->devices[where].name,
			strata_size_print_short(peaks[where * STRATA_PHASE_COUNT + phase], text),
			strata_phase_name((enum strata_phase)phase));
	return 0;
}

int check_draft(const struct strata_place_problem *problem, const struct strata_place_draft *draft,
		struct strata_arena *arena, struct strata_error *err)
{
	int rc = check_devices(problem, draft, err);

	if (rc == 0)
		rc = check_order(problem, draft, arena, err);
	return rc ? rc : check_memory(problem, draft, arena, err);
}
