/* Reference runs: the file of cases, the comparing. What a case computes is in replay_pipeline.c and replay_language.c. */
#include "engine/replay.h"

#include "core/env.h"
#include "formats/python_json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int replay_read(struct replay_case *it, const char *name, struct npy *ret_npy, bool *ret_there,
		struct strata_error *err)
{
	const char *file =
		json_string_value(json_object_get(json_object_get(it->json, "files"), name));
	struct strata_error why = { 0 };
	size_t count;
	char *bytes;

	*ret_there = file != NULL;
	if (!file)
		return 0;
	const char *path = strata_arena_printf(&it->arena, "%s/%s", it->folder, file);
	int rc = path ? env_read_file(env_system(), AT_FDCWD, path, STRATA_PIPELINE_STATE_BYTES_MAX,
				      &it->arena, &bytes, &count, err)
		      : strata_fail_memory(err);

	if (rc)
		return rc;
	rc = npy_read(bytes, count, ret_npy, &why);
	return rc ? strata_fail(err, rc, "%.200s: %s", path, why.text) : 0;
}

int replay_expect(const struct npy *npy, const char *what, enum strata_dtype dtype, size_t count,
		  struct strata_error *err)
{
	if (npy->dtype != dtype || npy->data_bytes != count * (size_t)strata_dtype_bytes(dtype))
		return strata_fail(
			err, -EBADMSG, "%s: the file has %zu bytes of %s; expected %zu of %s", what,
			npy->data_bytes, strata_dtype_name(npy->dtype),
			count * (size_t)strata_dtype_bytes(dtype), strata_dtype_name(dtype));
	return 0;
}

static void note(struct replay_case *it, const char *what, double ratio)
{
	if (!(ratio <= it->worst))
		it->worst = ratio;
	if (!(ratio <= 1) && !it->failed[0])
		snprintf(it->failed, sizeof(it->failed), "%s: %.3g times what is allowed", what,
			 ratio);
}

void replay_compare(struct replay_case *it, const char *what, const float *got, const float *want,
		    size_t count, double tolerance)
{
	double most = 0;

	for (size_t i = 0; i < count; i++) {
		float wanted;

		memcpy(&wanted, (const char *)want + i * sizeof(wanted), sizeof(wanted));
		double off = fabs((double)got[i] - (double)wanted);

		if (!(off <= most))
			most = off; /* NaN stays */
	}
	note(it, what, most / tolerance);
}

void replay_equal(struct replay_case *it, const char *what, bool equal)
{
	if (!equal)
		note(it, what, INFINITY);
}

/* ---- a file of cases ---- */

struct file {
	struct strata_engine *engine;
	struct strata_memory *memory;
	const struct engine_replay_conf *conf;
	struct strata_arena arena;
	const char *folder;
	struct strata_pipeline *pipeline;
	struct strata_language *language;
};

/* Where a case's paths lead to another folder, that one has what is missing in its own. */
static const char *base_of(struct file *file, const json_t *first)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(first, "files"), key, value)
	{
		const char *path = json_string_value(value);
		const char *end = path && strncmp(path, "../", 3) == 0 ? strchr(path + 3, '/')
								       : NULL;

		if (end)
			return strata_arena_printf(&file->arena, "%s/%.*s", file->folder,
						   (int)(end - path), path);
	}
	return NULL;
}

static int open_models(struct file *file, const json_t *first, struct strata_error *err)
{
	const char *base = base_of(file, first);
	const struct strata_pipeline_conf conf = {
		.over = base ? file->folder : file->conf->over,
		.budget_share = file->conf->budget_share,
	};
	const struct strata_language_conf words = { .budget_share = file->conf->budget_share };

	return json_object_get(first, "prompt_ids")
		       ? strata_language_open(file->engine, file->folder, &words, file->memory,
					      &file->language, err)
		       : strata_pipeline_open(file->engine, base ? base : file->folder, &conf,
					      file->memory, &file->pipeline, err);
}

static void run_case(struct file *file, const json_t *json, struct engine_replay_result *result)
{
	struct replay_case it = {
		.engine = file->engine, .memory = file->memory, .folder = file->folder, .json = json
	};
	const char *id = json_string_value(json_object_get(json, "id"));
	struct strata_error why = { 0 };

	strata_arena_init(&it.arena, file->memory, 0);
	int rc = file->language ? replay_language(&it, file->language, &why)
				: replay_picture(&it, file->pipeline, &why);

	strata_arena_fini(&it.arena);
	if (rc && !it.failed[0])
		snprintf(it.failed, sizeof(it.failed), "%.250s", why.text);
	if (rc)
		it.worst = INFINITY;
	result->case_count++;
	result->passed += !it.failed[0];
	if (!(it.worst <= result->worst))
		result->worst = it.worst;
	if (it.failed[0] && !result->failed[0])
		snprintf(result->failed, sizeof(result->failed), "%.60s: %.250s", id ? id : "?",
			 it.failed);
}

static int run_all(struct file *file, const json_t *cases, struct engine_replay_result *result,
		   struct strata_error *err)
{
	size_t count = json_array_size(cases);

	if (!json_is_array(cases) || count == 0 || !json_is_object(json_array_get(cases, 0)))
		return strata_fail(err, -EBADMSG, "it is not a list of cases");
	if (count > STRATA_GOLDEN_CASES_MAX)
		return strata_fail(err, -E2BIG, "it has %zu cases; at most %d", count,
				   STRATA_GOLDEN_CASES_MAX);
	int rc = open_models(file, json_array_get(cases, 0), err);

	for (size_t i = 0; rc == 0 && i < count; i++)
		run_case(file, json_array_get(cases, i), result);
	return rc;
}

int engine_replay_file(struct strata_engine *engine, const char *path,
		       const struct engine_replay_conf *conf, struct strata_memory *memory,
		       struct engine_replay_result *ret_result, struct strata_error *err)
{
	static const struct engine_replay_conf plain;
	struct file file = { .engine = engine, .memory = memory, .conf = conf ? conf : &plain };
	struct engine_replay_result result = { 0 };
	const char *slash = strrchr(path, '/');
	struct strata_error why = { 0 };
	json_t *cases = NULL;
	size_t count;
	char *bytes;

	strata_arena_init(&file.arena, memory, 0);
	file.folder = slash ? strata_arena_text(&file.arena, path, (size_t)(slash - path)) : ".";
	int rc = file.folder ? env_read_file(env_system(), AT_FDCWD, path, STRATA_JSON_BYTES_MAX,
					     &file.arena, &bytes, &count, err)
			     : strata_fail_memory(err);

	if (rc == 0) {
		rc = python_json_load(bytes, count, &file.arena, &cases, &why);
		if (rc == 0)
			rc = run_all(&file, cases, &result, &why);
		if (rc)
			strata_fail(err, rc, "%.200s: %s", path, why.text);
	}
	json_decref(cases);
	strata_pipeline_close(file.pipeline);
	strata_language_close(file.language);
	strata_arena_fini(&file.arena);
	if (rc == 0)
		*ret_result = result;
	return rc;
}
