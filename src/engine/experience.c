/* Experience in a file: see experience.h. */
#include "engine/experience.h"

#include "core/env.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char version_key[] = "strata_experience";

/* The file's object, or a new one where there is no file. */
static int read_object(const char *path, json_t **ret_object, struct strata_error *err)
{
	struct stat about;
	json_error_t why;

	if (stat(path, &about)) {
		if (errno != ENOENT)
			return strata_fail(err, -errno, "%s: %s", path, strerror(errno));
		*ret_object = json_pack("{s:i,s:{}}", version_key, 1, "devices");
		return *ret_object ? 0 : strata_fail_memory(err);
	}
	if (!S_ISREG(about.st_mode) || about.st_size > STRATA_EXPERIENCE_BYTES_MAX)
		return strata_fail(err, -EINVAL, "%s is not a file of up to %d bytes", path,
				   STRATA_EXPERIENCE_BYTES_MAX);
	json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &why);

	if (!object || json_integer_value(json_object_get(object, version_key)) != 1 ||
	    !json_is_object(json_object_get(object, "devices"))) {
		json_decref(object);
		return strata_fail(err, -EBADMSG,
				   "%s is not a file of experience; delete it to begin anew", path);
	}
	*ret_object = object;
	return 0;
}

static int take_pair(struct strata_corrections *corrections, const char *kind, uint32_t device,
		     const json_t *pair, struct strata_error *err)
{
	json_int_t count = json_integer_value(json_object_get(pair, "count"));
	const struct strata_correction one = {
		.kind = kind,
		.device = device,
		.slow = json_number_value(json_object_get(pair, "slow")),
		.fast = json_number_value(json_object_get(pair, "fast")),
		.count = count > 0 && count <= UINT32_MAX ? (uint32_t)count : 0,
	};

	return strata_corrections_restore(corrections, &one, err);
}

int engine_experience_load(const char *path, const struct engine_device *devices,
			   size_t device_count, struct strata_corrections *corrections,
			   struct strata_error *err)
{
	struct strata_error why = { 0 };
	json_t *object, *pair;
	const char *kind;
	int rc = read_object(path, &object, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; rc == 0 && i < device_count; i++)
		json_object_foreach(json_object_get(json_object_get(object, "devices"),
						    devices[i].name),
				    kind, pair)
		{
			rc = take_pair(corrections, kind, i, pair, &why);
			if (rc)
				break;
		}
	json_decref(object);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	return rc ? strata_fail(err, rc, "%s: %s", path, why.text) : 0;
}

static bool put_pair(json_t *devices, const char *device, const struct strata_correction *one)
{
	json_t *kinds = json_object_get(devices, device);

	if (!kinds && json_object_set_new(devices, device, kinds = json_object()))
		return false;
	return json_object_set_new(kinds, one->kind,
				   json_pack("{s:f,s:f,s:I}", "slow", one->slow, "fast", one->fast,
					     "count", (json_int_t)one->count)) == 0;
}

int engine_experience_save(const char *path, const struct engine_device *devices,
			   size_t device_count, const struct strata_corrections *corrections,
			   struct strata_error *err)
{
	struct strata_correction one;
	struct strata_error ignored = { 0 };
	json_t *object;
	int rc = read_object(path, &object, &ignored);

	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc) /* a damaged one is replaced: what is in it cannot be used */
		object = json_pack("{s:i,s:{}}", version_key, 1, "devices");
	json_t *list = json_object_get(object, "devices");
	bool good = list != NULL;

	for (size_t i = 0; good && strata_corrections_at(corrections, i, &one); i++)
		if (one.count && one.device < device_count)
			good = put_pair(list, devices[one.device].name, &one);
	char *text = good ? json_dumps(object, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;

	json_decref(object);
	if (!text)
		return strata_fail_memory(err);
	size_t length = strlen(text);

	rc = length > STRATA_EXPERIENCE_BYTES_MAX
		     ? strata_fail(err, -E2BIG, "%s would have %zu bytes; expected at most %d", path,
				   length, STRATA_EXPERIENCE_BYTES_MAX)
		     : env_write_file(env_system(), AT_FDCWD, path, text, length, 0600, err);
	free(text);
	return rc;
}
