/* A run: the hooks of a loop, and what each makes due. As long as the loop goes as the plan says, that is a slice of the plan. */
#include "stage/run.h"
#include "stage/stage_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

const char *strata_stage_hook_name(enum strata_stage_hook hook)
{
	static const char *const names[STRATA_STAGE_HOOK_COUNT] = {
		[STRATA_STAGE_STEP_START] = "on_step_start",
		[STRATA_STAGE_PRE_FORWARD] = "on_pre_forward",
		[STRATA_STAGE_POST_FORWARD] = "on_post_forward",
		[STRATA_STAGE_PRE_BACKWARD] = "on_pre_backward",
		[STRATA_STAGE_POST_BACKWARD] = "on_post_backward",
		[STRATA_STAGE_STEP_END] = "on_step_end",
	};

	return (unsigned)hook < STRATA_STAGE_HOOK_COUNT ? names[hook] : "unknown";
}

/* ---- new and free ---- */

void strata_stage_run_free(struct strata_stage_run *run)
{
	if (!run)
		return;
	while (run->plan_count)
		known_drop(run, run->plan_count - 1);
	strata_memory_put(run->memory, run->seen, run->seen_room * sizeof(*run->seen));
	strata_memory_put(run->memory, run->odd, run->odd_count * sizeof(*run->odd));
	strata_arena_fini(&run->arena);
	strata_memory_put(run->memory, run, sizeof(*run));
}

static int copy_layers(struct strata_stage_run *run, const struct strata_stage_model *model,
		       struct strata_error *err)
{
	size_t n = model->layer_count;
	struct strata_stage_layer *layers = strata_arena_array(&run->arena, n, sizeof(*layers));

	run->layer_pages = strata_arena_array(&run->arena, n, sizeof(*run->layer_pages));
	run->held = strata_arena_array(&run->arena, n, sizeof(*run->held));
	run->want = strata_arena_array(&run->arena, n, sizeof(*run->want));
	run->line = strata_arena_array(&run->arena, n, sizeof(*run->line));
	run->made = strata_arena_array(&run->arena, 2 * n + 2, sizeof(*run->made));
	if (!layers || !run->layer_pages || !run->held || !run->want || !run->line || !run->made)
		return strata_fail_memory(err);
	memcpy(layers, model->layers, n * sizeof(*layers));
	run->model = (struct strata_stage_model){ .layers = layers, .layer_count = n };
	return stage_measure(&run->model, &run->machine, run->layer_pages, &run->budget, err);
}

/* Each layer once, in turn, when no order is given. */
static int add_declared(struct strata_stage_run *run, const struct strata_stage_run_conf *conf,
			struct strata_error *err)
{
	const struct strata_stage_model *model = conf->model;
	const uint32_t *order = model->order;

	if (!order) {
		for (uint32_t i = 0; i < model->layer_count; i++)
			run->line[i] = i;
		order = run->line;
	}
	return known_add(run, order, model->visit_count, conf->plan, err);
}

static int check_conf(const struct strata_stage_run_conf *conf, struct strata_error *err)
{
	const struct strata_stage_model *model = conf->model;

	if (model->layer_count < 1 || model->layer_count > STRATA_STAGE_VISITS_MAX ||
	    model->visit_count > STRATA_STAGE_VISITS_MAX ||
	    (model->visit_count && !model->order && model->visit_count != model->layer_count))
		return strata_fail_at(
			err, -EINVAL, "layers", "%zu layers, %zu visits; expected 1 to %d layers",
			model->layer_count, model->visit_count, STRATA_STAGE_VISITS_MAX);
	if (conf->plan && !model->visit_count)
		return strata_fail_at(err, -EINVAL, "plan", "a plan needs the order it is for");
	return 0;
}

int strata_stage_run_new(const struct strata_stage_run_conf *conf, struct strata_memory *memory,
			 struct strata_stage_run **ret_run, struct strata_error *err)
{
	int rc = check_conf(conf, err);

	if (rc)
		return rc;
	struct strata_stage_run *run = strata_memory_get(memory, sizeof(*run));

	if (!run)
		return strata_fail_memory(err);
	run->memory = memory;
	strata_arena_init(&run->arena, memory, 0);
	run->machine = conf->machine;
	if (conf->plan) {
		run->machine.page_bytes = conf->plan->page_bytes;
		run->machine.budget_bytes = conf->plan->budget_pages * conf->plan->page_bytes;
	}
	run->planner = conf->planner;
	run->computing = RUN_NONE;
	run->backward = !conf->model->visit_count || conf->model->backward_count;
	rc = copy_layers(run, conf->model, err);
	if (rc == 0 && conf->model->visit_count)
		rc = add_declared(run, conf, err);
	if (rc) {
		strata_stage_run_free(run);
		return rc;
	}
	*ret_run = run;
	return 0;
}

/* ---- as planned ---- */

static bool waits(const struct strata_stage_entry *entry)
{
	return entry->kind == STRATA_STAGE_FETCH || entry->kind == STRATA_STAGE_COMPUTE;
}

/* Entries up to one that would have to wait. */
static void take_ready(struct strata_stage_run *run, struct strata_stage_due *due)
{
	const struct strata_stage_plan *plan = &run->now->plan;
	size_t first = run->at;

	while (run->at < plan->entry_count && !waits(&plan->entries[run->at]))
		run_apply(run, &plan->entries[run->at++]);
	*due = (struct strata_stage_due){ plan->entries + first, run->at - first, false };
}

/* Entries up to one that is known. */
static void take_until(struct strata_stage_run *run, size_t end, struct strata_stage_due *due)
{
	const struct strata_stage_plan *plan = &run->now->plan;

	*due = (struct strata_stage_due){ plan->entries + run->at, end - run->at, false };
	while (run->at < end)
		run_apply(run, &plan->entries[run->at++]);
}

/* ---- the hooks ---- */

static int step_start(struct strata_stage_run *run, struct strata_stage_due *due,
		      struct strata_error *err)
{
	if (run->in_step)
		return strata_fail(err, -EINVAL, "on_step_start: the last step has not ended");
	run->in_step = true;
	run->seen_count = 0;
	run->at = run->visit = 0;
	for (size_t i = 0; i < run->plan_count; i++)
		run->plans[i]->fits = true;
	if (!run->now)
		return 0;
	run_move(run, run->now, 0); /* before the first step that reads what a step begins with */
	if (run->made_count)
		*due = (struct strata_stage_due){ run->made, run->made_count, false };
	else
		take_ready(run, due);
	return 0;
}

static int note_seen(struct strata_stage_run *run, uint32_t layer, struct strata_error *err)
{
	if (run->seen_count == STRATA_STAGE_VISITS_MAX)
		return strata_fail(err, -E2BIG, "a step of more than %d visits",
				   STRATA_STAGE_VISITS_MAX);
	if (run->seen_count == run->seen_room) {
		size_t room = run->seen_room ? 2 * run->seen_room : 64;
		uint32_t *seen = strata_memory_resize(run->memory, run->seen,
						      run->seen_room * sizeof(*seen),
						      room * sizeof(*seen));

		if (!seen)
			return strata_fail_memory(err);
		run->seen = seen;
		run->seen_room = room;
	}
	for (size_t i = 0; i < run->plan_count; i++) {
		struct known *known = run->plans[i];

		known->fits = known->fits && run->seen_count < known->visit_count &&
			      known->order[run->seen_count] == layer;
	}
	run->seen[run->seen_count++] = layer;
	return 0;
}

/* Another plan that is for a step like this one, or where this plan has the layer next. */
static bool find_match(struct strata_stage_run *run, uint32_t layer)
{
	for (size_t i = 0; i < run->plan_count; i++)
		if (run->plans[i]->fits) {
			run->now = run->plans[i];
			run->visit = run->seen_count - 1;
			return true;
		}
	for (size_t v = run->visit; run->now && v < run->now->visit_count; v++)
		if (run->now->order[v] == layer) {
			run->visit = v;
			return true;
		}
	return false;
}

static int pre(struct strata_stage_run *run, uint32_t layer, struct strata_stage_due *due,
	       struct strata_error *err)
{
	if (run->computing != RUN_NONE)
		return strata_fail(err, -EINVAL, "layer %u has not ended", run->computing);
	int rc = note_seen(run, layer, err);

	if (rc)
		return rc;
	run->computing = layer;
	run->visits++;
	if (run->now && run->visit < run->now->visit_count &&
	    run->now->order[run->visit] == layer) {
		take_until(run, run->now->compute_at[run->visit++] + 1, due);
		return 0;
	}
	run->surprises += run->plan_count > 0; /* in a step that is recorded nothing is one */
	if (find_match(run, layer)) {
		size_t entry = run->now->compute_at[run->visit++];

		run_move(run, run->now, entry);
		run->at = entry + 1;
	} else {
		run_detour(run, layer);
	}
	*due = (struct strata_stage_due){ run->made, run->made_count, run->plan_count > 0 };
	return 0;
}

static int post(struct strata_stage_run *run, uint32_t layer, struct strata_stage_due *due,
		struct strata_error *err)
{
	if (run->computing != layer)
		return strata_fail(err, -EINVAL, "layer %u has not begun", layer);
	run->computing = RUN_NONE;
	if (!run->now)
		return 0;
	if (!run->detour) {
		take_ready(run, due);
		return 0;
	}
	run_move(run, run->now, run->at);
	run->detour = false;
	*due = (struct strata_stage_due){ run->made, run->made_count, true };
	return 0;
}

static int step_end(struct strata_stage_run *run, struct strata_stage_due *due,
		    struct strata_error *err)
{
	if (run->computing != RUN_NONE)
		return strata_fail(err, -EINVAL, "layer %u has not ended", run->computing);
	run->in_step = false;
	run->steps++;
	if (run->now && run->now->fits && run->seen_count == run->now->visit_count)
		take_until(run, run->now->plan.entry_count, due);
	return known_choose(run, err);
}

int strata_stage_run_hook(struct strata_stage_run *run, enum strata_stage_hook hook, uint32_t layer,
			  struct strata_stage_due *ret_due, struct strata_error *err)
{
	bool backward = hook == STRATA_STAGE_PRE_BACKWARD || hook == STRATA_STAGE_POST_BACKWARD;
	struct strata_stage_due due = { 0 };
	int rc = 0;

	if ((unsigned)hook >= STRATA_STAGE_HOOK_COUNT)
		return strata_fail(err, -EINVAL, "there is no hook %d", (int)hook);
	if (hook != STRATA_STAGE_STEP_START && !run->in_step)
		return strata_fail(err, -EINVAL, "%s: no step has begun",
				   strata_stage_hook_name(hook));
	if (hook != STRATA_STAGE_STEP_START && hook != STRATA_STAGE_STEP_END &&
	    layer >= run->model.layer_count)
		return strata_fail(err, -EINVAL, "layer %u; there are %zu", layer,
				   run->model.layer_count);
	run->made_count = 0;
	if (hook == STRATA_STAGE_STEP_START)
		rc = step_start(run, &due, err);
	else if (hook == STRATA_STAGE_STEP_END)
		rc = step_end(run, &due, err);
	else if (backward && !run->backward)
		; /* the plan is of forward visits only */
	else if (hook == STRATA_STAGE_PRE_FORWARD || hook == STRATA_STAGE_PRE_BACKWARD)
		rc = pre(run, layer, &due, err);
	else
		rc = post(run, layer, &due, err);
	if (rc == 0)
		*ret_due = due;
	return rc;
}

void strata_stage_run_progress(const struct strata_stage_run *run,
			       struct strata_stage_progress *ret_progress)
{
	*ret_progress = (struct strata_stage_progress){ .plan = run->now ? &run->now->plan : NULL,
							.plans = run->plan_count,
							.steps = run->steps,
							.visits = run->visits,
							.surprises = run->surprises,
							.used_pages = run->used,
							.peak_pages = run->peak };
}
