/*
 * spread: every layer keeps a part and the rest of it streams, so that the channel never has a long stretch without work or without frames. What
 * streams of a layer is held to one level, less where a long computation leaves time to read ahead, which needs the frames then.
 */
#include "stage/stage_int.h"

#include <errno.h>

enum { HALVINGS = 24 };

struct spread_conf {
	double level, room;
};

static const struct strata_option options[] = {
	{ "level", STRATA_REAL, offsetof(struct spread_conf, level), .real = { 0.5, 0, 4 },
	  .help = "how much less streams of layers that compute for long" },
	{ "room", STRATA_REAL, offsetof(struct spread_conf, room), .real = { 1, 0, 4 },
	  .help = "frames to read ahead with, as a part of what the channel reads meanwhile" },
	{ 0 }
};

/* Parts of pages are carried over from visit to visit. */
static void keep_at(const struct strata_stage_problem *problem, double height, double level,
		    const uint32_t *before, uint32_t *ret_kept)
{
	double carried = 0;

	for (size_t v = 0; v < problem->visit_count; v++) {
		double streams = height - level * problem->compute[v];
		double pages = problem->pages[v];

		carried += streams < 0 ? 0 : streams < pages ? streams : pages;
		uint32_t whole = carried < pages ? (uint32_t)carried : problem->pages[v];

		carried -= whole;
		ret_kept[before[v]] = problem->pages[v] - whole;
	}
}

static bool fits(const struct strata_stage_problem *problem, double room, const uint32_t *before,
		 const uint32_t *kept)
{
	size_t n = problem->visit_count;
	int64_t now = 0;

	for (size_t v = 0; v < n; v++)
		if (v + problem->next[v] >= n)
			now += kept[v];
	for (size_t v = 0; v < n; v++) {
		now -= kept[before[v]];
		if ((double)now + problem->pages[v] + room * problem->compute[v] > problem->budget)
			return false;
		now += kept[v];
	}
	return true;
}

int spread_keep(const struct strata_stage_problem *problem, double level, double room,
		struct strata_arena *arena, uint32_t *ret_kept)
{
	size_t n = problem->visit_count;
	uint32_t *before = strata_arena_array(arena, n, sizeof(*before));
	double low = 0, high = stage_largest(problem), longest = 0;

	if (!before)
		return -ENOMEM;
	for (size_t v = 0; v < n; v++) {
		before[(v + problem->next[v]) % n] = (uint32_t)v;
		if (problem->compute[v] > longest)
			longest = problem->compute[v];
	}
	high += level * longest;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		keep_at(problem, middle, level, before, ret_kept);
		*(fits(problem, room, before, ret_kept) ? &high : &low) = middle;
	}
	keep_at(problem, high, level, before, ret_kept);
	return 0;
}

static int keep(const void *conf_any, const struct strata_stage_problem *problem,
		struct strata_arena *arena, uint32_t *ret_kept, struct strata_error *err)
{
	const struct spread_conf *conf = conf_any;

	return spread_keep(problem, conf->level, conf->room, arena, ret_kept)
		       ? strata_fail_memory(err)
		       : 0;
}

const struct strata_planner_class strata_planner_spread = {
	.base = { .name = "spread",
		  .summary = "keeps a part of every layer",
		  .conf_size = sizeof(struct spread_conf),
		  .options = options },
	.ahead = UINT32_MAX,
	.keep = keep,
};
