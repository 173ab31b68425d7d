/*
 * Off the plan and back. What is in memory of a layer is always its first so many pages, so a state is one number per layer, and going from one
 * to another is giving up what is too much and reading what is too little. Costs a pass over the plan; only surprises pay it.
 */
#include "stage/run.h"

#include <string.h>

void run_apply(struct strata_stage_run *run, const struct strata_stage_entry *entry)
{
	if (entry->kind == STRATA_STAGE_RELEASE) {
		run->held[entry->layer] -= entry->count;
		run->used -= entry->count;
	} else if (entry->kind != STRATA_STAGE_COMPUTE) {
		run->held[entry->layer] += entry->count;
		run->used += entry->count;
		if (run->used > run->peak)
			run->peak = run->used;
	}
}

static void make(struct strata_stage_run *run, enum strata_stage_kind kind, uint32_t layer,
		 uint32_t count, uint32_t visit)
{
	uint32_t held = run->held[layer];
	struct strata_stage_entry *entry = &run->made[run->made_count++];

	*entry = (struct strata_stage_entry){ kind, layer,
					      kind == STRATA_STAGE_RELEASE ? held - count : held,
					      count, visit };
	run_apply(run, entry);
}

/* What the plan has in memory before an entry. */
static void find_wanted(const struct strata_stage_plan *plan, size_t entry, uint32_t *ret_want)
{
	memcpy(ret_want, plan->held, plan->layer_count * sizeof(*ret_want));
	for (size_t i = 0; i < entry; i++) {
		const struct strata_stage_entry *one = &plan->entries[i];

		if (one->kind == STRATA_STAGE_RELEASE)
			ret_want[one->layer] -= one->count;
		else if (one->kind != STRATA_STAGE_COMPUTE)
			ret_want[one->layer] += one->count;
	}
}

/* What is too little, in the order of use from an entry on. */
static void read_missing(struct strata_stage_run *run, const struct strata_stage_plan *plan,
			 size_t from)
{
	for (size_t i = 0; i < plan->entry_count; i++) {
		const struct strata_stage_entry *one =
			&plan->entries[(from + i) % plan->entry_count];
		uint32_t held = run->held[one->layer];

		if (one->kind == STRATA_STAGE_COMPUTE && held < run->want[one->layer])
			make(run, STRATA_STAGE_PREFETCH, one->layer, run->want[one->layer] - held,
			     one->visit);
	}
}

void run_move(struct strata_stage_run *run, struct known *known, size_t entry)
{
	const struct strata_stage_plan *plan = &known->plan;
	const struct strata_stage_entry *to = entry < plan->entry_count ? &plan->entries[entry]
									: NULL;

	find_wanted(plan, entry, run->want);
	for (uint32_t i = 0; i < plan->layer_count; i++)
		if (run->held[i] > run->want[i])
			make(run, STRATA_STAGE_RELEASE, i, run->held[i] - run->want[i], 0);
	if (to && to->kind == STRATA_STAGE_COMPUTE && run->computing == to->layer) {
		make(run, STRATA_STAGE_FETCH, to->layer,
		     run->want[to->layer] - run->held[to->layer], to->visit);
		read_missing(run, plan, entry);
		run->made[run->made_count++] = *to;
	} else {
		read_missing(run, plan, entry);
	}
}

/* Layers by their next use in the plan; without one by their first use in this step, since loops come round. Returns how many; `want` is 1 for these. */
static size_t line_up(struct strata_stage_run *run)
{
	const struct strata_stage_plan *plan = run->now ? &run->now->plan : NULL;
	size_t length = plan ? plan->entry_count : run->seen_count, count = 0;

	memset(run->want, 0, run->model.layer_count * sizeof(*run->want));
	for (size_t i = 0; i < length; i++) {
		const struct strata_stage_entry *entry =
			plan ? &plan->entries[(run->at + i) % length] : NULL;
		uint32_t layer = entry ? entry->layer : run->seen[i];

		if (run->want[layer] || (entry && entry->kind != STRATA_STAGE_COMPUTE))
			continue;
		run->want[layer] = 1;
		run->line[count++] = layer;
	}
	return count;
}

static uint32_t take_from(struct strata_stage_run *run, uint32_t victim, uint32_t wanted)
{
	uint32_t part = run->held[victim] < wanted ? run->held[victim] : wanted;

	if (victim == run->computing || !part)
		return 0;
	make(run, STRATA_STAGE_RELEASE, victim, part, 0);
	return part;
}

/* From layers of no use, then from the one used last. */
static void take_frames(struct strata_stage_run *run, uint32_t wanted)
{
	size_t count = line_up(run);

	for (uint32_t i = 0; i < run->model.layer_count && wanted; i++)
		if (!run->want[i])
			wanted -= take_from(run, i, wanted);
	while (count-- > 0 && wanted)
		wanted -= take_from(run, run->line[count], wanted);
}

void run_detour(struct strata_stage_run *run, uint32_t layer)
{
	uint32_t missing = run->layer_pages[layer] - run->held[layer];
	uint32_t free = run->budget - run->used;

	if (missing > free)
		take_frames(run, missing - free);
	make(run, STRATA_STAGE_FETCH, layer, missing, 0);
	run->made[run->made_count++] = (struct strata_stage_entry){ STRATA_STAGE_COMPUTE, layer, 0,
								    run->layer_pages[layer], 0 };
	run->detour = true;
}
