/*
 * Searching orders: ops are taken in an order and each goes where it ends first. Without transfers every best schedule comes from some order, so
 * this is the smaller space to search. It begins from jittered ranks and goes on by moving ops within the order, worse orders being taken
 * less and less often.
 */
#include "place/search.h"

#include "core/real.h"

#include <strata/rng.h>

#include <errno.h>
#include <string.h>

#define HOT 0.02
#define COLD 0.0001
enum { JITTERED = 24 };

struct orders {
	const struct strata_place_problem *problem;
	struct strata_place_budget *budget;
	struct strata_place_meter *meter;
	struct strata_place_draft now, *best;
	double value, best_value, floor; /* floor: nothing is better */
	struct stock *stocks;
	uint32_t *position;
	double *finish, *free_ns;
	int64_t end;
	struct strata_rng rng;
};

static double ready_at(const struct orders *orders, uint32_t op, uint32_t device)
{
	const struct strata_place_problem *problem = orders->problem;
	double ready = orders->free_ns[device];

	for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++) {
		uint32_t from = problem->in_from[e];
		double there = orders->finish[from];

		if (orders->now.device[from] != device)
			there += place_move_ns(problem, orders->now.device[from], device,
					       problem->in_bytes[e], problem->in_cost_ns[e]);
		ready = fmax(ready, there);
	}
	if (problem->kv_move_ns)
		ready = fmax(ready, problem->kv_move_ns[op * problem->device_count + device]);
	return ready;
}

/* Every op in its turn to where it ends first; infinite when one has no room, or past the limit. */
static double decode(struct orders *orders, double limit)
{
	const struct strata_place_problem *problem = orders->problem;
	size_t n = problem->op_count, d = problem->device_count;
	double last = 0;

	orders->budget->visits -= (int64_t)(n * d) / 2;
	memset(orders->stocks, 0, d * sizeof(*orders->stocks));
	memset(orders->free_ns, 0, d * sizeof(*orders->free_ns));
	memset(orders->now.device, 0xff, n * sizeof(*orders->now.device));
	for (size_t i = 0; i < n; i++) {
		uint32_t op = orders->now.order[i], group = problem->group[op];
		uint32_t where = STRATA_NONE, fixed = orders->now.device[op];
		double best = INFINITY;

		for (uint32_t j = 0; j < d; j++) {
			if (fixed != STRATA_NONE ? fixed != j
						 : !stock_fits(problem, orders->stocks, group, j))
				continue;
			double end = ready_at(orders, op, j) + problem->times[op * d + j];

			if (end < best) {
				best = end;
				where = j;
			}
		}
		if (where == STRATA_NONE || best >= limit)
			return INFINITY;
		if (fixed == STRATA_NONE) {
			stock_put(problem, orders->stocks, group, where);
			draft_put(problem, &orders->now, group, where);
		}
		orders->free_ns[where] = orders->finish[op] = best;
		last = fmax(last, best);
	}
	return last;
}

static void keep(struct orders *orders, double value)
{
	orders->value = value;
	if (value >= orders->best_value * (1 - 1e-12))
		return;
	value = strata_place_meter_read(orders->meter, &orders->now, orders->best_value);
	if (value >= orders->best_value * (1 - 1e-12))
		return;
	orders->best_value = value;
	draft_copy(orders->problem, &orders->now, orders->best);
}

/* Some orders to begin with: by rank, jittered more and more. */
static int begin_somewhere(struct orders *orders, uint64_t seed, struct strata_arena *arena,
			   struct strata_error *err)
{
	const struct strata_place_problem *problem = orders->problem;
	struct strata_place_draft draft;
	struct strata_arena scratch;
	double best = INFINITY;
	int rc = draft_make(problem, arena, &draft, err);

	strata_arena_init(&scratch, arena->memory, 0);
	int64_t half = orders->budget->visits - (orders->budget->visits - orders->end) / 2;

	for (int i = 0; i <= JITTERED && rc == 0 && orders->budget->visits >= half; i++) {
		memset(draft.device, 0xff, problem->op_count * sizeof(*draft.device));
		rc = heft_propose(problem, true, false, 0.08 * i, seed + (uint64_t)i,
				  orders->budget, &scratch, &draft, err);
		strata_arena_reset(&scratch);
		if (rc == -ENOSPC) {
			rc = 0;
			continue;
		}
		if (rc)
			break;
		draft_copy(problem, &draft, &orders->now);
		double value = strata_place_meter_read(orders->meter, &orders->now, INFINITY);

		keep(orders, value); /* its gaps are filled, which an order alone may not do */
		value = decode(orders, INFINITY);
		keep(orders, value);
		if (value < best) {
			best = value;
			search_positions(problem, orders->now.order, orders->position);
		}
	}
	strata_arena_fini(&scratch);
	if (rc == 0 && isfinite(best)) { /* back to the best of them */
		for (uint32_t i = 0; i < problem->op_count; i++)
			orders->now.order[orders->position[i]] = i;
		orders->value = decode(orders, INFINITY);
	}
	return rc;
}

static void anneal(struct orders *orders)
{
	const struct strata_place_problem *problem = orders->problem;
	int64_t first_visits = orders->budget->visits, total = first_visits - orders->end;
	double scale = orders->value;

	while (orders->budget->visits > orders->end && orders->budget->visits > 0 &&
	       orders->best_value > orders->floor) {
		double done = (double)(first_visits - orders->budget->visits) / (double)total;
		double temperature = scale * HOT * real_exp2(real_log2(COLD / HOT) * done);

		for (int i = 0; i < 16; i++) {
			uint32_t op = (uint32_t)strata_rng_below(&orders->rng, problem->op_count);
			uint32_t from = orders->position[op], first, last;
			double random = strata_rng_real(&orders->rng);

			search_span(problem, orders->position, op, &first, &last);
			uint32_t to = first +
				      (uint32_t)strata_rng_below(&orders->rng, last - first + 1);

			orders->budget->visits--;
			if (from == to)
				continue;
			search_shift(orders->now.order, orders->position, from, to);
			double limit = orders->value +
				       (random > 0 ? -temperature * real_log2(random) : 0);
			double value = decode(orders, limit);

			if (value < limit || value == orders->value)
				keep(orders, value);
			else
				search_shift(orders->now.order, orders->position, to, from);
		}
		if (orders->budget->expired && orders->budget->expired(orders->budget->context))
			orders->budget->visits = 0;
	}
}

int search_orders(const struct strata_place_problem *problem, int64_t visits, uint64_t seed,
		  struct strata_place_budget *budget, struct strata_arena *arena,
		  struct strata_place_draft *draft, struct strata_error *err)
{
	size_t n = problem->op_count, d = problem->device_count;
	struct orders orders = { .problem = problem,
				 .budget = budget,
				 .best = draft,
				 .stocks = strata_arena_array(arena, d, sizeof(struct stock)),
				 .position = strata_arena_array(arena, n, sizeof(uint32_t)),
				 .finish = strata_arena_array(arena, n, sizeof(double)),
				 .free_ns = strata_arena_array(arena, d, sizeof(double)),
				 .end = budget->visits - visits };
	int rc = draft_make(problem, arena, &orders.now, err);

	if (rc == 0 && (!orders.stocks || !orders.position || !orders.finish || !orders.free_ns))
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = strata_place_meter_new(problem, arena, &orders.meter, err);
	if (rc)
		return rc;
	strata_rng_init(&orders.rng, seed, 2);
	orders.best_value = strata_place_meter_read(orders.meter, draft, INFINITY);
	orders.value = INFINITY;
	orders.floor = draft_floor(problem, orders.finish) * (1 + 1e-12);
	rc = begin_somewhere(&orders, seed, arena, err);
	if (rc == 0 && isfinite(orders.value))
		anneal(&orders);
	return rc;
}
