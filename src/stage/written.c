/* Schedules that people write: whole layers become pages, by following them once from an empty memory and once from what that leaves. */
#include "stage/stage_int.h"

#include <errno.h>
#include <string.h>

enum { WARM_STEPS = 3, MEASURED_STEPS = 3 };

struct writer {
	const struct strata_stage_model *model;
	const struct strata_stage_plan *plan;
	struct strata_stage_entry *entries;
	uint32_t *held; /* of each layer, as the step goes on */
	int64_t used, peak, read;
	size_t count, visit;
	struct strata_error *err;
};

static void write_release(struct writer *writer, struct strata_stage_entry *to)
{
	uint32_t *held = &writer->held[to->layer];

	if (to->count == STRATA_STAGE_REST) {
		to->first = 0;
		to->count = *held;
	}
	uint32_t part = to->count < *held ? to->count : *held; /* too many: the verifier says so */

	*held -= part;
	writer->used -= part;
}

static void write_read(struct writer *writer, struct strata_stage_entry *to)
{
	uint32_t *held = &writer->held[to->layer];
	uint32_t missing = writer->plan->layer_pages[to->layer] - *held;

	if (to->count == STRATA_STAGE_REST) {
		to->first = *held;
		to->count = missing;
	}
	uint32_t part = to->count < missing ? to->count : missing;

	*held += part;
	writer->read += part;
	writer->used += part;
	if (writer->used > writer->peak)
		writer->peak = writer->used;
}

/* One step, from what is held. A prefetch of what is there does nothing and is left out. */
static int write_step(struct writer *writer, const struct strata_stage_entry *entries,
		      size_t entry_count)
{
	writer->count = writer->visit = 0;
	writer->read = 0;
	writer->peak = writer->used;
	for (size_t i = 0; i < entry_count; i++) {
		struct strata_stage_entry *to = &writer->entries[writer->count];

		*to = entries[i];
		if (to->layer >= writer->plan->layer_count)
			return strata_fail(writer->err, -EINVAL, "entry %zu: there is no layer %u",
					   i, to->layer);
		if (to->kind == STRATA_STAGE_COMPUTE) {
			to->first = 0;
			to->count = writer->plan->layer_pages[to->layer];
			to->visit = (uint32_t)writer->visit++;
		} else if (to->kind == STRATA_STAGE_RELEASE) {
			write_release(writer, to);
			if (!to->count)
				return strata_fail(writer->err, -EINVAL,
						   "entry %zu releases %.64s, which is not there",
						   i, writer->model->layers[to->layer].name);
		} else {
			write_read(writer, to);
			if (!to->count && to->kind == STRATA_STAGE_PREFETCH)
				continue;
		}
		writer->count++;
	}
	return 0;
}

/* Which visit each read is for: the layer's next, perhaps in the next step. */
static int find_visits(struct writer *writer, struct strata_arena *arena)
{
	uint32_t *next = strata_arena_array(arena, writer->plan->layer_count, sizeof(*next));

	if (!next)
		return strata_fail_memory(writer->err);
	for (size_t i = 2 * writer->count; i-- > 0;) {
		struct strata_stage_entry *entry = &writer->entries[i % writer->count];

		if (entry->kind == STRATA_STAGE_COMPUTE)
			next[entry->layer] = entry->visit;
		else
			entry->visit = next[entry->layer];
	}
	return 0;
}

/* By the clock, once steps follow on each other. */
static int time_it(struct strata_stage_plan *plan, const struct strata_stage_model *model,
		   int64_t bytes_per_s, struct strata_arena *arena, struct strata_error *err)
{
	struct strata_stage_clock clock;
	double warm = 0;
	int rc = strata_stage_clock_init(&clock, model, plan->page_bytes, bytes_per_s, arena, err);

	for (int step = 0; rc == 0 && step < WARM_STEPS + MEASURED_STEPS; step++) {
		if (step == WARM_STEPS)
			warm = clock.now_ns;
		for (size_t i = 0; i < plan->entry_count; i++)
			strata_stage_clock_do(&clock, &plan->entries[i]);
	}
	if (rc == 0)
		plan->metrics.step_ns = (clock.now_ns - warm) / MEASURED_STEPS;
	return rc;
}

/* Where a step begins, whether told or not, it must end; the verifier says so if it does not. */
static int write_plan(struct writer *writer, const uint32_t *held,
		      const struct strata_stage_entry *entries, size_t entry_count,
		      uint32_t *ret_begin)
{
	size_t count = writer->plan->layer_count;
	int rc = 0;

	for (size_t i = 0; held && i < count; i++) {
		uint32_t pages = writer->plan->layer_pages[i];

		writer->held[i] = held[i] < pages ? held[i] : pages;
		writer->used += writer->held[i];
	}
	if (!held)
		rc = write_step(writer, entries, entry_count);
	memcpy(ret_begin, writer->held, count * sizeof(*ret_begin));
	return rc || (!held && !writer->used) ? rc : write_step(writer, entries, entry_count);
}

int strata_stage_schedule(const struct strata_stage_model *model,
			  const struct strata_stage_machine *machine, const uint32_t *held,
			  const struct strata_stage_entry *entries, size_t entry_count,
			  struct strata_arena *arena, struct strata_stage_plan *ret_plan,
			  struct strata_error *err)
{
	size_t n = model->layer_count;
	struct strata_stage_machine full = *machine;
	uint32_t *pages = strata_arena_array(arena, n, sizeof(*pages));
	uint32_t *begin = strata_arena_array(arena, n, sizeof(*begin));
	struct strata_stage_plan plan = { .planner = "by hand",
					  .layer_count = n,
					  .visit_count = model->visit_count,
					  .layer_pages = pages,
					  .held = begin };
	struct writer writer = { .model = model,
				 .plan = &plan,
				 .entries = strata_arena_array(arena, entry_count + 1,
							       sizeof(*entries)),
				 .held = strata_arena_array(arena, n, sizeof(*writer.held)),
				 .err = err };

	if (!pages || !begin || !writer.entries || !writer.held)
		return strata_fail_memory(err);
	int rc = stage_measure(model, &full, pages, &plan.budget_pages, err);

	plan.page_bytes = full.page_bytes;
	if (rc == 0)
		rc = write_plan(&writer, held, entries, entry_count, begin);
	if (rc == 0)
		rc = find_visits(&writer, arena);
	if (rc)
		return rc;
	plan.entries = writer.entries;
	plan.entry_count = writer.count;
	plan.metrics.bytes_per_step = writer.read * plan.page_bytes;
	plan.metrics.peak_bytes = writer.peak * plan.page_bytes;
	if (full.bytes_per_s)
		rc = time_it(&plan, model, full.bytes_per_s, arena, err);
	if (rc == 0)
		*ret_plan = plan;
	return rc;
}
