/* A schedule of the stage level, as text or JSON, and what it becomes: whatever passes the verifier can be followed. */
#include "formats/stage_schedule.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void follow(const struct stage_schedule *schedule, const struct strata_stage_plan *plan,
		   struct strata_memory *memory)
{
	const struct strata_stage_run_conf conf = { .model = &schedule->model, .plan = plan };
	const struct strata_stage_model *model = &schedule->model;
	size_t forward = model->visit_count - model->backward_count;
	struct strata_stage_run *run;
	struct strata_stage_due due;

	if (strata_stage_run_new(&conf, memory, &run, NULL))
		return;
	assert(strata_stage_run_hook(run, STRATA_STAGE_STEP_START, 0, &due, NULL) == 0);
	for (size_t v = 0; v < model->visit_count; v++) {
		bool ahead = v < forward;

		assert(strata_stage_run_hook(
			       run, ahead ? STRATA_STAGE_PRE_FORWARD : STRATA_STAGE_PRE_BACKWARD,
			       model->order[v], &due, NULL) == 0);
		assert(due.count && !due.surprise);
		assert(strata_stage_run_hook(
			       run, ahead ? STRATA_STAGE_POST_FORWARD : STRATA_STAGE_POST_BACKWARD,
			       model->order[v], &due, NULL) == 0);
	}
	strata_stage_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct stage_schedule schedule;
	struct strata_stage_plan plan;
	struct strata_stage_machine machine = { .page_bytes = 1, .budget_bytes = 16 };

	strata_arena_init(&arena, &memory, 0);
	int rc = stage_schedule_read((const char *)data, size, NULL, &arena, &schedule, &err);

	if (rc) {
		assert(err.code == rc && err.text[0]);
	} else {
		if (schedule.page_bytes)
			machine.page_bytes = schedule.page_bytes;
		if (schedule.budget_bytes)
			machine.budget_bytes = schedule.budget_bytes;
		rc = strata_stage_schedule(&schedule.model, &machine, schedule.held,
					   schedule.entries, schedule.entry_count, &arena, &plan,
					   &err);
		if (rc == 0 && strata_stage_verify(&plan, &schedule.model, &arena, &err) == 0)
			follow(&schedule, &plan, &memory);
	}
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
