/*
 * Bodies of POST /api/v1/jobs from what a caller has: the flags that were given, and under them its directory and environment. Only
 * what was given is in the body, so that the service's defaults are the only ones.
 */
#include "formats/job_spec.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

enum { VARIABLE_NAME_BYTES = 1024 };

static int begin_json(const char *text, const struct job_caller *caller, json_t **ret_json,
		      struct strata_error *err)
{
	char printed[STRATA_FORM_BYTES];
	int64_t ns;
	int rc = strata_begin_parse(text, STRATA_TEXT_NUL, caller->now_ns, caller->zone_seconds,
				    &ns, err);

	if (rc)
		return strata_fail_under(err, rc, "begin");
	*ret_json = json_string(strata_time_print(ns, printed));
	return *ret_json ? 0 : strata_fail_memory(err);
}

static int field_json(const struct job_spec *fields, const struct strata_option *option,
		      const struct job_caller *caller, json_t **ret_json, struct strata_error *err)
{
	const void *slot = (const char *)fields + option->offset;

	if (option->offset == offsetof(struct job_spec, begin))
		return begin_json(fields->begin, caller, ret_json, err);
	*ret_json = option->offset == offsetof(struct job_spec, working_dir)
			    ? job_spec_dir(caller, fields->working_dir)
			    : option_value_json(option, slot);
	return *ret_json ? 0 : strata_fail_memory(err);
}

int job_fields_add(const struct job_spec *fields, const struct origins *given,
		   const struct job_caller *caller, json_t *body, struct strata_error *err)
{
	/* in two rounds, so that two flags of one line of alternatives are both sent, and refused */
	for (const struct strata_option *option = job_spec_schema.options; option->name; option++)
		if (origins_find(given, option->name))
			job_spec_drop_alternatives(body, option->name);
	for (const struct strata_option *option = job_spec_schema.options; option->name; option++) {
		json_t *value;

		if (option->offset == offsetof(struct job_spec, environment) ||
		    !origins_find(given, option->name))
			continue;
		int rc = field_json(fields, option, caller, &value, err);

		if (rc)
			return rc;
		if (json_object_set_new(body, option->name, value))
			return strata_fail_memory(err);
	}
	return 0;
}

/* Sets NAME=value. -EINVAL: it cannot be sent. */
static int set_variable(json_t *map, const char *name, size_t length, const char *value)
{
	char key[VARIABLE_NAME_BYTES];

	if (length >= sizeof(key) || !text_valid(name, length) || !text_valid(value, strlen(value)))
		return -EINVAL;
	memcpy(key, name, length);
	key[length] = '\0';
	return json_object_set_new(map, key, json_string(value)) ? -ENOMEM : 0;
}

int job_caller_add_environment(const struct job_caller *caller, json_t *map, size_t *ret_skipped)
{
	size_t skipped = 0;

	for (const char *const *env = caller->env; env && *env; env++) {
		size_t length = strcspn(*env, "=");

		if (!(*env)[length] || length == 0 || strncmp(*env, "STRATA_TOKEN=", 13) == 0 ||
		    strncmp(*env, "SLURM_", 6) == 0 || strncmp(*env, "SLURMD_", 7) == 0)
			continue; /* those are of the job we are in */
		int rc = set_variable(map, *env, length, *env + length + 1);

		if (rc == -ENOMEM)
			return rc;
		skipped += rc != 0;
	}
	*ret_skipped = skipped;
	return 0;
}

int job_fields_add_caller(const struct job_spec *fields, const struct job_caller *caller,
			  json_t *body, size_t *ret_skipped, struct strata_error *err)
{
	const struct strata_map none = { 0 }, *own = fields ? &fields->environment : &none;
	const char *here = caller->working_dir, *const *values = own->items;
	size_t skipped = 0;

	if (here && !json_object_get(body, "working_dir")) {
		if (!text_valid(here, strlen(here)))
			return strata_fail(err, -EINVAL,
					   "the name of the directory is not valid UTF-8");
		if (json_object_set_new(body, "working_dir", json_string(here)))
			return strata_fail_memory(err);
	}
	if (caller->umask && !json_object_get(body, "umask") &&
	    json_object_set_new(body, "umask", json_string(caller->umask)))
		return strata_fail_memory(err);
	json_t *map = json_object_get(body, "environment");

	if (!map) {
		map = json_object();
		if (json_object_set_new(body, "environment", map) ||
		    job_caller_add_environment(caller, map, &skipped))
			return strata_fail_memory(err);
	}
	for (size_t i = 0; i < own->count; i++)
		if (set_variable(map, own->keys[i], strlen(own->keys[i]), values[i]))
			return strata_fail_memory(err);
	*ret_skipped = skipped;
	return 0;
}
