/*
 * Stretches: blocks stay in their order and every device gets one stretch of it. A dynamic programme over (where the stretches end, how many
 * devices of each class are used) finds the smallest largest load; devices of a class are alike, so only their number counts.
 */
#include "place/cut.h"

#include <errno.h>
#include <string.h>

enum { STATES_MAX = 4096 };

struct lines {
	struct cut *cut;
	size_t state_count;
	size_t step[STRATA_PLACE_DEVICES_MAX]; /* of each class: what one more adds to a state */
	double *best;                          /* (blocks + 1) × states */
	uint32_t *from;                        /* where the last stretch begins, class beside it */
	uint8_t *class;
};

static size_t used_of(const struct lines *lines, size_t state, size_t class)
{
	return state / lines->step[class] % (lines->cut->class_size[class] + 1);
}

/* One stretch on a device of a class, behind every way to get to its beginning. */
static void extend(struct lines *lines, size_t first, size_t end, size_t class, double load)
{
	size_t states = lines->state_count;

	for (size_t s = 0; s < states; s++) {
		double before = lines->best[first * states + s];

		if (!isfinite(before) || used_of(lines, s, class) == lines->cut->class_size[class])
			continue;
		size_t to = end * states + s + lines->step[class];
		double value = fmax(before, load);

		if (value < lines->best[to]) {
			lines->best[to] = value;
			lines->from[to] = (uint32_t)first;
			lines->class[to] = (uint8_t) class;
		}
	}
}

/* All stretches that begin at a block; classes whose device is full or above the bound drop out. */
static int64_t stretch_from(struct lines *lines, size_t first, double bound)
{
	struct cut *cut = lines->cut;
	size_t classes = cut->class_count, end;
	double sum[STRATA_PLACE_DEVICES_MAX] = { 0 };
	int64_t weights = 0, kv = 0, visits = 0;
	bool open = true;

	for (end = first; end < cut->block_count && open; end++) {
		visits += (int64_t)cut_add(cut, (uint32_t)end) +
			  (int64_t)(lines->state_count * classes) / 8;
		weights += cut->weights[end];
		kv += cut->kv[end];
		open = false;
		for (size_t c = 0; c < classes; c++) {
			sum[c] += cut->times[end * classes + c];
			if (!(sum[c] <= bound) || !cut_fits(cut, c, weights, kv))
				continue;
			open = true;
			bool free_ways =
				cut->problem->machine->devices[cut->class_first[c]].transfers_free;

			extend(lines, first, end + 1, c, sum[c] + (free_ways ? 0 : cut->moved_ns));
		}
	}
	while (end > first)
		cut_take(cut, (uint32_t)--end);
	cut->moved_ns = 0; /* exactly */
	return visits;
}

static double finish(const struct lines *lines, uint32_t *ret_device)
{
	struct cut *cut = lines->cut;
	size_t states = lines->state_count, end = cut->block_count, state = 0;
	uint32_t next[STRATA_PLACE_DEVICES_MAX] = { 0 }; /* devices of a class given out so far */

	for (size_t s = 0; s < states; s++)
		if (lines->best[end * states + s] < lines->best[end * states + state])
			state = s;
	double value = lines->best[end * states + state];

	if (!isfinite(value))
		return value;
	while (end > 0) {
		uint32_t class = lines->class[end * states + state], device = 0;
		uint32_t first = lines->from[end * states + state], skip = next[class]++;

		for (;; device++)
			if (cut->class_of[device] == class && skip-- == 0)
				break;
		for (size_t b = first; b < end; b++)
			ret_device[b] = device;
		end = first;
		state -= lines->step[class];
	}
	return value;
}

/* Largest classes first, as many as the states allow. */
static void find_states(struct lines *lines)
{
	size_t count = 1;

	for (size_t c = 0; c < lines->cut->class_count; c++) {
		while (count * (lines->cut->class_size[c] + 1) > STATES_MAX)
			lines->cut->class_size[c]--;
		lines->step[c] = count;
		count *= lines->cut->class_size[c] + 1;
	}
	lines->state_count = count;
}

int cut_lines(struct cut *cut, struct strata_place_budget *budget, struct strata_arena *arena,
	      uint32_t *ret_device, double *ret_load)
{
	struct lines lines = { .cut = cut };
	double bound = INFINITY;

	find_states(&lines);
	size_t cells = (cut->block_count + 1) * lines.state_count;

	lines.best = strata_arena_array(arena, cells, sizeof(*lines.best));
	lines.from = strata_arena_array(arena, cells, sizeof(*lines.from));
	lines.class = strata_arena_array(arena, cells, sizeof(*lines.class));
	if (!lines.best || !lines.from || !lines.class)
		return -ENOMEM;
	for (size_t i = 0; i < cells; i++)
		lines.best[i] = INFINITY;
	lines.best[0] = 0;
	for (size_t first = 0; first < cut->block_count; first++) {
		if (budget_spend(budget, stretch_from(&lines, first, bound))) {
			*ret_load = INFINITY;
			return 0;
		}
		/* what is already whole bounds the rest */
		for (size_t s = 0; s < lines.state_count; s++)
			bound = fmin(bound, lines.best[cut->block_count * lines.state_count + s]);
	}
	*ret_load = finish(&lines, ret_device);
	return 0;
}
