/* The plans a run knows, one per order that was seen. When there are too many, the one not followed for longest makes room, but only for an order
 * that came twice running: a loop whose order is never the same twice would else do nothing but plan. */
#include "stage/run.h"

#include <errno.h>
#include <string.h>

static void known_free(struct strata_stage_run *run, struct known *known)
{
	strata_arena_fini(&known->arena);
	strata_memory_put(run->memory, known, sizeof(*known));
}

void known_drop(struct strata_stage_run *run, size_t index)
{
	struct known *known = run->plans[index];

	if (run->now == known)
		run->now = NULL;
	run->plans[index] = run->plans[--run->plan_count];
	known_free(run, known);
}

/* The plan of an order, in the arena of `known`. */
static int fill(struct strata_stage_run *run, struct known *known, const uint32_t *order,
		size_t visit_count, const struct strata_stage_plan *plan, struct strata_error *err)
{
	struct strata_stage_model model = run->model;
	uint32_t *copy = strata_arena_array(&known->arena, visit_count, sizeof(*copy));
	int rc = 0;

	known->compute_at = strata_arena_array(&known->arena, visit_count, sizeof(size_t));
	if (!copy || !known->compute_at)
		return strata_fail_memory(err);
	memcpy(copy, order, visit_count * sizeof(*copy));
	known->order = model.order = copy;
	known->visit_count = model.visit_count = visit_count;
	if (plan)
		known->plan = *plan;
	else
		rc = strata_stage_plan(&run->planner, &model, &run->machine, &known->arena,
				       &known->plan, err);
	if (rc == 0)
		rc = strata_stage_verify(&known->plan, &model, &known->arena, err);
	for (size_t i = 0; rc == 0 && i < known->plan.entry_count; i++)
		if (known->plan.entries[i].kind == STRATA_STAGE_COMPUTE)
			known->compute_at[known->plan.entries[i].visit] = i;
	return rc;
}

int known_add(struct strata_stage_run *run, const uint32_t *order, size_t visit_count,
	      const struct strata_stage_plan *plan, struct strata_error *err)
{
	struct known *known = strata_memory_get(run->memory, sizeof(*known));

	if (!known)
		return strata_fail_memory(err);
	strata_arena_init(&known->arena, run->memory, 0);
	int rc = fill(run, known, order, visit_count, plan, err);

	if (rc) {
		known_free(run, known);
		return rc;
	}
	if (run->plan_count == RUN_PLANS_MAX) {
		size_t oldest = 0;

		for (size_t i = 1; i < run->plan_count; i++)
			if (run->plans[i]->last_step < run->plans[oldest]->last_step)
				oldest = i;
		known_drop(run, oldest);
	}
	run->plans[run->plan_count++] = known;
	run->now = known;
	return 0;
}

static bool same_as_odd(const struct strata_stage_run *run)
{
	return run->odd_count == run->seen_count &&
	       memcmp(run->odd, run->seen, run->seen_count * sizeof(*run->seen)) == 0;
}

/* Notes an order that there is no room for. */
static int note_odd(struct strata_stage_run *run, struct strata_error *err)
{
	uint32_t *odd = strata_memory_get(run->memory, run->seen_count * sizeof(*odd));

	if (!odd)
		return strata_fail_memory(err);
	strata_memory_put(run->memory, run->odd, run->odd_count * sizeof(*odd));
	memcpy(odd, run->seen, run->seen_count * sizeof(*odd));
	run->odd = odd;
	run->odd_count = run->seen_count;
	return 0;
}

int known_choose(struct strata_stage_run *run, struct strata_error *err)
{
	if (!run->seen_count)
		return 0;
	for (size_t i = 0; i < run->plan_count; i++) {
		struct known *known = run->plans[i];

		if (!known->fits || known->visit_count != run->seen_count)
			continue;
		known->last_step = run->steps;
		run->now = known;
		return 0;
	}
	if (run->plan_count == RUN_PLANS_MAX && !same_as_odd(run))
		return note_odd(run, err);
	int rc = known_add(run, run->seen, run->seen_count, NULL, err);

	if (rc == 0)
		run->now->last_step = run->steps;
	return rc;
}
