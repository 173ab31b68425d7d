/*
 * Heterogeneous earliest finish time: ops by their distance to the end, longest first, each on the device where it would end first, in a gap
 * if there is one. Memory is a limit, KV state that is elsewhere takes its time to come, or its place decides. Distances may be jittered, so
 * that a search can begin from many.
 */
#include "place/place_int.h"

#include <strata/rng.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slot { /* of a device's time that is taken, by start */
	double start, end;
};

struct heft {
	const struct strata_place_problem *problem;
	double *rank; /* distance to the end, the op included */
	uint32_t *by_rank;
	uint32_t *position; /* in the problem's order */
	struct slot **slots;
	size_t *slot_count, *slot_room;
	struct stock *stocks;
	double *start, *finish;
	struct strata_arena *arena;
	bool kv, pin_kv;
};

/* ---- ranks ---- */

static double mean_move_ns(const struct strata_place_problem *problem, int64_t bytes, double cost,
			   double mean_latency, double mean_per_byte)
{
	return cost >= 0 ? cost : mean_latency + (double)bytes * mean_per_byte;
}

static double mean_time(const struct strata_place_problem *problem, size_t op)
{
	size_t d = problem->device_count, count = 0;
	double sum = 0;

	for (size_t j = 0; j < d; j++)
		if (isfinite(problem->times[op * d + j])) {
			sum += problem->times[op * d + j];
			count++;
		}
	return sum / (double)count;
}

static double mean_link(const double *links, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count * count; i++)
		sum += links[i]; /* a device's way to itself is 0 */
	return count > 1 ? sum / (double)(count * (count - 1)) : 0;
}

static void find_ranks(struct heft *heft, double jitter, uint64_t seed)
{
	const struct strata_place_problem *problem = heft->problem;
	size_t n = problem->op_count, d = problem->device_count;
	double latency = mean_link(problem->latency_ns, d);
	double per_byte = mean_link(problem->ns_per_byte, d);
	struct strata_rng rng;

	strata_rng_init(&rng, seed, 0);
	for (size_t i = n; i-- > 0;) {
		uint32_t op = problem->order[i];

		heft->position[op] = (uint32_t)i;
		heft->rank[op] += mean_time(problem, op) *
				  (1 + jitter * (strata_rng_real(&rng) - 0.5));
		for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++) {
			double *before = &heft->rank[problem->in_from[e]];
			double way = mean_move_ns(problem, problem->in_bytes[e],
						  problem->in_cost_ns[e], latency, per_byte);

			*before = fmax(*before, way + heft->rank[op]);
		}
	}
}

/* Longest first; of equals as they are in the order, which keeps each behind what it needs. */
static int compare_ranks(const void *a, const void *b, void *context)
{
	const struct heft *heft = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (heft->rank[x] != heft->rank[y])
		return heft->rank[x] > heft->rank[y] ? -1 : 1;
	return heft->position[x] < heft->position[y] ? -1 : 1;
}

static int compare_starts(const void *a, const void *b, void *context)
{
	const struct heft *heft = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (heft->start[x] != heft->start[y])
		return heft->start[x] < heft->start[y] ? -1 : 1;
	return compare_ranks(a, b, context);
}

/* ---- slots ---- */

/* When a piece of that length can begin on a device, not before ready. ret_at becomes where it goes among the slots. */
static double find_gap(const struct heft *heft, size_t device, double ready, double length,
		       size_t *ret_at)
{
	const struct slot *slots = heft->slots[device];
	size_t count = heft->slot_count[device], low = 0, high = count;

	while (low < high) { /* the first that ends behind ready */
		size_t middle = (low + high) / 2;

		if (slots[middle].end > ready)
			high = middle;
		else
			low = middle + 1;
	}
	for (; low < count; low++) {
		if (ready + length <= slots[low].start)
			break;
		if (slots[low].end > ready)
			ready = slots[low].end;
	}
	*ret_at = low;
	return ready;
}

static int take_gap(struct heft *heft, size_t device, size_t at, double start, double length)
{
	size_t count = heft->slot_count[device];

	if (count == heft->slot_room[device]) {
		size_t more = count ? 2 * count : 64;
		struct slot *grown = strata_arena_array(heft->arena, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (count)
			memcpy(grown, heft->slots[device], count * sizeof(*grown));
		heft->slots[device] = grown;
		heft->slot_room[device] = more;
	}
	struct slot *slots = heft->slots[device];

	memmove(slots + at + 1, slots + at, (count - at) * sizeof(*slots));
	slots[at] = (struct slot){ start, start + length };
	heft->slot_count[device]++;
	return 0;
}

/* ---- placing ---- */

static double ready_at(const struct heft *heft, const struct strata_place_draft *draft, uint32_t op,
		       uint32_t device)
{
	const struct strata_place_problem *problem = heft->problem;
	double ready = 0;

	for (uint32_t e = problem->in_first[op]; e < problem->in_first[op + 1]; e++) {
		uint32_t from = problem->in_from[e];

		ready = fmax(ready, heft->finish[from] + place_move_ns(problem, draft->device[from],
								       device, problem->in_bytes[e],
								       problem->in_cost_ns[e]));
	}
	if (heft->kv && problem->kv_move_ns)
		ready = fmax(ready, problem->kv_move_ns[op * problem->device_count + device]);
	return ready;
}

/* Devices that an op may go to: where its group is, or where its KV state is, or all that have room. */
static uint64_t choices(const struct heft *heft, const struct strata_place_draft *draft,
			uint32_t op)
{
	const struct strata_place_problem *problem = heft->problem;
	size_t d = problem->device_count, group = problem->group[op];
	uint64_t fit = 0, home = 0;
	bool moves = false;

	if (draft->device[op] != STRATA_NONE)
		return UINT64_C(1) << draft->device[op];
	for (size_t j = 0; j < d; j++) {
		if (!stock_fits(problem, heft->stocks, group, j))
			continue;
		fit |= UINT64_C(1) << j;
		if (problem->kv_move_ns && problem->kv_move_ns[op * d + j] == 0)
			home |= UINT64_C(1) << j;
		else
			moves = true;
	}
	return heft->pin_kv && moves && home ? home : fit;
}

static int place_op(struct heft *heft, struct strata_place_draft *draft, uint32_t op)
{
	const struct strata_place_problem *problem = heft->problem;
	size_t d = problem->device_count, best_at = 0;
	double best = INFINITY, best_start = 0;
	uint32_t where = STRATA_NONE;

	for (uint64_t left = choices(heft, draft, op); left; left &= left - 1) {
		uint32_t device = (uint32_t)__builtin_ctzll(left);
		double length = problem->times[op * d + device];
		size_t at;
		double start =
			find_gap(heft, device, ready_at(heft, draft, op, device), length, &at);

		if (start + length < best) {
			best = start + length;
			best_start = start;
			best_at = at;
			where = device;
		}
	}
	if (where == STRATA_NONE)
		return -ENOSPC;
	if (draft->device[op] == STRATA_NONE) {
		stock_put(problem, heft->stocks, problem->group[op], where);
		draft_put(problem, draft, problem->group[op], where);
	}
	heft->start[op] = best_start;
	heft->finish[op] = best;
	return take_gap(heft, where, best_at, best_start, best - best_start);
}

static bool heft_init(struct heft *heft)
{
	size_t n = heft->problem->op_count, d = heft->problem->device_count;

	heft->rank = strata_arena_array(heft->arena, n, sizeof(*heft->rank));
	heft->by_rank = strata_arena_array(heft->arena, n, sizeof(*heft->by_rank));
	heft->position = strata_arena_array(heft->arena, n, sizeof(*heft->position));
	heft->start = strata_arena_array(heft->arena, n, sizeof(*heft->start));
	heft->finish = strata_arena_array(heft->arena, n, sizeof(*heft->finish));
	heft->slots = strata_arena_array(heft->arena, d, sizeof(*heft->slots));
	heft->slot_count = strata_arena_array(heft->arena, d, sizeof(*heft->slot_count));
	heft->slot_room = strata_arena_array(heft->arena, d, sizeof(*heft->slot_room));
	heft->stocks = strata_arena_array(heft->arena, d, sizeof(*heft->stocks));
	return heft->rank && heft->by_rank && heft->position && heft->start && heft->finish &&
	       heft->slots && heft->slot_count && heft->slot_room && heft->stocks;
}

int heft_propose(const struct strata_place_problem *problem, bool kv, bool pin_kv, double jitter,
		 uint64_t seed, struct strata_place_budget *budget, struct strata_arena *arena,
		 struct strata_place_draft *draft, struct strata_error *err)
{
	size_t n = problem->op_count;
	struct heft heft = { .problem = problem, .arena = arena, .kv = kv, .pin_kv = pin_kv };

	if (!heft_init(&heft))
		return strata_fail_memory(err);
	budget_spend(budget, (int64_t)(2 * n * problem->device_count));
	find_ranks(&heft, jitter, seed);
	for (size_t i = 0; i < n; i++)
		heft.by_rank[i] = (uint32_t)i;
	qsort_r(heft.by_rank, n, sizeof(*heft.by_rank), compare_ranks, &heft);
	for (size_t i = 0; i < n; i++) {
		int rc = place_op(&heft, draft, heft.by_rank[i]);

		if (rc == -ENOSPC)
			return strata_fail(err, rc, "no device has room left for op \"%.64s\"",
					   problem->graph->ops[heft.by_rank[i]].name);
		if (rc)
			return strata_fail_memory(err);
	}
	if (!problem->fixed_order) {
		memcpy(draft->order, heft.by_rank, n * sizeof(*draft->order));
		qsort_r(draft->order, n, sizeof(*draft->order), compare_starts, &heft);
	}
	return 0;
}
