/*
 * The weights of a model, from the headers of its files: strata_weights_read of <strata/stream.h>. A path may be a file, an index of several
 * files, an ONNX model (weights_graph.c), or the directory that has one of them. Tensors are those of the one file, or those that the index
 * names, each in its file.
 */
#include "core/env.h"
#include "core/map.h"
#include "formats/tensor_layers.h"
#include "stream/layout.h"
#include "stream/weights.h"

#include <strata/limits.h>
#include <strata/onnx.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The error so far, with the file in front of it. */
static int fail_file(struct strata_error *err, int rc, const char *path)
{
	char text[STRATA_ERROR_TEXT_BYTES];

	if (!err)
		return rc;
	memcpy(text, err->text, sizeof(text));
	return strata_fail(err, rc, "%.200s: %s", path, text);
}

static int read_all(const struct env *env, int fd, void *bytes, size_t count)
{
	for (size_t done = 0; done < count;) {
		ssize_t got = env->read(env->context, fd, (char *)bytes + done, count - done);

		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got ? (int)got : -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

static int read_header(const struct env *env, int fd, struct strata_arena *arena,
		       struct strata_safetensors *ret_file, struct strata_error *err)
{
	off_t size = env->size(env->context, fd);
	unsigned char first[8] = { 0 };
	size_t length;
	int rc = size < 0 ? (int)size : read_all(env, fd, first, size < 8 ? (size_t)size : 8);

	if (rc)
		return strata_fail(err, rc, "cannot be read: %s", strerror(-rc));
	rc = strata_safetensors_begin(first, size, &length, err);
	if (rc)
		return rc;
	char *header = strata_memory_get(arena->memory, length);

	if (!header)
		return strata_fail_memory(err);
	rc = read_all(env, fd, header, length);
	if (rc)
		strata_fail(err, rc, "cannot be read: %s", strerror(-rc));
	else
		rc = strata_safetensors_read(header, length, size, arena, ret_file, err);
	strata_memory_put(arena->memory, header, length);
	return rc;
}

static int read_file(const char *path, struct strata_arena *arena,
		     struct strata_safetensors *ret_file, struct strata_error *err)
{
	const struct env *env = env_system();
	int fd = env->open(env->context, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);

	if (fd < 0)
		return strata_fail(err, fd, "%.200s: %s", path, strerror(-fd));
	int rc = read_header(env, fd, arena, ret_file, err);

	env->close(env->context, fd);
	return rc ? fail_file(err, rc, path) : 0;
}

/* ---- one file ---- */

static int find_single(const char *path, struct strata_arena *arena, struct weights_found *found,
		       struct strata_error *err)
{
	struct strata_safetensors file;
	int rc = read_file(path, arena, &file, err);

	if (rc)
		return rc;
	found->paths = strata_arena_array(arena, 1, sizeof(*found->paths));
	found->file = strata_arena_array(arena, file.tensor_count, sizeof(*found->file));
	if (!found->paths || !found->file ||
	    !(found->paths[0] = strata_arena_text(arena, path, strlen(path))))
		return strata_fail_memory(err);
	found->path_count = 1;
	found->tensors = (struct strata_weight *)file.tensors;
	found->tensor_count = file.tensor_count;
	return 0;
}

/* ---- several files ---- */

static int map_tensors(const struct strata_safetensors *file, struct map_text *ret_map,
		       struct strata_error *err)
{
	for (size_t i = 0; i < file->tensor_count; i++)
		if (map_text_put(ret_map, file->tensors[i].name, strlen(file->tensors[i].name),
				 (void *)&file->tensors[i], NULL))
			return strata_fail_memory(err);
	return 0;
}

/* What the index has of this file. */
static int take_tensors(const struct strata_safetensors_index *index, uint32_t number,
			const struct map_text *map, struct weights_found *found,
			struct strata_error *err)
{
	for (size_t i = 0; i < index->tensor_count; i++) {
		const char *name = index->tensors[i];
		const struct strata_weight *tensor;

		if (index->file[i] != number)
			continue;
		tensor = map_text_get(map, name, strlen(name));
		if (!tensor)
			return strata_fail(err, -EBADMSG,
					   "the index says that this file has tensor '%.64s', "
					   "which it has not",
					   name);
		found->file[found->tensor_count] = number;
		found->tensors[found->tensor_count++] = *tensor;
	}
	return 0;
}

static int find_shard(const struct strata_safetensors_index *index, uint32_t number,
		      struct strata_arena *arena, struct weights_found *found,
		      struct strata_error *err)
{
	struct strata_safetensors file;
	struct map_text map;
	int rc = read_file(found->paths[number], arena, &file, err);

	if (rc)
		return rc;
	map_text_init(&map, arena->memory);
	rc = map_tensors(&file, &map, err);
	if (rc == 0)
		rc = take_tensors(index, number, &map, found, err);
	if (rc == -EBADMSG)
		fail_file(err, rc, found->paths[number]);
	map_text_fini(&map);
	return rc;
}

static int find_shards(const char *path, struct strata_arena *arena, struct weights_found *found,
		       struct strata_error *err)
{
	struct strata_safetensors_index index;
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash + 1 - path) : 0;
	size_t length;
	char *text;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_JSON_BYTES_MAX, arena, &text,
			       &length, err);

	if (rc)
		return rc;
	rc = strata_safetensors_read_index(text, length, arena, &index, err);
	if (rc)
		return fail_file(err, rc, path);
	found->paths = strata_arena_array(arena, index.file_count, sizeof(*found->paths));
	found->file = strata_arena_array(arena, index.tensor_count, sizeof(*found->file));
	found->tensors = strata_arena_array(arena, index.tensor_count, sizeof(*found->tensors));
	if (!found->paths || !found->file || !found->tensors)
		return strata_fail_memory(err);
	found->path_count = index.file_count;
	for (uint32_t i = 0; rc == 0 && i < index.file_count; i++) {
		found->paths[i] =
			strata_arena_printf(arena, "%.*s%s", directory, path, index.files[i]);
		rc = found->paths[i] ? find_shard(&index, i, arena, found, err)
				     : strata_fail_memory(err);
	}
	return rc;
}

/* ---- layers ---- */

static int fill_layer(const struct weights_found *found, const struct tensor_layer *group,
		      struct strata_arena *arena, struct strata_weights_layer *ret_layer,
		      struct strata_error *err)
{
	struct strata_weight *tensors =
		strata_arena_array(arena, group->member_count, sizeof(*tensors));
	struct strata_extent *extents =
		strata_arena_array(arena, group->member_count, sizeof(*extents));
	struct layout layout;

	if (!tensors || !extents)
		return strata_fail_memory(err);
	for (size_t i = 0; i < group->member_count; i++) {
		const struct strata_weight *tensor = &found->tensors[group->members[i]];

		tensors[i] = *tensor;
		extents[i] = (struct strata_extent){ found->file[group->members[i]], tensor->offset,
						     tensor->bytes };
	}
	int rc = layout_make(extents, group->member_count, arena, &layout, err);

	if (rc == 0)
		*ret_layer = (struct strata_weights_layer){ group->name, tensors, extents,
							    group->member_count, layout.bytes };
	return rc;
}

static int fill_layers(const struct weights_found *found, const struct tensor_layer *groups,
		       size_t group_count, struct strata_arena *arena,
		       struct strata_weights *ret_weights, uint32_t *ret_layer_of,
		       struct strata_error *err)
{
	struct strata_weights_layer *layers =
		strata_arena_array(arena, group_count, sizeof(*layers));
	size_t count = 0;

	if (!layers)
		return strata_fail_memory(err);
	for (size_t g = 0; g < group_count; g++) {
		int rc = fill_layer(found, &groups[g], arena, &layers[count], err);

		if (rc)
			return rc;
		for (size_t i = 0; ret_layer_of && i < groups[g].member_count; i++)
			ret_layer_of[groups[g].members[i]] = (uint32_t)count;
		count += layers[count].bytes > 0;
	}
	if (count == 0)
		return strata_fail(err, -EBADMSG, "the model has no weights");
	*ret_weights = (struct strata_weights){ .paths = found->paths,
						.path_count = found->path_count,
						.layers = layers,
						.layer_count = count,
						.visit_count = count };
	return 0;
}

int weights_make(const struct weights_found *found, const char *const *names, const char *group,
		 struct strata_arena *arena, struct strata_weights *ret_weights,
		 uint32_t *ret_layer_of, struct strata_error *err)
{
	const char **own = strata_arena_array(arena, found->tensor_count, sizeof(*own));
	struct tensor_layer *groups;
	size_t group_count;

	if (!own)
		return strata_fail_memory(err);
	for (size_t i = 0; i < found->tensor_count; i++)
		own[i] = found->tensors[i].name;
	int rc = tensor_layers_make(names ? names : own, found->tensor_count, group, arena, &groups,
				    &group_count, err);

	return rc ? rc
		  : fill_layers(found, groups, group_count, arena, ret_weights, ret_layer_of, err);
}

/* ---- paths ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* The file that a directory has its model in. */
static int in_directory(const char *path, struct strata_arena *arena, const char **ret_path,
			struct strata_error *err)
{
	static const char *const names[] = {
		"model.safetensors.index.json",
		"model.safetensors",
		"diffusion_pytorch_model.safetensors.index.json",
		"diffusion_pytorch_model.safetensors",
		"model.onnx",
	};
	struct stat about;

	if (stat(path, &about) || !S_ISDIR(about.st_mode)) {
		*ret_path = path;
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *file = strata_arena_printf(arena, "%s%s%s", path,
						       ends_with(path, "/") ? "" : "/", names[i]);

		if (!file)
			return strata_fail_memory(err);
		if (stat(file, &about) == 0) {
			*ret_path = file;
			return 0;
		}
	}
	return strata_fail(err, -ENOENT,
			   "%.200s has no model.safetensors, no index of several and no "
			   "model.onnx",
			   path);
}

/* Of a model of ops: what shapes are does not matter to its weights. */
static int read_onnx(const char *path, const char *group, struct strata_arena *arena,
		     struct strata_weights *ret_weights, struct strata_error *err)
{
	static const struct strata_onnx_dim any = { "*", 1 };
	struct strata_graph *graph;
	int rc = strata_onnx_open(path, &any, 1, arena->memory, &graph, NULL, err);

	if (rc)
		return rc;
	rc = strata_weights_of_graph(graph, group, arena, ret_weights, err);
	strata_graph_free(graph);
	return rc == -EBADMSG ? fail_file(err, rc, path) : rc;
}

int strata_weights_read(const char *path, const char *group, struct strata_arena *arena,
			struct strata_weights *ret_weights, struct strata_error *err)
{
	struct weights_found found = { 0 };
	int rc = in_directory(path, arena, &path, err);

	if (rc == 0 && ends_with(path, ".onnx"))
		return read_onnx(path, group, arena, ret_weights, err);
	if (rc == 0)
		rc = ends_with(path, ".json") ? find_shards(path, arena, &found, err)
					      : find_single(path, arena, &found, err);
	return rc ? rc : weights_make(&found, NULL, group, arena, ret_weights, NULL, err);
}

int strata_weights_model(const struct strata_weights *weights, int64_t compute_ns,
			 struct strata_arena *arena, struct strata_stage_model *ret_model,
			 struct strata_error *err)
{
	struct strata_stage_layer *layers =
		strata_arena_array(arena, weights->layer_count, sizeof(*layers));

	if (!layers)
		return strata_fail_memory(err);
	for (size_t i = 0; i < weights->layer_count; i++)
		layers[i] = (struct strata_stage_layer){ weights->layers[i].name,
							 weights->layers[i].bytes, compute_ns };
	*ret_model = (struct strata_stage_model){ .layers = layers,
						  .layer_count = weights->layer_count,
						  .order = weights->order,
						  .visit_count = weights->visit_count };
	return 0;
}
