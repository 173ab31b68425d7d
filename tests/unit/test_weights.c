#include "weights_sample.h"

#include <strata/stream.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_weights weights;

static char *in_dir(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	return path;
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(in_dir(name), "w");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int read_path(const char *path, const char *group)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return strata_weights_read(path, group, &arena, &weights, &err);
}

TEST(a_file_becomes_layers)
{
	weights_write(in_dir("m.safetensors"), (int64_t[]){ 5000, 0, 100 }, 3, 1);
	CHECK_OK(read_path(in_dir("m.safetensors"), NULL));
	CHECK_INT(weights.path_count, 1);
	CHECK_INT(weights.layer_count, 2); /* one has no bytes */
	CHECK_TEXT(weights.layers[0].name, "blocks.0");
	CHECK_TEXT(weights.layers[1].name, "blocks.2");
	CHECK_INT(weights.layers[0].tensors[0].bytes, 5000);
	CHECK_INT(weights.layers[0].extents[0].offset, weights.layers[0].tensors[0].offset);
	CHECK_INT(weights.layers[0].bytes, 2 * 4096);
	CHECK_OK(read_path(in_dir("m.safetensors"), "blocks"));
	CHECK_INT(weights.layer_count, 1);
	CHECK_INT(weights.layers[0].tensor_count, 3);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(an_index_names_files_beside_it)
{
	weights_write(in_dir("m-1.safetensors"), (int64_t[]){ 100, 200 }, 2, 1);
	weights_write(in_dir("m-2.safetensors"), (int64_t[]){ 7, 8, 300 }, 3, 2);
	write_text("model.safetensors.index.json", "{\"metadata\":{\"total_size\":600},\"weight_"
						   "map\":{\"blocks.0.weight\":\"m-1.safetensors\","
						   "\"blocks.2.weight\":\"m-2.safetensors\","
						   "\"blocks.1.weight\":\"m-1.safetensors\"}}");
	CHECK_OK(read_path(test_temp_dir(), NULL)); /* what a directory has */
	CHECK_INT(weights.path_count, 2);
	CHECK_INT(weights.layer_count, 3);
	CHECK_INT(weights.layers[1].tensors[0].bytes, 200);
	CHECK_INT(weights.layers[2].tensors[0].bytes, 300);
	CHECK_INT(weights.layers[2].extents[0].file, 1);
	CHECK_TEXT(weights.paths[1], in_dir("m-2.safetensors"));
	write_text("model.safetensors.index.json",
		   "{\"weight_map\":{\"blocks.9.weight\":\"m-1.safetensors\"}}");
	CHECK_ERROR(read_path(test_temp_dir(), NULL), -EBADMSG, "'blocks.9.weight'");
	write_text("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"m-3.safetensors\"}}");
	CHECK_ERROR(read_path(test_temp_dir(), NULL), -ENOENT, "m-3.safetensors");
	write_text("model.safetensors.index.json",
		   "{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}");
	CHECK_ERROR(read_path(test_temp_dir(), NULL), -EBADMSG, "index.json");
	strata_arena_fini(&arena);
}

TEST(what_cannot_be_read_is_named)
{
	CHECK_ERROR(read_path(test_temp_dir(), NULL), -ENOENT, "has no model.safetensors");
	CHECK_ERROR(read_path(in_dir("none.safetensors"), NULL), -ENOENT, "none.safetensors");
	write_text("short.safetensors", "123");
	CHECK_ERROR(read_path(in_dir("short.safetensors"), NULL), -EBADMSG, "cut short");
	weights_write(in_dir("cut.safetensors"), (int64_t[]){ 5000 }, 1, 1);
	CHECK(truncate(in_dir("cut.safetensors"), 3000) == 0);
	CHECK_ERROR(read_path(in_dir("cut.safetensors"), NULL), -EBADMSG,
		    "cut.safetensors: the file is cut short");
	weights_write(in_dir("empty.safetensors"), (int64_t[]){ 0 }, 1, 1);
	CHECK_ERROR(read_path(in_dir("empty.safetensors"), NULL), -EBADMSG, "no weights");
	CHECK(mkfifo(in_dir("pipe"), 0600) == 0);
	CHECK(read_path(in_dir("pipe"), NULL) < 0); /* and does not wait for a writer */
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_arena scratch;
	struct strata_weights one;

	strata_arena_init(&scratch, own, 0);
	int rc = strata_weights_read(context, NULL, &scratch, &one, why);

	for (size_t l = 0; rc == 0 && l < one.layer_count; l++) {
		const struct strata_weights_layer *layer = &one.layers[l];

		test_result_text(layer->name);
		test_result_int(layer->bytes);
		for (size_t t = 0; t < layer->tensor_count; t++) {
			test_result_text(layer->tensors[t].name);
			test_result_int(layer->extents[t].offset);
			test_result_int(layer->extents[t].bytes);
		}
	}
	strata_arena_fini(&scratch);
	return rc == -EBADMSG || rc == -EINVAL ? strata_fail_memory(why) : rc; /* jansson's */
}

TEST(lack_of_memory_is_said)
{
	weights_write(in_dir("x.safetensors"), (int64_t[]){ 10, 20 }, 2, 1);
	write_text("i.json", "{\"weight_map\":{\"blocks.0.weight\":\"x.safetensors\"}}");
	CHECK(test_every_allocation(read_once, in_dir("i.json")) > 20);
}
