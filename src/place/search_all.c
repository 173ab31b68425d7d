/*
 * Branch and bound: every choice of device, and of order where that is free, for small graphs. A branch is left when what it comes to at least
 * (the longest way from any op placed, or all work spread evenly) is no better than the best known. Orders are listed by start, so that each
 * schedule comes once; of devices that are alike and empty only the first is tried.
 */
#include "place/search.h"

#include <errno.h>
#include <string.h>

struct all {
	const struct strata_place_problem *problem;
	struct strata_place_budget *budget;
	struct strata_place_meter *meter;
	struct strata_place_draft now, *best;
	double best_value;
	double *finish, *free_ns, *tail, *shortest;
	uint32_t *missing; /* ops that one still waits for */
	uint32_t *used;    /* ops on a device */
	uint32_t *alike;   /* of each device: the first that is like it */
	struct stock *stocks;
	double left; /* shortest times of what is not placed */
	int64_t end;
	bool stopped;
};

static bool devices_alike(const struct strata_place_problem *problem, size_t a, size_t b)
{
	size_t d = problem->device_count;
	const struct strata_device *x = &problem->machine->devices[a],
				   *y = &problem->machine->devices[b];

	for (size_t i = 0; i < problem->op_count; i++)
		if (problem->times[i * d + a] != problem->times[i * d + b] ||
		    (problem->kv_move_ns &&
		     problem->kv_move_ns[i * d + a] != problem->kv_move_ns[i * d + b]))
			return false;
	if (problem->ns_per_byte[a * d + b] != problem->ns_per_byte[b * d + a] ||
	    problem->latency_ns[a * d + b] != problem->latency_ns[b * d + a])
		return false;
	for (size_t j = 0; j < d; j++) {
		size_t aj = a * d + j, bj = b * d + j, ja = j * d + a, jb = j * d + b;

		if (j != a && j != b &&
		    (problem->ns_per_byte[aj] != problem->ns_per_byte[bj] ||
		     problem->ns_per_byte[ja] != problem->ns_per_byte[jb] ||
		     problem->latency_ns[aj] != problem->latency_ns[bj] ||
		     problem->latency_ns[ja] != problem->latency_ns[jb]))
			return false;
	}
	for (size_t g = 0; g < problem->group_count; g++)
		if ((problem->allowed[g] >> a & 1) != (problem->allowed[g] >> b & 1))
			return false;
	return x->capacity_bytes == y->capacity_bytes &&
	       x->weight_bytes_max == y->weight_bytes_max && x->kv_bytes_max == y->kv_bytes_max &&
	       x->transfers_free == y->transfers_free &&
	       memcmp(x->activation_bytes_max, y->activation_bytes_max,
		      sizeof(x->activation_bytes_max)) == 0;
}

static void find_tails(struct all *all)
{
	const struct strata_place_problem *problem = all->problem;
	size_t d = problem->device_count;

	for (size_t i = problem->op_count; i-- > 0;) {
		uint32_t op = problem->order[i];

		all->shortest[op] = INFINITY;
		for (size_t j = 0; j < d; j++)
			all->shortest[op] = fmin(all->shortest[op], problem->times[op * d + j]);
		all->left += all->shortest[op];
		for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++) {
			double *tail = &all->tail[problem->in_from[e]];

			*tail = fmax(*tail, all->shortest[op] + all->tail[op]);
			all->missing[op]++;
		}
	}
}

static double start_of(const struct all *all, uint32_t op, uint32_t device)
{
	const struct strata_place_problem *problem = all->problem;
	double start = all->free_ns[device];

	for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++) {
		uint32_t from = problem->in_from[e];

		start = fmax(start,
			     all->finish[from] + place_move_ns(problem, all->now.device[from],
							       device, problem->in_bytes[e],
							       problem->in_cost_ns[e]));
	}
	if (problem->kv_move_ns)
		start = fmax(start, problem->kv_move_ns[op * problem->device_count + device]);
	return start;
}

static void visit(struct all *all, size_t depth, double last_start, double last_finish);

/* Puts an op on a device, goes on, takes it back. */
static void branch(struct all *all, size_t depth, uint32_t op, uint32_t device, double start,
		   double last_finish)
{
	const struct strata_place_problem *problem = all->problem;
	const struct strata_graph *graph = problem->graph;
	uint32_t group = problem->group[op];
	bool first = all->now.device[op] == STRATA_NONE;
	double free_before = all->free_ns[device];
	double finish = start + problem->times[op * problem->device_count + device];

	if (first) {
		stock_put(problem, all->stocks, group, device);
		draft_put(problem, &all->now, group, device);
	}
	all->now.order[depth] = op;
	all->finish[op] = all->free_ns[device] = finish;
	all->left -= all->shortest[op];
	all->used[device]++;
	for (uint32_t e = graph->out_first[op]; e < graph->out_first[op + 1]; e++)
		all->missing[graph->edges[e].to]--;
	all->missing[op] = UINT32_MAX; /* placed */
	visit(all, depth + 1, start, fmax(last_finish, finish));
	all->missing[op] = 0;
	for (uint32_t e = graph->out_first[op]; e < graph->out_first[op + 1]; e++)
		all->missing[graph->edges[e].to]++;
	all->used[device]--;
	all->left += all->shortest[op];
	all->free_ns[device] = free_before;
	if (first) {
		stock_take(problem, all->stocks, group, device);
		draft_put(problem, &all->now, group, STRATA_NONE);
	}
}

/* At least what remains takes, if an op starts then there. */
static bool hopeless(const struct all *all, uint32_t op, uint32_t device, double start)
{
	const struct strata_place_problem *problem = all->problem;
	double time = problem->times[op * problem->device_count + device];
	double limit = all->best_value * (1 - 1e-12), sum = all->left - all->shortest[op];

	if (start + time + all->tail[op] >= limit)
		return true;
	for (size_t j = 0; j < problem->device_count; j++)
		sum += j == device ? start + time : all->free_ns[j];
	return sum / (double)problem->device_count >= limit;
}

static void try_op(struct all *all, size_t depth, uint32_t op, double last_start,
		   double last_finish)
{
	const struct strata_place_problem *problem = all->problem;
	uint32_t fixed = all->now.device[op];

	for (uint32_t device = 0; device < problem->device_count && !all->stopped; device++) {
		if (fixed != STRATA_NONE
			    ? fixed != device
			    : !stock_fits(problem, all->stocks, problem->group[op], device))
			continue;
		bool twin = false;

		for (uint32_t j = all->alike[device]; j < device; j++)
			twin |= all->alike[j] == all->alike[device] && !all->used[j];
		if (twin && !all->used[device] && fixed == STRATA_NONE)
			continue;
		double start = start_of(all, op, device);

		if ((!problem->fixed_order && start < last_start) ||
		    hopeless(all, op, device, start))
			continue;
		branch(all, depth, op, device, start, last_finish);
	}
}

static void visit(struct all *all, size_t depth, double last_start, double last_finish)
{
	const struct strata_place_problem *problem = all->problem;

	all->budget->visits -= 2;
	if (all->budget->visits <= all->end || all->budget->visits <= 0) {
		all->stopped = true;
		return;
	}
	if (depth == problem->op_count) {
		double value = strata_place_meter_read(all->meter, &all->now, all->best_value);

		if (value < all->best_value * (1 - 1e-12)) {
			all->best_value = value;
			draft_copy(problem, &all->now, all->best);
		}
		return;
	}
	if (problem->fixed_order) {
		try_op(all, depth, problem->order[depth], last_start, last_finish);
		return;
	}
	for (uint32_t op = 0; op < problem->op_count && !all->stopped; op++)
		if (all->missing[op] == 0)
			try_op(all, depth, op, last_start, last_finish);
}

static int begin(struct all *all, struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_place_problem *problem = all->problem;
	size_t n = problem->op_count, d = problem->device_count;
	int rc = draft_make(problem, arena, &all->now, err);

	all->finish = strata_arena_array(arena, n, sizeof(double));
	all->tail = strata_arena_array(arena, n, sizeof(double));
	all->shortest = strata_arena_array(arena, n, sizeof(double));
	all->free_ns = strata_arena_array(arena, d, sizeof(double));
	all->missing = strata_arena_array(arena, n, sizeof(uint32_t));
	all->used = strata_arena_array(arena, d, sizeof(uint32_t));
	all->alike = strata_arena_array(arena, d, sizeof(uint32_t));
	all->stocks = strata_arena_array(arena, d, sizeof(struct stock));
	if (rc == 0 && (!all->finish || !all->tail || !all->shortest || !all->free_ns ||
			!all->missing || !all->used || !all->alike || !all->stocks))
		rc = strata_fail_memory(err);
	return rc ? rc : strata_place_meter_new(problem, arena, &all->meter, err);
}

int search_all(const struct strata_place_problem *problem, int64_t visits,
	       struct strata_place_budget *budget, struct strata_arena *arena,
	       struct strata_place_draft *draft, bool *ret_proven, struct strata_error *err)
{
	struct all all = {
		.problem = problem, .budget = budget, .best = draft, .end = budget->visits - visits
	};
	int rc = begin(&all, arena, err);

	if (rc)
		return rc;
	*ret_proven = false;
	if (problem->op_count > SEARCH_ALL_OPS_MAX || problem->objective != STRATA_LATENCY)
		return 0;
	find_tails(&all);
	for (uint32_t j = 0; j < problem->device_count; j++)
		for (all.alike[j] = 0; !devices_alike(problem, all.alike[j], j);)
			all.alike[j]++;
	all.best_value = strata_place_meter_read(all.meter, draft, INFINITY);
	visit(&all, 0, 0, 0);
	*ret_proven = !all.stopped;
	return 0;
}
