/* Searches that strategies and the portfolio begin from drafts of their own. */
#ifndef PLACE_SEARCH_H
#define PLACE_SEARCH_H

#include "place/place_int.h"

/* Improves a whole draft that fits, with at most so many visits of the budget: moves of ops, of stretches of the order, and of the order. */
int search_moves(const struct strata_place_problem *problem, int64_t visits, uint64_t seed,
		 struct strata_place_budget *budget, struct strata_arena *arena,
		 struct strata_place_draft *draft, struct strata_error *err);

/* Searches orders, each op going where it ends first: for graphs whose order is free. draft comes filled and is replaced when something
 * better is found. */
int search_orders(const struct strata_place_problem *problem, int64_t visits, uint64_t seed,
		  struct strata_place_budget *budget, struct strata_arena *arena,
		  struct strata_place_draft *draft, struct strata_error *err);

/* Branch and bound over all choices; ret_proven: it came to the end, so nothing is better. draft comes filled. */
int search_all(const struct strata_place_problem *problem, int64_t visits,
	       struct strata_place_budget *budget, struct strata_arena *arena,
	       struct strata_place_draft *draft, bool *ret_proven, struct strata_error *err);

enum { SEARCH_ALL_OPS_MAX = 32 };

/* Where each op of an order stands. */
static inline void search_positions(const struct strata_place_problem *problem,
				    const uint32_t *order, uint32_t *ret_position)
{
	for (uint32_t i = 0; i < problem->op_count; i++)
		ret_position[order[i]] = i;
}

/* Moves the op at `from` to `to` and those between by one. */
static inline void search_shift(uint32_t *order, uint32_t *position, uint32_t from, uint32_t to)
{
	uint32_t op = order[from];

	for (; from < to; from++)
		position[order[from] = order[from + 1]] = from;
	for (; from > to; from--)
		position[order[from] = order[from - 1]] = from;
	order[to] = op;
	position[op] = to;
}

/* The places an op may have: behind what it needs, before what needs it. */
void search_span(const struct strata_place_problem *problem, const uint32_t *position, uint32_t op,
		 uint32_t *ret_first, uint32_t *ret_last);

#endif
