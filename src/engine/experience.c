/* Experience in a file: see experience.h. */
#include "engine/experience.h"

#include "core/env.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char version_key[] = "strata_experience";

int engine_experience_read(const char *path, json_t **ret_object, struct strata_error *err)
{
	struct stat about;
	json_error_t why;

	if (stat(path, &about))
		return strata_fail(err, -errno, "%s: %s", path, strerror(errno));
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

/* The file's object, or a new one where there is no file. */
static int read_or_begin(const char *path, json_t **ret_object, struct strata_error *err)
{
	int rc = engine_experience_read(path, ret_object, err);

	if (rc != -ENOENT)
		return rc;
	*ret_object = json_pack("{s:i,s:{}}", version_key, 1, "devices");
	return *ret_object ? 0 : strata_fail_memory(err);
}

/* What a device is called in the file. */
static const char *name_in_file(const struct engine_experience *experience, size_t device,
				char name[STRATA_NAME_BYTES_MAX])
{
	bool native = strcmp(experience->backend, "native") == 0;

	snprintf(name, STRATA_NAME_BYTES_MAX, "%.60s%s%.60s", experience->devices[device].name,
		 native ? "" : " ", native ? "" : experience->backend);
	return name;
}

/* ---- reading ---- */

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

static uint64_t read_count(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static struct strata_adaptive_sum read_sum(const json_t *list)
{
	json_int_t count = json_integer_value(json_array_get(list, 0));

	return (struct strata_adaptive_sum){ count > 0 ? (uint64_t)count : 0,
					     json_number_value(json_array_get(list, 1)),
					     json_number_value(json_array_get(list, 2)) };
}

/* A feature that this version does not know is passed over. */
static int take_features(struct strata_adaptive *adaptive, const json_t *object,
			 struct strata_error *err)
{
	json_t *features = json_object_get(object, "features"), *one;
	const json_t *schedules = json_object_get(object, "schedules");
	struct strata_adaptive_trial trials[STRATA_FEATURE_COUNT];
	struct strata_adaptive_metrics metrics = {
		.schedules = read_count(schedules, "all"),
		.successes = read_count(schedules, "successes"),
		.failures = read_count(schedules, "failures"),
		.fallbacks = read_count(schedules, "fallbacks"),
		.enabled = read_count(schedules, "enabled"),
		.withdrawn = read_count(schedules, "withdrawn"),
	};
	const char *name;
	size_t count = 0;

	for (size_t i = 0; i < STRATA_ADAPTIVE_BUCKETS; i++) {
		json_int_t value = json_integer_value(
			json_array_get(json_object_get(schedules, "off_by"), i));

		metrics.off_by[i] = value > 0 ? (uint64_t)value : 0;
	}
	json_object_foreach(features, name, one)
	{
		struct strata_adaptive_trial *trial = &trials[count];

		if (count == STRATA_FEATURE_COUNT || strata_feature_find(name, &trial->feature, NULL))
			continue;
		trial->on = json_is_true(json_object_get(one, "on"));
		trial->withdrawn = json_is_true(json_object_get(one, "withdrawn"));
		trial->since = read_count(one, "since");
		trial->wait = read_count(one, "wait");
		trial->with = read_sum(json_object_get(one, "with"));
		trial->without = read_sum(json_object_get(one, "without"));
		metrics.used[trial->feature] = trial->with.count;
		count++;
	}
	return strata_adaptive_restore(adaptive, trials, count, &metrics, err);
}

static int take_devices(const struct engine_experience *experience, const json_t *object,
			struct strata_error *err)
{
	json_t *devices = json_object_get(object, "devices"), *pair;
	char name[STRATA_NAME_BYTES_MAX];
	const char *kind;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < experience->device_count; i++)
		json_object_foreach(json_object_get(devices, name_in_file(experience, i, name)), kind,
				    pair)
		{
			rc = take_pair(experience->corrections, kind, i, pair, err);
			if (rc)
				break;
		}
	return rc;
}

int engine_experience_load(const char *path, const struct engine_experience *experience,
			   struct strata_error *err)
{
	struct strata_error why = { 0 };
	json_t *object;
	int rc = read_or_begin(path, &object, err);

	if (rc)
		return rc;
	rc = take_devices(experience, object, &why);
	if (rc == 0 && json_object_get(object, "schedules"))
		rc = take_features(experience->adaptive, object, &why);
	json_decref(object);
	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	return rc ? strata_fail(err, rc, "%s: %s; delete the experience to begin anew", path,
				why.text)
		  : 0;
}

/* ---- writing ---- */

static bool put_pair(json_t *devices, const char *device, const struct strata_correction *one)
{
	json_t *kinds = json_object_get(devices, device);

	if (!kinds && json_object_set_new(devices, device, kinds = json_object()))
		return false;
	return json_object_set_new(kinds, one->kind,
				   json_pack("{s:f,s:f,s:I}", "slow", one->slow, "fast", one->fast,
					     "count", (json_int_t)one->count)) == 0;
}

static json_t *sum_json(const struct strata_adaptive_sum *sum)
{
	return json_pack("[I,f,f]", (json_int_t)sum->count, sum->mean, sum->squares);
}

static json_t *features_json(const struct strata_adaptive *adaptive)
{
	struct strata_adaptive_trial trial;
	json_t *features = json_object();

	for (size_t i = 0; features && strata_adaptive_trial_at(adaptive, i, &trial); i++) {
		json_t *one = json_pack("{s:b,s:b,s:I,s:I,s:o,s:o}", "on", trial.on, "withdrawn",
					trial.withdrawn, "since", (json_int_t)trial.since, "wait",
					(json_int_t)trial.wait, "with", sum_json(&trial.with),
					"without", sum_json(&trial.without));

		if (!one || json_object_set_new(features, strata_feature_name(trial.feature), one)) {
			json_decref(features);
			return NULL;
		}
	}
	return features;
}

static json_t *schedules_json(const struct strata_adaptive *adaptive)
{
	struct strata_adaptive_metrics metrics;
	json_t *off_by = json_array();
	bool good = off_by != NULL;

	strata_adaptive_metrics(adaptive, &metrics);
	for (size_t i = 0; good && i < STRATA_ADAPTIVE_BUCKETS; i++)
		good = json_array_append_new(off_by,
					     json_integer((json_int_t)metrics.off_by[i])) == 0;
	if (!good) {
		json_decref(off_by);
		return NULL;
	}
	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "all", (json_int_t)metrics.schedules,
			 "successes", (json_int_t)metrics.successes, "failures",
			 (json_int_t)metrics.failures, "fallbacks", (json_int_t)metrics.fallbacks,
			 "enabled", (json_int_t)metrics.enabled, "withdrawn",
			 (json_int_t)metrics.withdrawn, "off_by", off_by);
}

static bool put_all(const struct engine_experience *experience, json_t *object)
{
	json_t *devices = json_object_get(object, "devices");
	char name[STRATA_NAME_BYTES_MAX];
	struct strata_correction one;
	bool good = devices != NULL;

	for (size_t i = 0; good && strata_corrections_at(experience->corrections, i, &one); i++)
		if (one.count && one.device < experience->device_count)
			good = put_pair(devices, name_in_file(experience, one.device, name), &one);
	return good &&
	       json_object_set_new(object, "features", features_json(experience->adaptive)) == 0 &&
	       json_object_set_new(object, "schedules", schedules_json(experience->adaptive)) == 0;
}

int engine_experience_save(const char *path, const struct engine_experience *experience,
			   struct strata_error *err)
{
	struct strata_error ignored = { 0 };
	json_t *object;
	int rc = read_or_begin(path, &object, &ignored);

	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc) /* a damaged one is replaced: what is in it cannot be used */
		object = json_pack("{s:i,s:{}}", version_key, 1, "devices");
	char *text = put_all(experience, object) ? json_dumps(object, JSON_INDENT(1) | JSON_SORT_KEYS)
						 : NULL;

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
