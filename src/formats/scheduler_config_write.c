/*
 * Writing a scheduler_config.json: what scheduler_config.c reads, the other way. The keys of the training are always there, so that
 * the file can be read by people; of the others those that differ from what a reader takes when the key is missing, which is what
 * diffusers takes too. So nothing has to be written that JSON or diffusers has no word for, such as an infinite bound.
 */
#include "formats/scheduler_config.h"

#include "core/class.h"
#include "core/option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const always[] = { "num_train_timesteps", "beta_start",      "beta_end",
				      "beta_schedule",       "prediction_type", "timestep_spacing",
				      "steps_offset",        "shift",           NULL };

/* diffusers has schedules as keys, one at a time. */
static const struct {
	const char *schedule, *key;
} schedules[] = {
	{ "karras", "use_karras_sigmas" },
	{ "exponential", "use_exponential_sigmas" },
	{ "beta", "use_beta_sigmas" },
};
enum { SCHEDULES = sizeof(schedules) / sizeof(schedules[0]) };

static bool is_always(const char *key)
{
	for (const char *const *at = always; *at; at++)
		if (strcmp(*at, key) == 0)
			return true;
	return false;
}

/* The name that diffusers has for the class: the alias that ends as all of its do. */
static const char *diffusers_name(const struct strata_class *cls, size_t *ret_length)
{
	static const char end[] = "Scheduler";
	const size_t end_length = sizeof(end) - 1;
	const char *at = cls->aliases, *alias;

	while (class_next_alias(&at, &alias, ret_length))
		if (*ret_length > end_length &&
		    memcmp(alias + *ret_length - end_length, end, end_length) == 0)
			return alias;
	return NULL;
}

/* What a reader has when the file has no keys. */
static int read_nothing(const struct strata_class *cls, struct strata_arena *arena, void **ret_conf,
			struct strata_error *err)
{
	const char *text = ((const struct strata_solver_class *)cls)->file_defaults;
	struct strata_schema schema = class_schema(cls);
	void *conf = strata_arena_get(arena, schema.conf_size);
	int rc = conf ? strata_schema_defaults(&schema, arena, conf, err) : strata_fail_memory(err);

	if (rc == 0 && text)
		rc = strata_schema_read_text(&schema, text, strlen(text), arena, conf, err);
	*ret_conf = conf;
	return rc;
}

static int add_options(const struct strata_spec *spec, const void *usual, json_t *object,
		       struct strata_error *err)
{
	for (const struct strata_option *option = spec->cls->options; option->name; option++) {
		json_t *value =
			option_value_json(option, (const char *)spec->conf + option->offset);
		json_t *missing = option_value_json(option, (const char *)usual + option->offset);
		bool wanted = is_always(option->name) || !json_equal(value, missing);
		bool lost = !value || !missing;

		json_decref(missing);
		if (wanted && !lost)
			lost = json_object_set(object, option->name, value) != 0;
		json_decref(value);
		if (lost)
			return strata_fail_memory(err);
	}
	return 0;
}

/* A schedule that was asked for beside the solver becomes its key, with no other one set. */
static int add_schedule(const struct strata_solver_setup *setup, json_t *object,
			struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_class *solver = setup->solver.cls, *cls = setup->schedule.cls;
	struct strata_schema schema = class_schema(solver);
	const char *key = NULL, *usual, *text;
	struct strata_spec plain;

	if (!cls)
		return 0;
	int rc = strata_spec_build(&strata_schedule_kind, cls->name, arena, &plain, err);

	if (rc == 0)
		rc = strata_spec_print(&plain, arena, &usual, err);
	if (rc == 0)
		rc = strata_spec_print(&setup->schedule, arena, &text, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < SCHEDULES; i++) {
		json_object_del(object, schedules[i].key);
		if (strcmp(schedules[i].schedule, cls->name) == 0)
			key = schedules[i].key;
	}
	json_object_del(object, "use_lu_lambdas");
	if (setup->drop_penultimate)
		return strata_fail_at(
			err, -ENOTSUP, "schedule",
			"this name of %s leaves out the last noise level but one of a "
			"schedule, which diffusers does not; name it %s and put the "
			"schedule behind it as an option, such as %s=true",
			solver->name, solver->name, schedules[0].key);
	if (!key || strcmp(usual, text) != 0 || !option_find(&schema, key, strlen(key)))
		return strata_fail_at(err, -ENOTSUP, "schedule",
				      "a configuration of diffusers cannot have the schedule %.80s "
				      "with %s; expected karras, exponential or beta as they are, "
				      "with a solver that has the key use_karras_sigmas",
				      text, solver->name);
	return json_object_set_new(object, key, json_true()) ? strata_fail_memory(err) : 0;
}

static int print(const json_t *object, struct strata_arena *arena, const char **ret_json,
		 size_t *ret_length, struct strata_error *err)
{
	char *dump = json_dumps(object, JSON_INDENT(2));
	size_t length = dump ? strlen(dump) : 0;
	char *text = dump ? strata_arena_printf(arena, "%s\n", dump) : NULL;

	free(dump);
	if (!text)
		return strata_fail_memory(err);
	*ret_json = text;
	*ret_length = length + 1;
	return 0;
}

int strata_solver_write_config(const struct strata_solver_setup *setup, struct strata_arena *arena,
			       const char **ret_json, size_t *ret_length, struct strata_error *err)
{
	size_t length;
	const char *name = diffusers_name(setup->solver.cls, &length);
	void *usual;

	if (!name)
		return strata_fail_at(
			err, -ENOTSUP, "solver",
			"diffusers has no class for the solver %s; `strata solver list` "
			"shows which have one (…Scheduler)",
			setup->solver.cls->name);
	int rc = read_nothing(setup->solver.cls, arena, &usual, err);

	if (rc)
		return rc;
	json_t *object = json_object();

	rc = !object || json_object_set_new(object, "_class_name", json_stringn(name, length))
		     ? strata_fail_memory(err)
		     : 0;
	if (rc == 0)
		rc = add_options(&setup->solver, usual, object, err);
	if (rc == 0)
		rc = add_schedule(setup, object, arena, err);
	if (rc == 0)
		rc = print(object, arena, ret_json, ret_length, err);
	json_decref(object);
	return rc;
}
