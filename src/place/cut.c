/*
 * The graph as blocks for cutting it into pieces, and what a piece costs while blocks are added to it and taken away: of each value it is
 * enough to know whether its maker and how many of its readers are in the piece.
 */
#include "place/cut.h"

#include <errno.h>
#include <string.h>

/* ---- devices ---- */

static bool alike(const struct strata_place_problem *problem, size_t a, size_t b)
{
	const struct strata_device *x = &problem->machine->devices[a],
				   *y = &problem->machine->devices[b];
	size_t d = problem->device_count;

	if (x->capacity_bytes != y->capacity_bytes || x->weight_bytes_max != y->weight_bytes_max ||
	    x->kv_bytes_max != y->kv_bytes_max || x->transfers_free != y->transfers_free ||
	    x->lost != y->lost)
		return false;
	for (size_t i = 0; i < problem->op_count; i++)
		if (problem->times[i * d + a] != problem->times[i * d + b])
			return false;
	return true;
}

static void find_classes(struct cut *cut)
{
	for (uint32_t d = 0; d < cut->problem->device_count; d++) {
		uint32_t c = 0;

		cut->class_of[d] = STRATA_NONE;
		if (cut->problem->machine->devices[d].lost)
			continue;
		while (c < cut->class_count && !alike(cut->problem, cut->class_first[c], d))
			c++;
		if (c == cut->class_count)
			cut->class_first[cut->class_count++] = d;
		cut->class_of[d] = c;
		cut->class_size[c]++;
	}
}

/* ---- blocks ---- */

/* So many blocks of about equal time, when there are more groups than that. */
static void find_blocks(struct cut *cut, size_t blocks_max)
{
	const struct strata_place_problem *problem = cut->problem;
	size_t groups = problem->group_count;
	double total = 0, sum = 0;

	for (size_t g = 0; g < groups; g++)
		total += cut->times[g]; /* of the first class, for now by group */
	for (size_t g = 0; g < groups; g++) {
		if (groups <= blocks_max) {
			cut->block_of[g] = (uint32_t)g;
			continue;
		}
		double middle = total > 0 ? (sum + cut->times[g] / 2) / total
					  : (double)g / (double)groups;
		uint32_t block = (uint32_t)(middle * (double)blocks_max);

		cut->block_of[g] = block < blocks_max ? block : (uint32_t)blocks_max - 1;
		sum += cut->times[g];
	}
	cut->block_count = groups <= blocks_max ? groups : blocks_max;
}

int cut_leads(const struct strata_place_problem *problem, const uint32_t *block_of,
	      size_t block_count, struct strata_arena *arena, uint32_t **ret_first,
	      uint32_t **ret_leads)
{
	const struct strata_graph *graph = problem->graph;
	uint32_t *first = strata_arena_array(arena, block_count + 2, sizeof(*first));
	uint32_t *leads = strata_arena_array(arena, graph->edge_count, sizeof(*leads));
	bool forward = false;

	if (!first || !leads)
		return -ENOMEM;
	for (size_t i = 0; i < graph->op_count; i++)
		forward |= graph->ops[i].phase == STRATA_PHASE_BACKWARD;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t e = 0; e < graph->edge_count; e++) {
			const struct strata_edge *edge = &graph->edges[e];
			uint32_t from = block_of[problem->group[edge->from]];
			uint32_t to = block_of[problem->group[edge->to]];

			if (from == to ||
			    (forward && (graph->ops[edge->from].phase == STRATA_PHASE_BACKWARD ||
					 graph->ops[edge->to].phase == STRATA_PHASE_BACKWARD)))
				continue;
			if (pass == 0)
				first[from + 2]++;
			else
				leads[first[from + 1]++] = to;
		}
		for (size_t b = 0; b < block_count && pass == 0; b++)
			first[b + 2] += first[b + 1];
	}
	*ret_first = first;
	*ret_leads = leads;
	return 0;
}

/* One block for each circle; numbered so that a block comes behind those it needs. */
static int merge_circles(struct cut *cut, struct strata_arena *arena)
{
	size_t groups = cut->problem->group_count, count = 0;
	uint32_t *first, *leads;

	for (size_t g = 0; g < groups; g++)
		cut->block_of[g] = (uint32_t)g;
	if (cut_leads(cut->problem, cut->block_of, groups, arena, &first, &leads) ||
	    cycles_find(groups, first, leads, arena, cut->block_of, &count))
		return -ENOMEM;
	for (size_t g = 0; g < groups; g++)
		cut->block_of[g] = (uint32_t)(count - 1 - cut->block_of[g]);
	cut->block_count = count;
	return 0;
}

static void weigh_blocks(struct cut *cut)
{
	const struct strata_place_problem *problem = cut->problem;

	memset(cut->times, 0, problem->group_count * cut->class_count * sizeof(*cut->times));
	for (size_t g = 0; g < problem->group_count; g++) {
		uint32_t block = cut->block_of[g];

		for (size_t c = 0; c < cut->class_count; c++)
			cut->times[block * cut->class_count + c] +=
				group_time(problem, g, cut->class_first[c]);
		cut->weights[block] += problem->weight_bytes[g];
		cut->kv[block] += problem->kv_bytes[g];
	}
}

/* ---- values ---- */

static double way_of(const struct strata_place_problem *problem, size_t value)
{
	double most = 0;

	for (size_t a = 0; a < problem->device_count; a++)
		for (size_t b = 0; b < problem->device_count; b++)
			if (a != b && !problem->machine->devices[a].transfers_free &&
			    !problem->machine->devices[b].transfers_free)
				most = fmax(most, place_way_ns(problem, value, a, b));
	return most;
}

/* Readers of a value as blocks, each once and without the maker's; stamp marks who was seen. */
static size_t list_readers(const struct cut *cut, size_t value, uint32_t *stamp, uint32_t mark,
			   uint32_t *ret_readers)
{
	const struct strata_place_problem *problem = cut->problem;
	size_t count = 0;

	stamp[cut->block_of[problem->group[problem->value_from[value]]]] = mark;
	for (uint32_t r = problem->value_first[value]; r < problem->value_first[value + 1]; r++) {
		uint32_t block = cut->block_of[problem->group[problem->value_readers[r]]];

		if (stamp[block] == mark)
			continue;
		stamp[block] = mark;
		ret_readers[count++] = block;
	}
	return count;
}

static void find_values(struct cut *cut, uint32_t *stamp)
{
	const struct strata_place_problem *problem = cut->problem;
	size_t at = 0;

	for (size_t v = 0; v < problem->value_count; v++) {
		size_t count = list_readers(cut, v, stamp, (uint32_t)v + 1, cut->readers + at);

		if (count == 0)
			continue;
		size_t value = cut->value_count++;

		cut->maker[value] = cut->block_of[problem->group[problem->value_from[v]]];
		cut->reader_count[value] = (uint32_t)count;
		cut->reader_first[value] = (uint32_t)at;
		cut->way_ns[value] = way_of(problem, v);
		at += count;
		cut->reader_first[value + 1] = (uint32_t)at;
	}
}

static void find_touches(struct cut *cut)
{
	uint32_t *first = cut->touch_first;

	for (size_t v = 0; v < cut->value_count; v++) {
		first[cut->maker[v] + 1]++;
		for (uint32_t r = cut->reader_first[v]; r < cut->reader_first[v + 1]; r++)
			first[cut->readers[r] + 1]++;
	}
	for (size_t b = 0; b < cut->block_count; b++)
		first[b + 1] += first[b];
	for (size_t v = cut->value_count; v-- > 0;) {
		cut->touch_values[--first[cut->maker[v] + 1]] = (uint32_t)v;
		for (uint32_t r = cut->reader_first[v]; r < cut->reader_first[v + 1]; r++)
			cut->touch_values[--first[cut->readers[r] + 1]] = (uint32_t)v;
	}
	for (size_t b = 0; b < cut->block_count; b++)
		first[b] = first[b + 1];
	first[cut->block_count] =
		(uint32_t)(cut->value_count +
			   (cut->value_count ? cut->reader_first[cut->value_count] : 0));
}

int cut_init(struct cut *cut, const struct strata_place_problem *problem, size_t blocks_max,
	     bool whole, struct strata_arena *arena, struct strata_error *err)
{
	size_t g = problem->group_count, v = problem->value_count;
	size_t readers = problem->in_first[problem->op_count];
	uint32_t *stamp = strata_arena_array(arena, g, sizeof(*stamp));

	*cut = (struct cut){ .problem = problem };
	find_classes(cut);
	cut->block_of = strata_arena_array(arena, g, sizeof(uint32_t));
	cut->times = strata_arena_array(arena, g * cut->class_count, sizeof(double));
	cut->weights = strata_arena_array(arena, g, sizeof(int64_t));
	cut->kv = strata_arena_array(arena, g, sizeof(int64_t));
	cut->maker = strata_arena_array(arena, v, sizeof(uint32_t));
	cut->reader_count = strata_arena_array(arena, v, sizeof(uint32_t));
	cut->reader_first = strata_arena_array(arena, v + 1, sizeof(uint32_t));
	cut->readers = strata_arena_array(arena, readers, sizeof(uint32_t));
	cut->way_ns = strata_arena_array(arena, v, sizeof(double));
	cut->touch_first = strata_arena_array(arena, g + 2, sizeof(uint32_t));
	cut->touch_values = strata_arena_array(arena, v + readers, sizeof(uint32_t));
	cut->readers_in = strata_arena_array(arena, v, sizeof(uint32_t));
	cut->maker_in = strata_arena_array(arena, v, sizeof(bool));
	if (!stamp || !cut->block_of || !cut->times || !cut->weights || !cut->kv || !cut->maker ||
	    !cut->reader_count || !cut->reader_first || !cut->readers || !cut->way_ns ||
	    !cut->touch_first || !cut->touch_values || !cut->readers_in || !cut->maker_in)
		return strata_fail_memory(err);
	for (size_t i = 0; i < g; i++)
		for (uint32_t c = 0; c < cut->class_count && cut->times[i] == 0; c++) {
			double time = group_time(problem, i, cut->class_first[c]);

			cut->times[i] = isfinite(time) ? time : 0;
		}
	if (whole && merge_circles(cut, arena))
		return strata_fail_memory(err);
	if (!whole)
		find_blocks(cut, blocks_max);
	weigh_blocks(cut);
	find_values(cut, stamp);
	find_touches(cut);
	return 0;
}

/* ---- a piece ---- */

/* A value is moved when its maker is in and a reader is not, or the other way round. */
static bool is_moved(const struct cut *cut, uint32_t value)
{
	return cut->maker_in[value] ? cut->readers_in[value] < cut->reader_count[value]
				    : cut->readers_in[value] > 0;
}

static size_t change(struct cut *cut, uint32_t block, bool in)
{
	for (uint32_t t = cut->touch_first[block]; t < cut->touch_first[block + 1]; t++) {
		uint32_t value = cut->touch_values[t];
		bool before = is_moved(cut, value);

		if (cut->maker[value] == block)
			cut->maker_in[value] = in;
		else
			cut->readers_in[value] += in ? 1 : UINT32_MAX;
		bool after = is_moved(cut, value);

		if (before != after)
			cut->moved_ns += after ? cut->way_ns[value] : -cut->way_ns[value];
	}
	return cut->touch_first[block + 1] - cut->touch_first[block] + 1;
}

size_t cut_add(struct cut *cut, uint32_t block)
{
	return change(cut, block, true);
}

size_t cut_take(struct cut *cut, uint32_t block)
{
	return change(cut, block, false);
}

bool cut_fits(const struct cut *cut, size_t class, int64_t weights, int64_t kv)
{
	struct stock stock = { weights, kv };

	return stock_holds(cut->problem, &stock, cut->class_first[class]);
}
