/* From a name to a table in one call: what most callers want of names, settings and compiling. */
#include <strata/solver.h>

#include <string.h>

static int build(const struct strata_registry *solvers, const struct strata_registry *schedules,
		 const char *text, const struct strata_solver_request *request,
		 struct strata_memory *memory, struct strata_solver_table **ret_table,
		 struct strata_error *err)
{
	struct strata_solver_request asked = *request;
	struct strata_solver_setup setup;
	struct strata_arena arena;

	strata_arena_init(&arena, memory, 0);
	int rc = strata_solver_read(solvers, schedules, text, strlen(text), &arena, &setup, err);

	if (rc == 0) {
		if (setup.schedule.cls && !asked.schedule)
			asked.schedule = &setup.schedule;
		asked.drop_penultimate |= setup.drop_penultimate;
		rc = strata_solver_compile((const struct strata_solver_class *)setup.solver.cls,
					   setup.solver.conf, &asked, memory, ret_table, err);
	}
	strata_arena_fini(&arena);
	return rc;
}

int strata_solver_build_for(const char *text, const struct strata_solver_request *request,
			    struct strata_memory *memory, struct strata_solver_table **ret_table,
			    struct strata_error *err)
{
	struct strata_registry *solvers = NULL, *schedules = NULL;
	int rc = strata_registry_new(&strata_solver_kind, memory, &solvers, err);

	if (rc == 0)
		rc = strata_registry_new(&strata_schedule_kind, memory, &schedules, err);
	if (rc == 0)
		rc = build(solvers, schedules, text, request, memory, ret_table, err);
	strata_registry_free(schedules);
	strata_registry_free(solvers);
	return rc;
}

int strata_solver_build(const char *text, int64_t steps, struct strata_memory *memory,
			struct strata_solver_table **ret_table, struct strata_error *err)
{
	const struct strata_solver_request request = { .steps = steps };

	return strata_solver_build_for(text, &request, memory, ret_table, err);
}
