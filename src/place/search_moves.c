/*
 * Local search. First every stretch of the order on every device, as long as that helps: what one move cannot reach is often a stretch of
 * neighbours that must go together. Then annealing: random moves of groups, stretches and places in the order, worse ones taken less and less
 * often. Loads of a pipeline are kept up to date move by move, other objectives are measured anew. The best draft seen is what remains.
 */
#include "place/search.h"

#include "core/real.h"

#include <strata/rng.h>

#include <errno.h>
#include <string.h>

#define HOT 0.05    /* of the value: how much worse is taken at first, */
#define COLD 0.0002 /* and at last */
#define SPREAD 0.02 /* what the sum of loads counts beside the largest */

struct undo {
	uint32_t group, device;
};

struct search {
	const struct strata_place_problem *problem;
	struct strata_place_budget *budget;
	struct strata_place_meter *meter;
	struct loads loads;
	bool pipelined;
	struct strata_place_draft now, *best;
	double value, best_value, floor; /* floor: nothing is better */
	struct stock *stocks;
	uint32_t *position;
	struct undo *undo;
	size_t undo_count;
	int64_t end; /* of the budget's visits: where to stop */
	int64_t touched;
	struct strata_rng rng;
};

void search_span(const struct strata_place_problem *problem, const uint32_t *position, uint32_t op,
		 uint32_t *ret_first, uint32_t *ret_last)
{
	const struct strata_graph *graph = problem->graph;
	uint32_t first = 0, last = (uint32_t)problem->op_count - 1;

	for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++)
		if (position[problem->in_from[e]] + 1 > first)
			first = position[problem->in_from[e]] + 1;
	for (uint32_t e = graph->out_first[op]; e < graph->out_first[op + 1]; e++)
		if (position[graph->edges[e].to] - 1 < last)
			last = position[graph->edges[e].to] - 1;
	*ret_first = first;
	*ret_last = last;
}

/* ---- moves ---- */

static uint32_t device_of(const struct search *search, size_t group)
{
	return search->now.device[search->problem->group_ops[search->problem->group_first[group]]];
}

static void set_group(struct search *search, size_t group, uint32_t device)
{
	const struct strata_place_problem *problem = search->problem;

	stock_take(problem, search->stocks, group, device_of(search, group));
	stock_put(problem, search->stocks, group, device);
	if (search->pipelined)
		for (uint32_t k = problem->group_first[group]; k < problem->group_first[group + 1];
		     k++)
			search->touched +=
				(int64_t)loads_move(&search->loads, problem->group_ops[k], device);
	draft_put(problem, &search->now, group, device);
}

static bool try_group(struct search *search, size_t group, uint32_t device)
{
	uint32_t old = device_of(search, group);

	if (old == device || !stock_fits(search->problem, search->stocks, group, device))
		return false;
	search->undo[search->undo_count++] = (struct undo){ (uint32_t)group, old };
	set_group(search, group, device);
	return true;
}

static void try_stretch(struct search *search, size_t first, size_t count, uint32_t device)
{
	for (size_t i = first; i < first + count; i++)
		try_group(search, search->problem->group[search->now.order[i]], device);
}

static void take_back(struct search *search)
{
	while (search->undo_count) {
		struct undo *undo = &search->undo[--search->undo_count];

		set_group(search, undo->group, undo->device);
	}
}

/* ---- values ---- */

static double pipeline_value(const struct search *search)
{
	size_t d = search->problem->device_count;
	double sum = 0, most = 0;

	for (size_t j = 0; j < d; j++) {
		sum += search->loads.load[j];
		most = fmax(most, search->loads.load[j]);
	}
	return most + SPREAD * sum / (double)d;
}

static double measure(struct search *search, double cutoff)
{
	int64_t visits = search->touched * (int64_t)(4 + search->problem->device_count) / 4 + 1;

	search->touched = 0;
	if (!search->pipelined)
		visits += (int64_t)search->problem->op_count;
	search->budget->visits -= visits;
	if (search->pipelined)
		return pipeline_value(search);
	return strata_place_meter_read(search->meter, &search->now, cutoff);
}

static bool over(struct search *search)
{
	struct strata_place_budget *budget = search->budget;

	if (budget->visits > 0 && budget->expired && budget->expired(budget->context))
		budget->visits = 0;
	return budget->visits <= search->end || budget->visits <= 0 ||
	       search->best_value <= search->floor;
}

/* The draft as it is counts from now on; it is the best when it is. */
static void keep(struct search *search, double value)
{
	search->value = value;
	search->undo_count = 0;
	double true_value = search->pipelined ? loads_most(&search->loads) : value;

	if (true_value >= search->best_value * (1 - 1e-12))
		return;
	if (search->pipelined) /* sums that were added to and taken from are not exact; and activations count */
		true_value =
			strata_place_meter_read(search->meter, &search->now, search->best_value);
	if (true_value >= search->best_value * (1 - 1e-12))
		return;
	search->best_value = true_value;
	draft_copy(search->problem, &search->now, search->best);
}

static bool settle(struct search *search, double limit)
{
	double value = search->undo_count ? measure(search, limit) : INFINITY;

	if (value < limit) {
		keep(search, value);
		return true;
	}
	take_back(search);
	return false;
}

/* ---- descent ---- */

/* All stretches of a length, on all devices. Whether one helped. */
static bool sweep(struct search *search, size_t length, size_t stride)
{
	size_t n = search->problem->op_count;
	bool helped = false;

	for (size_t first = 0; first < n; first += stride) {
		size_t count = first + length <= n ? length : n - first;

		for (uint32_t d = 0; d < search->problem->device_count; d++) {
			try_stretch(search, first, count, d);
			helped |= settle(search, search->value * (1 - 1e-9));
		}
		if (over(search))
			return false;
	}
	return helped;
}

static void descend(struct search *search)
{
	size_t n = search->problem->op_count;
	bool helped = true, all = n <= 64;

	while (helped && !over(search)) {
		helped = false;
		for (size_t length = n; length > 0; length = all ? length - 1 : length / 2)
			helped |= sweep(search, length, all || length < 4 ? 1 : length / 2);
	}
}

/* ---- annealing ---- */

static uint32_t random_device(struct search *search)
{
	return (uint32_t)strata_rng_below(&search->rng, search->problem->device_count);
}

/* A stretch goes to where its neighbour before or behind it is, or anywhere. */
static void random_stretch(struct search *search)
{
	size_t n = search->problem->op_count, longest = n / 2 + 1;
	size_t first = strata_rng_below(&search->rng, n), count = 1;
	uint32_t device = random_device(search);

	while (count < longest && strata_rng_below(&search->rng, 3))
		count *= 2;
	count = 1 + strata_rng_below(&search->rng, count);
	if (first + count > n)
		count = n - first;
	if (first && strata_rng_below(&search->rng, 3) == 0)
		device = search->now.device[search->now.order[first - 1]];
	else if (first + count < n && strata_rng_below(&search->rng, 2))
		device = search->now.device[search->now.order[first + count]];
	try_stretch(search, first, count, device);
}

static void random_swap(struct search *search)
{
	size_t a = strata_rng_below(&search->rng, search->problem->group_count);
	size_t b = strata_rng_below(&search->rng, search->problem->group_count);
	uint32_t on_a = device_of(search, a), on_b = device_of(search, b);

	if (a != b && on_a != on_b && try_group(search, a, on_b))
		try_group(search, b, on_a);
}

/* An op to another place of the order, and perhaps to another device. */
static void anneal_order(struct search *search, double heat)
{
	uint32_t op = (uint32_t)strata_rng_below(&search->rng, search->problem->op_count);
	uint32_t from = search->position[op], first, last;

	search_span(search->problem, search->position, op, &first, &last);
	uint32_t to = first + (uint32_t)strata_rng_below(&search->rng, last - first + 1);

	search_shift(search->now.order, search->position, from, to);
	if (strata_rng_below(&search->rng, 2))
		try_group(search, search->problem->group[op], random_device(search));
	double limit = search->value + heat, value = INFINITY;

	if (from != to || search->undo_count)
		value = measure(search, limit);
	if (value < limit) {
		keep(search, value);
		return;
	}
	take_back(search);
	search_shift(search->now.order, search->position, to, from);
}

/* How much worse is taken now: −T·ln(random). */
static double heat_now(struct search *search, double temperature)
{
	double random = strata_rng_real(&search->rng);

	return random > 0 ? -temperature * real_log2(random) * 0.6931471805599453 : temperature;
}

static void anneal(struct search *search)
{
	bool order = !search->problem->fixed_order && !search->pipelined;
	int64_t begin = search->budget->visits, total = begin - search->end;
	double scale = search->value;

	while (!over(search)) {
		double done = (double)(begin - search->budget->visits) / (double)total;
		double temperature = scale * HOT * real_exp2(real_log2(COLD / HOT) * done);

		for (int i = 0; i < 16; i++) {
			uint64_t which = strata_rng_below(&search->rng, order ? 8 : 4);
			double heat = heat_now(search, temperature);

			if (which >= 4) {
				anneal_order(search, heat);
				continue;
			}
			if (which == 0)
				random_swap(search);
			else if (which == 1)
				try_group(search,
					  strata_rng_below(&search->rng,
							   search->problem->group_count),
					  random_device(search));
			else
				random_stretch(search);
			settle(search, search->value + heat);
			search->budget->visits--; /* also when there was nothing to measure */
		}
	}
}

static int begin(struct search *search, struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_place_problem *problem = search->problem;
	int rc = draft_make(problem, arena, &search->now, err);

	search->stocks = strata_arena_array(arena, problem->device_count, sizeof(*search->stocks));
	search->position = strata_arena_array(arena, problem->op_count, sizeof(*search->position));
	search->undo = strata_arena_array(arena, problem->op_count + 2, sizeof(*search->undo));
	if (rc == 0 && (!search->stocks || !search->position || !search->undo))
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = strata_place_meter_new(problem, arena, &search->meter, err);
	if (rc == 0 && search->pipelined)
		rc = loads_init(&search->loads, problem, arena, err);
	return rc;
}

/* From a draft: the search's own, or the best. */
static void start_from(struct search *search, const struct strata_place_draft *draft)
{
	draft_copy(search->problem, draft, &search->now);
	draft_stocks(search->problem, &search->now, search->stocks);
	search_positions(search->problem, search->now.order, search->position);
	if (search->pipelined)
		loads_set(&search->loads, search->now.device);
	search->value = measure(search, INFINITY);
}

/* Without memory for it there is no floor. */
static double floor_of(const struct strata_place_problem *problem, struct strata_arena *arena)
{
	double *scratch = strata_arena_array(arena, problem->op_count, sizeof(*scratch));

	return scratch ? draft_floor(problem, scratch) * (1 + 1e-12) : 0;
}

int search_moves(const struct strata_place_problem *problem, int64_t visits, uint64_t seed,
		 struct strata_place_budget *budget, struct strata_arena *arena,
		 struct strata_place_draft *draft, struct strata_error *err)
{
	struct search search = { .problem = problem,
				 .budget = budget,
				 .best = draft,
				 .pipelined = problem->objective == STRATA_THROUGHPUT,
				 .end = budget->visits - visits };
	int rc = begin(&search, arena, err);

	if (rc)
		return rc;
	strata_rng_init(&search.rng, seed, 1);
	search.best_value = strata_place_meter_read(search.meter, draft, INFINITY);
	start_from(&search, draft);
	search.floor = floor_of(problem, arena);
	int64_t end = search.end;

	search.end = budget->visits - visits / 3;
	descend(&search);
	search.end = end;
	start_from(&search, search.best);
	anneal(&search);
	start_from(&search, search.best);
	search.end -= visits / 10; /* the last of it may take a little more */
	descend(&search);
	return 0;
}
