/* Drafts: a device for every op and an order, while strategies work on them. Small things that most strategies do. */
#include "place/place_int.h"

#include <string.h>

int draft_make(const struct strata_place_problem *problem, struct strata_arena *arena,
	       struct strata_place_draft *ret_draft, struct strata_error *err)
{
	size_t n = problem->op_count;
	uint32_t *device = strata_arena_array(arena, n, sizeof(*device));
	uint32_t *order = strata_arena_array(arena, n, sizeof(*order));

	if (!device || !order)
		return strata_fail_memory(err);
	memset(device, 0xff, n * sizeof(*device));
	memcpy(order, problem->order, n * sizeof(*order));
	*ret_draft = (struct strata_place_draft){ device, order };
	return 0;
}

void draft_copy(const struct strata_place_problem *problem, const struct strata_place_draft *from,
		struct strata_place_draft *to)
{
	memcpy(to->device, from->device, problem->op_count * sizeof(*to->device));
	memcpy(to->order, from->order, problem->op_count * sizeof(*to->order));
}

void draft_put(const struct strata_place_problem *problem, struct strata_place_draft *draft,
	       size_t group, size_t device)
{
	for (uint32_t k = problem->group_first[group]; k < problem->group_first[group + 1]; k++)
		draft->device[problem->group_ops[k]] = (uint32_t)device;
}

void draft_stocks(const struct strata_place_problem *problem,
		  const struct strata_place_draft *draft, struct stock *ret_stocks)
{
	memset(ret_stocks, 0, problem->device_count * sizeof(*ret_stocks));
	for (size_t g = 0; g < problem->group_count; g++)
		stock_put(problem, ret_stocks, g,
			  draft->device[problem->group_ops[problem->group_first[g]]]);
}

bool budget_spend(struct strata_place_budget *budget, int64_t visits)
{
	budget->visits -= visits;
	if (budget->visits > 0 && budget->expired && budget->expired(budget->context))
		budget->visits = 0;
	return budget->visits <= 0;
}

double group_time(const struct strata_place_problem *problem, size_t group, size_t device)
{
	double sum = 0;

	for (uint32_t k = problem->group_first[group]; k < problem->group_first[group + 1]; k++)
		sum += problem->times[problem->group_ops[k] * problem->device_count + device];
	return sum;
}

uint32_t draft_fastest(const struct strata_place_problem *problem, const struct stock *stocks,
		       size_t group)
{
	uint32_t best = STRATA_NONE;
	double best_time = INFINITY;

	for (uint32_t d = 0; d < problem->device_count; d++) {
		double time = stock_fits(problem, stocks, group, d) ? group_time(problem, group, d)
								    : INFINITY;

		if (time < best_time) {
			best_time = time;
			best = d;
		}
	}
	return best;
}

double draft_floor(const struct strata_place_problem *problem, double *scratch)
{
	size_t d = problem->device_count;
	double longest = 0, sum = 0;

	if (problem->objective != STRATA_LATENCY)
		return 0;
	for (size_t i = 0; i < problem->op_count; i++) {
		uint32_t op = problem->order[i];
		double time = INFINITY, begin = 0;

		for (size_t j = 0; j < d; j++)
			time = fmin(time, problem->times[op * d + j]);
		for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++)
			begin = fmax(begin, scratch[problem->in_from[e]]);
		scratch[op] = begin + time;
		longest = fmax(longest, scratch[op]);
		sum += time;
	}
	return fmax(longest, sum / (double)d);
}

uint64_t draft_accelerators(const struct strata_place_problem *problem)
{
	uint64_t all = 0, fast = 0;

	for (size_t d = 0; d < problem->device_count; d++) {
		const struct strata_device *device = &problem->machine->devices[d];

		if (device->lost)
			continue;
		all |= UINT64_C(1) << d;
		if (!device->kind || strcmp(device->kind, "cpu") != 0)
			fast |= UINT64_C(1) << d;
	}
	return fast ? fast : all;
}
