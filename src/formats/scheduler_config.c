/* Reading a scheduler_config.json: find the class, keep the keys it has, and let its option table do the rest. */
#include "formats/scheduler_config.h"
#include "formats/python_json.h"

#include "core/class.h"
#include "core/option.h"

#include <errno.h>
#include <string.h>

/* Betas that are given one by one leave nothing to a schedule: then it may be one that the class does not have. */
static bool is_idle(const json_t *object, const char *key, const json_t *value)
{
	const char *schedule = json_string_value(value);

	return strcmp(key, "beta_schedule") == 0 && schedule &&
	       json_is_array(json_object_get(object, "trained_betas")) &&
	       strcmp(schedule, "squaredcos_cap_v2") != 0;
}

/* The keys of the object that the class has, without those that are null. A new reference or NULL. */
static json_t *known_keys(const struct strata_schema *schema, const json_t *object)
{
	json_t *known = json_object(), *value;
	const char *key;

	json_object_foreach((json_t *)object, key, value)
	{
		const struct strata_option *option = option_find(schema, key, strlen(key));

		if (!known || !option || json_is_null(value) || is_idle(object, key, value))
			continue;
		if (json_object_set(known, option->name, value)) {
			json_decref(known);
			known = NULL;
		}
	}
	return known;
}

static int find_class(const struct strata_registry *solvers, const json_t *object,
		      struct strata_solver_name *ret_name, struct strata_error *err)
{
	const char *name = json_string_value(json_object_get(object, "_class_name"));

	if (!name)
		return strata_fail_at(
			err, -EINVAL, "_class_name",
			"the configuration names no solver; expected _class_name, as in "
			"\"_class_name\": \"DDIMScheduler\"");
	return strata_solver_find(solvers, NULL, name, strlen(name), ret_name, err);
}

static int read_text(const struct strata_schema *schema, const char *text,
		     struct strata_arena *arena, void *conf, struct strata_error *err)
{
	return text ? strata_schema_read_text(schema, text, strlen(text), arena, conf, err) : 0;
}

int scheduler_config_read(const struct strata_registry *solvers, const json_t *object,
			  const struct strata_solver_name *named, struct strata_arena *arena,
			  struct strata_spec *ret_spec, struct strata_error *err)
{
	struct strata_solver_name name = { 0 };
	int rc = 0;

	if (!json_is_object(object))
		return strata_fail(err, -EINVAL, "a solver's configuration is a JSON object");
	if (named)
		name = *named;
	else
		rc = find_class(solvers, object, &name, err);
	if (rc)
		return rc;
	const struct strata_solver_class *solver = (const struct strata_solver_class *)name.cls;
	struct strata_schema schema = class_schema(name.cls);
	void *conf = strata_arena_get(arena, schema.conf_size);
	json_t *known = known_keys(&schema, object);

	if (!conf || !known) {
		json_decref(known);
		return strata_fail_memory(err);
	}
	rc = strata_schema_defaults(&schema, arena, conf, err);
	if (rc == 0)
		rc = read_text(&schema, solver->file_defaults, arena, conf, err);
	if (rc == 0)
		rc = option_read_json(&schema, known, OPTION_PARTIAL, arena, conf, err);
	if (rc == 0)
		rc = read_text(&schema, name.options, arena, conf, err);
	json_decref(known);
	if (rc == 0)
		*ret_spec = (struct strata_spec){ name.cls, conf };
	return rc;
}

int strata_solver_read_config(const struct strata_registry *solvers, const char *json,
			      size_t length, const struct strata_solver_name *named,
			      struct strata_arena *arena, struct strata_spec *ret_spec,
			      struct strata_error *err)
{
	json_t *object;
	int rc = python_json_load(json, length, arena, &object, err);

	if (rc == 0) {
		rc = scheduler_config_read(solvers, object, named, arena, ret_spec, err);
		json_decref(object);
	}
	return rc;
}

int strata_solver_read_over(const struct strata_registry *solvers,
			    const struct strata_registry *schedules, const char *name,
			    const char *json, size_t length, struct strata_arena *arena,
			    struct strata_solver_setup *ret_setup, struct strata_error *err)
{
	struct strata_solver_setup setup = { 0 };
	struct strata_solver_name named = { 0 };
	const char *options = name ? strchr(name, ':') : NULL;
	size_t name_length = name ? strcspn(name, ":") : 0;
	int rc = name ? strata_solver_find(solvers, schedules, name, name_length, &named, err) : 0;

	if (rc == 0 && named.schedule) /* the schedule behind the name, with its defaults */
		rc = strata_solver_read(solvers, schedules, name, name_length, arena, &setup, err);
	if (rc == 0)
		rc = strata_solver_read_config(solvers, json, length, name ? &named : NULL, arena,
					       &setup.solver, err);
	if (rc == 0 && options) {
		struct strata_schema schema = class_schema(setup.solver.cls);

		rc = strata_schema_read_text(&schema, options + 1, strlen(options + 1), arena,
					     setup.solver.conf, err);
	}
	if (rc)
		return rc;
	setup.drop_penultimate = named.drop_penultimate;
	*ret_setup = setup;
	return 0;
}
