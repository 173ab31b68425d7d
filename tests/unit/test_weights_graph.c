#include "onnx_sample.h"
#include "test.h"

#include <strata/onnx.h>
#include <strata/stream.h>

#include <errno.h>
#include <stdio.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_weights weights;
static struct message graph, model;

static const char *in_dir(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t length)
{
	FILE *file = fopen(in_dir(name), "wb");

	CHECK(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

static int read_path(const char *path, const char *group)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return strata_weights_read(path, group, &arena, &weights, &err);
}

static void put_named_node(const char *name, const char *inputs, const char *outputs)
{
	static struct message node;

	begin_node(&node, "MatMul", inputs, outputs);
	put_text(&node, 3, name);
	put_message(&graph, 1, &node);
}

/* 4 × 4 floats in another file. */
static void put_external_weights(const char *name, const char *location, const char *offset)
{
	static const char *const keys[] = { "location", "offset", "length" };
	const char *values[] = { location, offset, "64" };
	static struct message tensor, row;

	tensor.length = 0;
	put_int(&tensor, 1, 4);
	put_int(&tensor, 1, 4);
	put_int(&tensor, 2, 1);
	put_text(&tensor, 8, name);
	for (size_t i = 0; i < 3; i++) {
		row.length = 0;
		put_text(&row, 1, keys[i]);
		put_text(&row, 2, values[i]);
		put_message(&tensor, 13, &row);
	}
	put_int(&tensor, 14, 1);
	put_message(&graph, 5, &tensor);
}

static void begin(void)
{
	static const char *const rows[] = { "batch", "4", NULL };

	graph.length = 0;
	put_value(&graph, 11, "x", 1, rows);
}

static void finish(const char *output)
{
	put_value(&graph, 12, output, 1, NULL);
	put_model(&model, &graph);
	write_file("m.onnx", model.bytes, model.length);
}

/* Weights in the model and beside it; by their names, and by the op's where the exporter gave a number. */
TEST(weights_of_a_model_are_extents_of_its_files)
{
	static const char zeros[256];

	begin();
	put_external_weights("model.layers.1.up.weight", "w.bin", "64");
	put_external_weights("onnx::MatMul_7", "w.bin", "128");
	put_weights(&graph, "model.layers.0.up.weight", 4, 4);
	put_named_node("/model/layers.0/up/MatMul", "x model.layers.0.up.weight", "a");
	put_named_node("/model/layers.0/down/MatMul", "a onnx::MatMul_7", "b");
	put_named_node("/model/layers.1/up/MatMul", "b model.layers.1.up.weight", "c");
	finish("c");
	write_file("w.bin", zeros, sizeof(zeros));
	CHECK_OK(read_path(in_dir("m.onnx"), NULL));
	CHECK_INT(weights.path_count, 2);
	CHECK(strstr(weights.paths[0], "/m.onnx") && strstr(weights.paths[1], "/w.bin"));
	CHECK_INT(weights.layer_count, 2);
	const struct strata_weights_layer *first = &weights.layers[0], *second = &weights.layers[1];

	CHECK_TEXT(first->name, "model.layers.0");
	CHECK_INT(first->tensor_count, 2);
	CHECK_TEXT(first->tensors[1].name, "onnx::MatMul_7");
	CHECK_INT(first->extents[0].file, 0);
	CHECK_INT(first->extents[0].bytes, 64);
	CHECK_INT(first->extents[1].file, 1);
	CHECK_INT(first->extents[1].offset, 128);
	CHECK_TEXT(second->name, "model.layers.1");
	CHECK_INT(second->extents[0].offset, 64);
	CHECK_INT(second->tensors[0].type, STRATA_WEIGHT_F32);
	CHECK(second->tensors[0].rank == 2 && second->tensors[0].shape[1] == 4);
	CHECK(!weights.order && weights.visit_count == 2);
	CHECK_OK(read_path(in_dir("m.onnx"), "model.layers"));
	CHECK_INT(weights.layer_count, 1);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

/* An embedding that is the head too. */
TEST(a_layer_that_is_read_again_is_visited_again)
{
	begin();
	put_weights(&graph, "embed.weight", 4, 4);
	put_weights(&graph, "h.0.weight", 4, 4);
	put_named_node("first", "x embed.weight", "a");
	put_named_node("middle", "a h.0.weight", "b");
	put_named_node("last", "b embed.weight", "c");
	finish("c");
	CHECK_OK(read_path(in_dir("m.onnx"), NULL));
	CHECK_INT(weights.layer_count, 2);
	CHECK_INT(weights.visit_count, 3);
	CHECK(weights.order[0] == 0 && weights.order[1] == 1 && weights.order[2] == 0);
	struct strata_stage_model of;

	CHECK_OK(strata_weights_model(&weights, 1000, &arena, &of, &err));
	CHECK(of.layer_count == 2 && of.visit_count == 3 && of.order == weights.order);
	CHECK(of.layers[1].bytes == weights.layers[1].bytes && of.layers[1].compute_ns == 1000);
	strata_arena_fini(&arena);
}

TEST(what_has_no_weights_in_files_is_refused)
{
	begin();
	put_node(&graph, "Relu", "x", "y");
	finish("y");
	CHECK_ERROR(read_path(in_dir("m.onnx"), NULL), -EBADMSG, "no weights");
	begin();
	put_external_weights("w", "none.bin", "0");
	put_named_node("n", "x w", "y");
	finish("y");
	CHECK_ERROR(read_path(in_dir("m.onnx"), NULL), -ENOENT, "none.bin");
	CHECK_ERROR(read_path(in_dir("no.onnx"), NULL), -ENOENT, "no.onnx");
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

/* What others export: layers have all that the graph has in files, and a plan can be made of them. */
TEST(models_of_others_can_be_staged)
{
	static const char *const names[] = { "gpt2_prefill", "llama_gqa_decode", "bert_cls",
					     "sd_unet_mini", "resnet_mini" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char file[64];
		struct strata_graph *read;
		int64_t bytes = 0, have = 0;

		snprintf(file, sizeof(file), "graphs/onnx/%s.onnx", names[i]);
		const char *path = test_shared_file(file);

		CHECK_OK(strata_onnx_open(path, NULL, 0, &memory, &read, NULL, &err));
		for (size_t t = 0; t < read->tensor_count; t++)
			if (read->tensors[t].role == STRATA_ROLE_WEIGHT &&
			    read->tensors[t].file != STRATA_NONE &&
			    read->reader_first[t + 1] > read->reader_first[t])
				bytes += read->tensors[t].extent_bytes;
		strata_graph_free(read);
		CHECK_OK(read_path(path, NULL));
		for (size_t l = 0; l < weights.layer_count; l++)
			for (size_t k = 0; k < weights.layers[l].tensor_count; k++)
				have += weights.layers[l].extents[k].bytes;
		CHECK_INT(have, bytes);
		CHECK(weights.visit_count >= weights.layer_count);
		printf("# %s: %zu layers, %zu visits, %lld bytes\n", names[i], weights.layer_count,
		       weights.visit_count, (long long)bytes);
	}
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

static int read_once(struct strata_memory *limited, void *context, struct strata_error *error)
{
	struct strata_weights read;
	struct strata_arena own;

	strata_arena_init(&own, limited, 0);
	int rc = strata_weights_read(context, NULL, &own, &read, error);

	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	begin();
	put_weights(&graph, "h.0.weight", 4, 4);
	put_weights(&graph, "h.1.weight", 4, 4);
	put_named_node("a", "x h.0.weight", "a");
	put_named_node("b", "a h.1.weight", "b");
	put_named_node("c", "b h.0.weight", "c");
	finish("c");
	CHECK(test_every_allocation(read_once, (void *)in_dir("m.onnx")) > 20);
}
