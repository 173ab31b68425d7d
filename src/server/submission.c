/*
 * Reading a submission. What a client sends is kept as it was, but for its script and environment,
 * which are stored once by content, so that a restart makes the same request again.
 */
#include "server/submission.h"

#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

/* {"A": "1", …} as "A=1\0…"; taken out of the object. */
static int take_environment(json_t *json, struct strata_arena *arena, struct submission *submission,
			    struct strata_error *err)
{
	json_t *map = json_object_get(json, "environment"), *value;
	const char *name;
	size_t bytes = 0;

	if (!map || json_is_null(map))
		return 0;
	if (!json_is_object(map))
		return strata_fail_at(err, -EINVAL, "environment",
				      "environment is not a map of texts");
	if (json_object_size(map) > STRATA_ENVIRONMENT_COUNT_MAX)
		return strata_fail_at(err, -EINVAL, "environment",
				      "environment has %zu variables; expected at most %d",
				      json_object_size(map), STRATA_ENVIRONMENT_COUNT_MAX);
	json_object_foreach(map, name, value)
	{
		if (!*name || strchr(name, '='))
			return strata_fail_at(err, -EINVAL, "environment",
					      "environment: '%.40s' is not the name of a variable",
					      name);
		if (!json_is_string(value))
			return strata_fail_at(err, -EINVAL, "environment",
					      "environment: the value of %.40s is not a text",
					      name);
		bytes += strlen(name) + strlen(json_string_value(value)) + 2;
	}
	char *text = strata_arena_get(arena, bytes + 1), *to = text;

	if (!text)
		return strata_fail_memory(err);
	json_object_foreach(map, name, value)
	{
		to = stpcpy(to, name);
		*to++ = '=';
		to = stpcpy(to, json_string_value(value)) + 1;
	}
	submission->environment = text;
	submission->environment_length = bytes;
	json_object_del(json, "environment");
	return 0;
}

int submission_read(json_t *json, struct strata_arena *arena, struct submission *ret_submission,
		    struct strata_error *err)
{
	struct submission submission = { .json = json };
	int rc = take_environment(json, arena, &submission, err);

	if (rc == 0)
		rc = strata_schema_defaults(&job_spec_schema, arena, &submission.spec, err);
	if (rc == 0)
		rc = option_read_json(&job_spec_schema, json, 0, arena, &submission.spec, err);
	if (rc)
		return rc;
	if (submission.spec.script) {
		submission.script = submission.spec.script;
		submission.script_length = strlen(submission.script);
		json_object_del(json, "script");
	}
	*ret_submission = submission;
	return 0;
}
