/* A meter: what a draft comes to by the problem's objective, with all its scratch allocated once, so that a search that tries thousands of
 * drafts allocates nothing. What does not fit is infinitely bad. */
#include "place/place_int.h"

#include <string.h>

#define SHARE_PER_NS 1e-12 /* of equal shares of memory the faster counts as less */
#define NO_LIMIT_BYTES 0x1p60

struct strata_place_meter {
	const struct strata_place_problem *problem;
	struct counter *counter;
	double *finish, *free_ns, *loads;
	struct stock *stocks;
	int64_t *peaks;
	bool activations; /* are limited */
};

int strata_place_meter_new(const struct strata_place_problem *problem, struct strata_arena *arena,
			   struct strata_place_meter **ret_meter, struct strata_error *err)
{
	size_t d = problem->device_count;
	struct strata_place_meter *meter = strata_arena_get(arena, sizeof(*meter));

	if (!meter)
		return strata_fail_memory(err);
	*meter = (struct strata_place_meter){
		.problem = problem,
		.counter = stock_counter_new(problem, arena),
		.finish = strata_arena_array(arena, problem->op_count, sizeof(double)),
		.free_ns = strata_arena_array(arena, d, sizeof(double)),
		.loads = strata_arena_array(arena, d, sizeof(double)),
		.stocks = strata_arena_array(arena, d, sizeof(struct stock)),
		.peaks = strata_arena_array(arena, d * STRATA_PHASE_COUNT, sizeof(int64_t)),
		.activations = stock_limits_activations(problem),
	};
	if (!meter->counter || !meter->finish || !meter->free_ns || !meter->loads ||
	    !meter->stocks || !meter->peaks)
		return strata_fail_memory(err);
	*ret_meter = meter;
	return 0;
}

static double share_of(const struct strata_place_meter *meter)
{
	double most = 0;

	for (size_t d = 0; d < meter->problem->device_count; d++) {
		int64_t has = meter->problem->machine->devices[d].capacity_bytes, peak = 0;

		for (size_t p = 0; p < STRATA_PHASE_COUNT; p++)
			if (meter->peaks[d * STRATA_PHASE_COUNT + p] > peak)
				peak = meter->peaks[d * STRATA_PHASE_COUNT + p];
		double used = (double)(meter->stocks[d].weights + meter->stocks[d].kv + peak);

		most = fmax(most, used / (has > 0 ? (double)has : NO_LIMIT_BYTES));
	}
	return most;
}

double strata_place_meter_read(struct strata_place_meter *meter,
			       const struct strata_place_draft *draft, double cutoff)
{
	const struct strata_place_problem *problem = meter->problem;
	enum strata_objective objective = problem->objective;
	double value;

	draft_stocks(problem, draft, meter->stocks);
	for (size_t d = 0; d < problem->device_count; d++)
		if (!stock_holds(problem, &meter->stocks[d], d))
			return INFINITY;
	if (objective == STRATA_THROUGHPUT)
		value = simulate_loads(problem, draft, meter->loads);
	else
		value = simulate_latency(problem, draft,
					 objective == STRATA_LATENCY ? cutoff : INFINITY, NULL,
					 meter->finish, meter->free_ns);
	if (objective != STRATA_MEMORY && (value >= cutoff || !meter->activations))
		return value;
	/* the dear part comes only for what would be taken */
	stock_count(meter->counter, draft, meter->peaks);
	if (!stock_holds_activations(problem, meter->stocks, meter->peaks, NULL, NULL))
		return INFINITY;
	return objective == STRATA_MEMORY ? share_of(meter) + SHARE_PER_NS * value : value;
}
