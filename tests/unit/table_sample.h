/* Tables of named solvers, for tests. */
#ifndef TABLE_SAMPLE_H
#define TABLE_SAMPLE_H

#include "test.h"

#include <strata/solver.h>

#include <string.h>

/* The solver `name:key=value…`. Its configuration lives in the arena. */
static inline struct strata_solver_table *sample_table_for(
	const char *name, const struct strata_solver_request *request, struct strata_memory *memory,
	struct strata_arena *arena)
{
	struct strata_solver_table *table;
	struct strata_spec spec;
	struct strata_error err;

	CHECK_OK(strata_spec_build(&strata_solver_kind, name, arena, &spec, &err));
	CHECK_OK(strata_solver_compile((const struct strata_solver_class *)spec.cls, spec.conf,
				       request, memory, &table, &err));
	return table;
}

/* With so many steps. */
static inline struct strata_solver_table *sample_table(const char *name, int64_t steps,
						       struct strata_memory *memory,
						       struct strata_arena *arena)
{
	return sample_table_for(name, &(struct strata_solver_request){ .steps = steps }, memory,
				arena);
}

/* With noise levels of the test's. */
static inline struct strata_solver_table *sample_table_at(const char *name, const double *sigmas,
							  size_t count,
							  struct strata_memory *memory,
							  struct strata_arena *arena)
{
	return sample_table_for(
		name, &(struct strata_solver_request){ .sigmas = sigmas, .sigma_count = count },
		memory, arena);
}

#endif
