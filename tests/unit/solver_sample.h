/* Solvers by any name, compiled, for tests. */
#ifndef SOLVER_SAMPLE_H
#define SOLVER_SAMPLE_H

#include "test.h"

#include <strata/solver.h>

#include <string.h>

struct solver_sample {
	struct strata_memory memory;
	struct strata_arena arena;
	struct strata_registry *solvers, *schedules;
	struct strata_solver_setup setup;
	struct strata_error err;
};

static inline void solver_sample_start(struct solver_sample *sample)
{
	*sample = (struct solver_sample){ 0 };
	strata_arena_init(&sample->arena, &sample->memory, 0);
	if (strata_registry_new(&strata_solver_kind, &sample->memory, &sample->solvers, NULL) ||
	    strata_registry_new(&strata_schedule_kind, &sample->memory, &sample->schedules, NULL))
		test_fail(__FILE__, __LINE__, "no registry");
}

static inline void solver_sample_end(struct solver_sample *sample)
{
	strata_registry_free(sample->solvers);
	strata_registry_free(sample->schedules);
	strata_arena_fini(&sample->arena);
	CHECK_INT(sample->memory.used_bytes, 0);
}

static inline int solver_sample_read(struct solver_sample *sample, const char *text)
{
	return strata_solver_read(sample->solvers, sample->schedules, text, strlen(text),
				  &sample->arena, &sample->setup, &sample->err);
}

/* The conf of `name:key=value…`. */
static inline const void *solver_sample_conf(struct solver_sample *sample, const char *text)
{
	if (solver_sample_read(sample, text))
		test_fail(__FILE__, __LINE__, "%s: %s", text, sample->err.text);
	return sample->setup.solver.conf;
}

static inline int solver_sample_compile(struct solver_sample *sample, const char *text,
					const struct strata_solver_request *request,
					struct strata_solver_table **ret_table)
{
	struct strata_solver_request asked = *request;
	int rc = solver_sample_read(sample, text);

	if (rc)
		return rc;
	if (sample->setup.schedule.cls && !asked.schedule)
		asked.schedule = &sample->setup.schedule;
	asked.drop_penultimate |= sample->setup.drop_penultimate;
	return strata_solver_compile((const struct strata_solver_class *)sample->setup.solver.cls,
				     sample->setup.solver.conf, &asked, &sample->memory, ret_table,
				     &sample->err);
}

/* The same with so many steps; fails the test when it does not compile. */
static inline struct strata_solver_table *solver_sample_table(struct solver_sample *sample,
							      const char *text, int64_t steps)
{
	struct strata_solver_request request = { .steps = steps };
	struct strata_solver_table *table = NULL;

	if (solver_sample_compile(sample, text, &request, &table))
		test_fail(__FILE__, __LINE__, "%s: %s", text, sample->err.text);
	return table;
}

/* A fresh draft on the sample's arena. */
static inline struct strata_solver_draft solver_sample_draft(struct solver_sample *sample)
{
	return (struct strata_solver_draft){ .arena = &sample->arena, .init_noise_sigma = 1 };
}

#endif
