/*
 * diffusers' scheduler_config.json: which solver, and how it is set. The class is the one that `_class_name` names (every
 * solver has it among its aliases) unless the caller names another. Keys that the class does not have are passed
 * over, as diffusers does, so a file written for one solver serves another; null means the default. Keys that the file
 * lacks get diffusers' defaults.
 */
#ifndef FORMATS_SCHEDULER_CONFIG_H
#define FORMATS_SCHEDULER_CONFIG_H

#include <strata/solver.h>

#include <jansson.h>

/* The same as strata_solver_read_config from a document that was parsed already. */
int scheduler_config_read(const struct strata_registry *solvers, const json_t *object,
			  const struct strata_solver_name *named, struct strata_arena *arena,
			  struct strata_spec *ret_spec, struct strata_error *err);

#endif
