/* NAME:key=value…, NAME being any that users know: a solver, set, and the schedule that its name ended in. */
#include <strata/solver.h>

#include "core/class.h"

#include <string.h>

static int fill(const struct strata_class *cls, const char *first, const char *then, size_t length,
		struct strata_arena *arena, struct strata_spec *ret_spec, struct strata_error *err)
{
	struct strata_schema schema = class_schema(cls);
	void *conf = strata_arena_get(arena, schema.conf_size);
	int rc = conf ? strata_schema_defaults(&schema, arena, conf, err) : strata_fail_memory(err);

	if (rc == 0 && first)
		rc = strata_schema_read_text(&schema, first, strlen(first), arena, conf, err);
	if (rc == 0 && length)
		rc = strata_schema_read_text(&schema, then, length, arena, conf, err);
	if (rc == 0)
		*ret_spec = (struct strata_spec){ cls, conf };
	return rc;
}

int strata_solver_read(const struct strata_registry *solvers,
		       const struct strata_registry *schedules, const char *text, size_t length,
		       struct strata_arena *arena, struct strata_solver_setup *ret_setup,
		       struct strata_error *err)
{
	const char *colon = memchr(text, ':', length);
	size_t name_length = colon ? (size_t)(colon - text) : length;
	struct strata_solver_setup setup = { 0 };
	struct strata_solver_name name;
	int rc = strata_solver_find(solvers, schedules, text, name_length, &name, err);

	if (rc == 0)
		rc = fill(name.cls, name.options, text + name_length + 1,
			  colon ? length - name_length - 1 : 0, arena, &setup.solver, err);
	if (rc == 0 && name.schedule)
		rc = fill(name.schedule, NULL, NULL, 0, arena, &setup.schedule, err);
	if (rc)
		return rc;
	setup.drop_penultimate = name.drop_penultimate;
	*ret_setup = setup;
	return 0;
}
