/*
 * The index of a model of several files: {"metadata": …, "weight_map": {"tensor": "file", …}}. What is not the map is not looked at.
 * Files are beside the index; a name that leads elsewhere is refused.
 */
#include "core/map.h"
#include "core/option.h"
#include "core/text.h"

#include <strata/limits.h>
#include <strata/safetensors.h>

#include <errno.h>
#include <string.h>

struct filling {
	struct map_text known; /* files; the value is the place of its number */
	const char **files, **tensors;
	uint32_t *numbers, *file; /* of each file, of each tensor */
	size_t file_count, tensor_count;
};

static int find_file(struct filling *filling, const char *name, struct strata_arena *arena,
		     uint32_t *ret_file, struct strata_error *err)
{
	const uint32_t *number = map_text_get(&filling->known, name, strlen(name));
	char shown[TEXT_EXCERPT_BYTES];

	if (number) {
		*ret_file = *number;
		return 0;
	}
	if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return strata_fail(err, -EBADMSG,
				   "the index names the file '%s'; expected one beside it",
				   text_excerpt(name, strlen(name), shown));
	if (filling->file_count == STRATA_SAFETENSORS_FILES_MAX)
		return strata_fail(err, -E2BIG, "the index names more than %d files",
				   STRATA_SAFETENSORS_FILES_MAX);
	size_t at = filling->file_count;

	filling->numbers[at] = (uint32_t)at;
	filling->files[at] = strata_arena_text(arena, name, strlen(name));
	if (!filling->files[at] ||
	    map_text_put(&filling->known, name, strlen(name), &filling->numbers[at], NULL))
		return strata_fail_memory(err);
	filling->file_count++;
	*ret_file = (uint32_t)at;
	return 0;
}

static int fill(struct filling *filling, const json_t *map, struct strata_arena *arena,
		struct strata_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)map, name, value)
	{
		if (!json_is_string(value))
			return strata_fail(err, -EBADMSG, "weight_map names no file for '%.64s'",
					   name);
		size_t at = filling->tensor_count++;
		int rc = find_file(filling, json_string_value(value), arena, &filling->file[at],
				   err);

		if (rc)
			return rc;
		filling->tensors[at] = strata_arena_text(arena, name, strlen(name));
		if (!filling->tensors[at])
			return strata_fail_memory(err);
	}
	return 0;
}

static int read_map(const json_t *map, struct strata_arena *arena, struct filling *filling,
		    struct strata_error *err)
{
	size_t count = json_object_size(map);

	if (!json_is_object(map) || count == 0)
		return strata_fail(err, -EBADMSG,
				   "not an index of safetensors files: it has no "
				   "weight_map with tensors in it");
	if (count > STRATA_SAFETENSORS_TENSORS_MAX)
		return strata_fail(err, -E2BIG, "the index has %zu tensors; expected at most %d",
				   count, STRATA_SAFETENSORS_TENSORS_MAX);
	filling->tensors = strata_arena_array(arena, count, sizeof(*filling->tensors));
	filling->file = strata_arena_array(arena, count, sizeof(*filling->file));
	count = count < STRATA_SAFETENSORS_FILES_MAX ? count : STRATA_SAFETENSORS_FILES_MAX;
	filling->files = strata_arena_array(arena, count, sizeof(*filling->files));
	filling->numbers = strata_arena_array(arena, count, sizeof(*filling->numbers));
	if (!filling->tensors || !filling->file || !filling->files || !filling->numbers)
		return strata_fail_memory(err);
	return fill(filling, map, arena, err);
}

int strata_safetensors_read_index(const char *text, size_t length, struct strata_arena *arena,
				  struct strata_safetensors_index *ret_index,
				  struct strata_error *err)
{
	struct filling filling = { 0 };
	json_t *json;
	int rc = option_load_json(text, length, &json, err);

	if (rc)
		return rc;
	map_text_init(&filling.known, arena->memory);
	rc = read_map(json_object_get(json, "weight_map"), arena, &filling, err);
	map_text_fini(&filling.known);
	json_decref(json);
	if (rc == 0)
		*ret_index = (struct strata_safetensors_index){ filling.files, filling.file_count,
								filling.tensors, filling.file,
								filling.tensor_count };
	return rc;
}
