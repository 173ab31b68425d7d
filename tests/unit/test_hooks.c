/* What each hook makes due, as planned; hooks in an impossible order. */
#include "test.h"

#include <strata/limits.h>
#include <strata/stage.h>

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

static const struct strata_stage_layer layers[] = { { "L1", 10, 100 }, { "L2", 20, 100 } };

/* fetch L1, compute L1, prefetch L2, release L1, fetch L2, compute L2, release L2: as users write it */
static const struct strata_stage_entry entries[] = {
	{ STRATA_STAGE_FETCH, 0, 0, 1, 0 },    { STRATA_STAGE_COMPUTE, 0, 0, 1, 0 },
	{ STRATA_STAGE_PREFETCH, 1, 0, 2, 1 }, { STRATA_STAGE_RELEASE, 0, 0, 1, 0 },
	{ STRATA_STAGE_FETCH, 1, 2, 0, 1 },    { STRATA_STAGE_COMPUTE, 1, 0, 2, 1 },
	{ STRATA_STAGE_RELEASE, 1, 0, 2, 1 },
};
static const uint32_t layer_pages[] = { 1, 2 }, held[] = { 0, 0 };

static struct strata_stage_run *begin(size_t backward_count)
{
	static const uint32_t order[] = { 0, 1 };
	const struct strata_stage_model model = { layers, 2, order, 2, backward_count };
	const struct strata_stage_plan plan = { .planner = "hand",
						.page_bytes = 10,
						.budget_pages = 3,
						.layer_count = 2,
						.visit_count = 2,
						.layer_pages = layer_pages,
						.held = held,
						.entries = entries,
						.entry_count = 7 };
	const struct strata_stage_run_conf conf = { .model = &model, .plan = &plan };
	struct strata_stage_run *run;

	CHECK_OK(strata_stage_run_new(&conf, &memory, &run, &err));
	return run;
}

static void check_due(struct strata_stage_run *run, enum strata_stage_hook hook, uint32_t layer,
		      size_t first, size_t count)
{
	struct strata_stage_due due;

	CHECK_OK(strata_stage_run_hook(run, hook, layer, &due, &err));
	CHECK_INT(due.count, count);
	if (count)
		CHECK_BYTES(due.entries, entries + first, count * sizeof(*entries));
	CHECK(!due.surprise);
}

TEST(pre_runs_up_to_the_compute_and_post_what_is_after_it)
{
	struct strata_stage_run *run = begin(0);

	for (int i = 0; i < 3; i++) {
		check_due(run, STRATA_STAGE_STEP_START, 0, 0, 0);
		check_due(run, STRATA_STAGE_PRE_FORWARD, 0, 0, 2);
		check_due(run, STRATA_STAGE_POST_FORWARD, 0, 2, 2);
		check_due(run, STRATA_STAGE_PRE_FORWARD, 1, 4, 2);
		check_due(run, STRATA_STAGE_POST_FORWARD, 1, 6, 1);
		/* a schedule without backward entries: these do nothing */
		check_due(run, STRATA_STAGE_PRE_BACKWARD, 1, 0, 0);
		check_due(run, STRATA_STAGE_POST_BACKWARD, 1, 0, 0);
		check_due(run, STRATA_STAGE_STEP_END, 0, 0, 0);
	}
	strata_stage_run_free(run);
}

TEST(backward_hooks_follow_backward_visits)
{
	struct strata_stage_run *run = begin(1);

	check_due(run, STRATA_STAGE_STEP_START, 0, 0, 0);
	check_due(run, STRATA_STAGE_PRE_FORWARD, 0, 0, 2);
	check_due(run, STRATA_STAGE_POST_FORWARD, 0, 2, 2);
	check_due(run, STRATA_STAGE_PRE_BACKWARD, 1, 4, 2);
	check_due(run, STRATA_STAGE_POST_BACKWARD, 1, 6, 1);
	check_due(run, STRATA_STAGE_STEP_END, 0, 0, 0);
	strata_stage_run_free(run);
}

TEST(hooks_in_an_impossible_order_are_refused)
{
	struct strata_stage_run *run = begin(0);
	struct strata_stage_due due;

	CHECK_INT(strata_stage_run_hook(run, STRATA_STAGE_PRE_FORWARD, 0, &due, &err), -EINVAL);
	CHECK_TEXT(err.text, "on_pre_forward: no step has begun");
	check_due(run, STRATA_STAGE_STEP_START, 0, 0, 0);
	CHECK_INT(strata_stage_run_hook(run, STRATA_STAGE_STEP_START, 0, &due, &err), -EINVAL);
	CHECK_INT(strata_stage_run_hook(run, STRATA_STAGE_POST_FORWARD, 0, &due, &err), -EINVAL);
	CHECK_TEXT(err.text, "layer 0 has not begun");
	CHECK_INT(strata_stage_run_hook(run, STRATA_STAGE_PRE_FORWARD, 2, &due, &err), -EINVAL);
	CHECK_TEXT(err.text, "layer 2; there are 2");
	check_due(run, STRATA_STAGE_PRE_FORWARD, 0, 0, 2);
	CHECK_INT(strata_stage_run_hook(run, STRATA_STAGE_PRE_FORWARD, 1, &due, &err), -EINVAL);
	CHECK_TEXT(err.text, "layer 0 has not ended");
	CHECK_INT(strata_stage_run_hook(run, STRATA_STAGE_STEP_END, 0, &due, &err), -EINVAL);
	CHECK_INT(strata_stage_run_hook(run, (enum strata_stage_hook)STRATA_STAGE_HOOK_COUNT, 0,
					&due, &err),
		  -EINVAL);
	check_due(run, STRATA_STAGE_POST_FORWARD, 0, 2, 2);
	strata_stage_run_free(run);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_plan_that_breaks_a_rule_is_not_followed)
{
	const struct strata_stage_model model = { layers, 2, NULL, 2 };
	const struct strata_stage_plan plan = { .page_bytes = 10,
						.budget_pages = 2, /* three are needed */
						.layer_count = 2,
						.visit_count = 2,
						.layer_pages = layer_pages,
						.held = held,
						.entries = entries,
						.entry_count = 7 };
	const struct strata_stage_run_conf conf = { .model = &model, .plan = &plan };
	struct strata_stage_run *run;

	CHECK_INT(strata_stage_run_new(&conf, &memory, &run, &err), -EINVAL);
	CHECK_TEXT(err.text, "entry 2 (prefetch of L2): there is no frame left for it");
	CHECK_INT(memory.used_bytes, 0);
}

static int refused(const struct strata_stage_model *model, const struct strata_stage_plan *plan)
{
	const struct strata_stage_run_conf conf = { .model = model,
						    .plan = plan,
						    .machine = { 10, 30, 1000 } };
	struct strata_stage_run *run = NULL;
	int rc = strata_stage_run_new(&conf, &memory, &run, &err);

	strata_stage_run_free(run);
	return rc;
}

TEST(a_run_of_nothing_is_refused)
{
	static const uint32_t order[] = { 0, 1 };
	struct strata_stage_plan plan = { .page_bytes = 10,
					  .budget_pages = 3,
					  .layer_count = 2,
					  .visit_count = 2,
					  .layer_pages = layer_pages,
					  .held = held,
					  .entries = entries,
					  .entry_count = 7 };
	struct strata_stage_model model = { layers, 2, order, 2, 0 };

	CHECK_OK(refused(&model, &plan));
	model.visit_count = 0;
	CHECK_ERROR(refused(&model, &plan), -EINVAL, "a plan needs the order it is for");
	CHECK_OK(refused(&model, NULL)); /* it is recorded in the first step */
	model = (struct strata_stage_model){ layers, 0, order, 2, 0 };
	CHECK_ERROR(refused(&model, NULL), -EINVAL, "0 layers, 2 visits");
	model = (struct strata_stage_model){ layers, 2, NULL, 1, 0 };
	CHECK_ERROR(refused(&model, NULL), -EINVAL, "2 layers, 1 visits");
	model = (struct strata_stage_model){ layers, 2, order, STRATA_STAGE_VISITS_MAX + 1, 0 };
	CHECK_ERROR(refused(&model, NULL), -EINVAL, "expected 1 to 4194304 layers");
	model = (struct strata_stage_model){ layers, STRATA_STAGE_VISITS_MAX + 1, order, 2, 0 };
	CHECK_ERROR(refused(&model, NULL), -EINVAL, "expected 1 to 4194304 layers");
	model = (struct strata_stage_model){ layers, 2, order, 2, 0 };
	plan.visit_count = 1;
	CHECK_ERROR(refused(&model, &plan), -EINVAL, "the plan is of another model");
	plan.visit_count = 2;
	plan.layer_count = 1;
	CHECK_ERROR(refused(&model, &plan), -EINVAL, "the plan is of another model");
	plan.layer_count = 2;
	plan.page_bytes = 0;
	CHECK_ERROR(refused(&model, &plan), -EINVAL, "page or budget is not above 0");
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(strata_stage_verify(&plan, &model, &arena, &err), -EINVAL,
		    "the plan has no size of pages");
	strata_arena_fini(&arena);
	plan.page_bytes = 20;
	CHECK_ERROR(refused(&model, &plan), -EINVAL, "layer 1 has 1 pages");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_step_has_a_most_of_visits)
{
	const struct strata_stage_model model = { layers, 2, NULL, 0, 0 };
	const struct strata_stage_run_conf conf = { .model = &model,
						    .machine = { 10, 30, 1000 } };
	struct strata_stage_run *run;
	struct strata_stage_due due;

	CHECK_OK(strata_stage_run_new(&conf, &memory, &run, &err));
	CHECK_OK(strata_stage_run_hook(run, STRATA_STAGE_STEP_START, 0, &due, &err));
	for (int i = 0; i < STRATA_STAGE_VISITS_MAX; i++) {
		CHECK_OK(strata_stage_run_hook(run, STRATA_STAGE_PRE_FORWARD, 0, &due, &err));
		CHECK_OK(strata_stage_run_hook(run, STRATA_STAGE_POST_FORWARD, 0, &due, &err));
	}
	CHECK_ERROR(strata_stage_run_hook(run, STRATA_STAGE_PRE_FORWARD, 0, &due, &err), -E2BIG,
		    "a step of more than 4194304 visits");
	strata_stage_run_free(run);
	CHECK_INT(memory.used_bytes, 0);
}
