#include "test.h"
#include "onnx_sample.h"

#include <strata/limits.h>
#include <strata/onnx.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static struct message graph, model, tensor, inner;

static const char *write_file(const char *name, const void *bytes, size_t length)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
	return path;
}

static const char *const rows[] = { "2", "4", NULL };

static void begin(void)
{
	graph.length = 0;
	put_value(&graph, 11, "x", 1, rows);
}

static int open_model(struct strata_graph **ret_graph, struct strata_onnx_metrics *metrics)
{
	put_model(&model, &graph);
	return strata_onnx_open(write_file("m.onnx", model.bytes, model.length), NULL, 0, &memory,
				ret_graph, metrics, &err);
}

TEST(weights_have_their_extents_and_constants_are_no_ops)
{
	struct strata_onnx_metrics metrics;
	struct strata_graph *read;
	static const int64_t shape[] = { 4, 2 };

	begin();
	put_weights(&graph, "w", 4, 4);
	put_integers(&graph, "s", shape, 2);
	put_node(&graph, "Identity", "w", "same");
	put_node(&graph, "MatMul", "x w", "a");
	put_node(&graph, "MatMul", "a same", "b");
	put_node(&graph, "Shape", "b", "unused");
	put_node(&graph, "Reshape", "b s", "y");
	put_value(&graph, 12, "y", 1, NULL);
	CHECK_OK(open_model(&read, &metrics));
	CHECK_INT(metrics.node_count, 5);
	CHECK_INT(metrics.folded_count, 2);
	CHECK_INT(read->op_count, 3);
	CHECK_INT(metrics.flops, 2 * (2 * 4 * 4 * 2));
	const struct strata_tensor *w = &read->tensors[strata_graph_find_tensor(read, "w", 1)];

	CHECK_INT(w->role, STRATA_ROLE_WEIGHT);
	CHECK_INT(w->extent_bytes, 64);
	CHECK_INT(w->file, 0);
	CHECK(w->offset_bytes > 0 && w->offset_bytes + 64 <= (int64_t)model.length);
	CHECK(read->ops[1].inputs[1] == read->ops[0].inputs[1]); /* the Identity is the weight */
	CHECK_INT(read->tensors[strata_graph_find_tensor(read, "y", 1)].role, STRATA_ROLE_OUTPUT);
	CHECK_INT(read->tensors[strata_graph_find_tensor(read, "y", 1)].bytes, 32);
	strata_graph_free(read);
	CHECK_INT(memory.used_bytes, 0);
}

static void put_external(const char *key, const char *value)
{
	inner.length = 0;
	put_text(&inner, 1, key);
	put_text(&inner, 2, value);
	put_message(&tensor, 13, &inner);
}

static int open_external(const char *location, const char *offset, struct strata_graph **ret_graph)
{
	begin();
	tensor.length = 0;
	put_int(&tensor, 1, 4);
	put_int(&tensor, 1, 4);
	put_int(&tensor, 2, 1);
	put_text(&tensor, 8, "w");
	put_int(&tensor, 14, 1);
	put_external("location", location);
	put_external("offset", offset);
	put_external("length", "64");
	put_message(&graph, 5, &tensor);
	put_node(&graph, "MatMul", "x w", "y");
	return open_model(ret_graph, NULL);
}

TEST(weights_may_be_in_files_beside_the_model)
{
	struct strata_graph *read;
	char bytes[128] = { 0 };

	write_file("w.bin", bytes, sizeof(bytes));
	CHECK_OK(open_external("w.bin", "64", &read));
	const struct strata_tensor *w = &read->tensors[strata_graph_find_tensor(read, "w", 1)];

	CHECK_INT(w->file, 1);
	CHECK_INT(w->offset_bytes, 64);
	CHECK(strstr(read->files[1], "/w.bin"));
	strata_graph_free(read);
	CHECK_ERROR(open_external("w.bin", "65", &read), -EINVAL,
		    "w.bin has 128 bytes; tensor 'w' ends at 129");
	CHECK_ERROR(open_external("none.bin", "0", &read), -ENOENT, "none.bin");
}

TEST(weights_are_nowhere_else)
{
	struct strata_graph *read;

	CHECK_ERROR(open_external("/etc/passwd", "0", &read), -EINVAL, "not beside the model");
	CHECK_ERROR(open_external("../w.bin", "0", &read), -EINVAL, "not beside the model");
	CHECK_ERROR(open_external("a/../../w.bin", "0", &read), -EINVAL, "not beside the model");
	CHECK_ERROR(open_external("..", "0", &read), -EINVAL, "not beside the model");
	CHECK_ERROR(open_external("", "0", &read), -EINVAL, "not beside the model");
	CHECK_ERROR(open_external("..\\w.bin", "0", &read), -EINVAL, "not beside the model");
	CHECK_ERROR(open_external("..w.bin", "0", &read), -ENOENT,
		    "..w.bin"); /* a name like others */
}

/* A model of 3 GB, most of it a hole: only its edges are looked at. */
TEST(large_weights_are_not_touched)
{
	enum { GAP_PAGES = 3 << 18 };
	const int64_t elements = (int64_t)GAP_PAGES * 1024;
	struct strata_onnx_metrics metrics;
	struct strata_graph *read;

	begin();
	tensor.length = 0;
	put_int(&tensor, 1, elements / 4);
	put_int(&tensor, 1, 4);
	put_int(&tensor, 2, 1);
	put_text(&tensor, 8, "w");
	put_varint(&tensor, 9 << 3 | 2); /* raw_data, as long as the hole that follows */
	put_varint(&tensor, (uint64_t)elements * 4);
	graph.length = 0;
	put_varint(&graph, 5 << 3 | 2);
	put_varint(&graph, tensor.length + (uint64_t)elements * 4);
	inner.length = 0; /* what comes behind the weights */
	put_value(&inner, 11, "x", 1, rows);
	put_node(&inner, "Gather", "w x", "y");
	model.length = 0;
	put_varint(&model, 7 << 3 | 2);
	put_varint(&model, graph.length + tensor.length + (uint64_t)elements * 4 + inner.length);
	memcpy(model.bytes + model.length, graph.bytes, graph.length);
	memcpy(model.bytes + model.length + graph.length, tensor.bytes, tensor.length);
	size_t head = model.length + graph.length + tensor.length;
	const char *path = write_file("large.onnx", model.bytes, head);
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0);
	if (ftruncate(fd, (off_t)head + elements * 4))
		test_skip("no file of 3 GB here");
	CHECK(pwrite(fd, inner.bytes, inner.length, (off_t)head + elements * 4) ==
	      (ssize_t)inner.length);
	CHECK_OK(strata_onnx_open(path, NULL, 0, &memory, &read, &metrics, &err));
	CHECK_INT(metrics.initializer_bytes, elements * 4);
	CHECK(memory.peak_bytes < 1 << 20);
	strata_graph_free(read);
	static unsigned char resident[GAP_PAGES];
	void *map = mmap(NULL, (size_t)elements * 4, PROT_READ, MAP_SHARED, fd, 0);
	size_t touched = 0;

	CHECK(map != MAP_FAILED && mincore(map, (size_t)elements * 4, resident) == 0);
	for (size_t i = 0; i < GAP_PAGES; i++)
		touched += resident[i] & 1;
	CHECK(touched < 4096); /* readahead at both ends */
	munmap(map, (size_t)elements * 4);
	close(fd);
}

/* A matrix and its transpose are one weight; zeros are not. */
TEST(copies_are_found)
{
	static float a[32 * 16], b[16 * 32];
	struct strata_onnx_metrics metrics;
	struct strata_graph *read;

	for (int i = 0; i < 32; i++)
		for (int k = 0; k < 16; k++)
			a[i * 16 + k] = b[k * 32 + i] = (float)(i * 100 + k);
	begin();
	for (int i = 0; i < 2; i++) {
		tensor.length = 0;
		put_int(&tensor, 1, i ? 16 : 32);
		put_int(&tensor, 1, i ? 32 : 16);
		put_int(&tensor, 2, 1);
		put_text(&tensor, 8, i ? "b" : "a");
		put_bytes(&tensor, 9, i ? b : a, sizeof(a));
		put_message(&graph, 5, &tensor);
	}
	put_weights(&graph, "c", 32, 16);
	put_weights(&graph, "d", 32, 16);
	put_node(&graph, "MatMul", "a b", "y");
	CHECK_OK(open_model(&read, &metrics));
	CHECK_INT(metrics.tied_bytes, sizeof(a));
	const struct strata_tensor *tensors = read->tensors;

	CHECK(tensors[1].tied && tensors[1].tied == tensors[2].tied);
	CHECK(!tensors[3].tied && !tensors[4].tied);
	strata_graph_free(read);
}

/* Twice(a) = a·aᵀ by an inner function, with an attribute of the call: two calls are four ops with names of their own. */
TEST(functions_are_put_in_place_of_their_calls)
{
	static struct message function, node, attribute;
	struct strata_onnx_metrics metrics;
	struct strata_graph *read;

	begin();
	for (int i = 0; i < 2; i++) {
		begin_node(&node, "Twice", i ? "y" : "x", i ? "z" : "y");
		put_text(&node, 3, i ? "second" : "first");
		put_text(&node, 7, "own");
		put_attr_int(&node, "along", 1);
		put_message(&graph, 1, &node);
	}
	put_value(&graph, 12, "z", 1, NULL);
	put_model(&model, &graph);
	function.length = 0;
	put_text(&function, 1, "Twice");
	put_text(&function, 10, "own");
	put_text(&function, 4, "a");
	put_text(&function, 5, "c");
	begin_node(&node, "Turn", "a", "b");
	put_text(&node, 7, "own");
	put_message(&function, 7, &node);
	begin_node(&node, "MatMul", "a b", "m");
	put_message(&function, 7, &node);
	begin_node(&node, "Softmax", "m", "c");
	attribute.length = 0;
	put_text(&attribute, 1, "axis");
	put_text(&attribute, 21, "along");
	put_int(&attribute, 20, 2);
	put_message(&node, 5, &attribute);
	put_message(&function, 7, &node);
	put_message(&model, 25, &function);
	function.length = 0;
	put_text(&function, 1, "Turn");
	put_text(&function, 10, "own");
	put_text(&function, 4, "a");
	put_text(&function, 5, "c");
	begin_node(&node, "Transpose", "a", "c");
	put_message(&function, 7, &node);
	put_message(&model, 25, &function);
	CHECK_OK(strata_onnx_read(model.bytes, model.length, "m.onnx", NULL, 0, &memory, &read,
				  &metrics, &err));
	CHECK_INT(metrics.node_count, 6);
	CHECK_INT(metrics.known_count, 6);
	CHECK_INT(read->op_count, 6);
	CHECK_TEXT(read->ops[0].name, "first/Turn/Transpose");
	CHECK_TEXT(read->ops[4].kind, "MatMul");
	CHECK_TEXT(read->ops[4].name, "second/MatMul");
	CHECK_INT(metrics.flops, 2 * 2 * 2 * 4 + 2 * 2 * 2 * 2);
	CHECK(strata_graph_find_tensor(read, "first#1/m", 9) != STRATA_NONE);
	CHECK_INT(read->tensors[strata_graph_find_tensor(read, "z", 1)].bytes, 16);
	strata_graph_free(read);
}

/* An output that is an input comes out all the same; a function that calls itself is refused. */
TEST(functions_that_do_nothing_and_that_never_end)
{
	static struct message function, node;
	struct strata_graph *read;

	for (int i = 0; i < 2; i++) {
		begin();
		begin_node(&node, "F", "x", "y");
		put_text(&node, 7, "own");
		put_message(&graph, 1, &node);
		put_value(&graph, 12, "y", 1, NULL);
		put_model(&model, &graph);
		function.length = 0;
		put_text(&function, 1, "F");
		put_text(&function, 10, "own");
		put_text(&function, 4, "a");
		put_text(&function, 5, i ? "b" : "a");
		begin_node(&node, "F", "a", "b");
		put_text(&node, 7, "own");
		if (i)
			put_message(&function, 7, &node);
		put_message(&model, 25, &function);
		int rc = strata_onnx_read(model.bytes, model.length, "m.onnx", NULL, 0, &memory,
					  &read, NULL, &err);

		CHECK_INT(rc, i ? -E2BIG : 0);
		if (i == 0) {
			CHECK_TEXT(read->ops[0].kind, "Identity");
			strata_graph_free(read);
		}
	}
	CHECK_TEXT(err.text, "functions and graphs are nested more than 16 deep");
}

/* F8 calls F7 four times, which calls F6 four times …: so many nodes of functions are read, and not one more. */
static int read_tower(int nodes)
{
	static struct message function, node;
	struct strata_graph *read;
	char name[16], in[16], out[16];
	int each[9] = { 1 }, calls = 0; /* nodes that a call of each comes to */

	for (int level = 1; level <= 8; level++)
		each[level] = 4 * (1 + each[level - 1]);
	begin();
	for (int level = 8; level >= 0; level--)
		for (; nodes >= each[level]; nodes -= each[level]) {
			snprintf(name, sizeof(name), "F%d", level);
			snprintf(out, sizeof(out), "y%d", calls++);
			put_node(&graph, name, "x", out);
		}
	put_model(&model, &graph);
	for (int level = 0; level <= 8; level++) {
		function.length = 0;
		snprintf(name, sizeof(name), "F%d", level);
		put_text(&function, 1, name);
		put_text(&function, 4, "v0");
		put_text(&function, 5, level ? "v4" : "v1");
		for (int i = 0; i < (level ? 4 : 1); i++) {
			snprintf(name, sizeof(name), "F%d", level - 1);
			snprintf(in, sizeof(in), "v%d", i);
			snprintf(out, sizeof(out), "v%d", i + 1);
			begin_node(&node, level ? name : "Neg", in, out);
			put_message(&function, 7, &node);
		}
		put_message(&model, 25, &function);
	}
	int rc = strata_onnx_read(model.bytes, model.length, "m.onnx", NULL, 0, &memory, &read,
				  NULL, &err);

	if (rc == 0)
		strata_graph_free(read);
	return rc;
}

TEST(functions_have_so_many_nodes_in_all)
{
	CHECK_OK(read_tower(STRATA_ONNX_STEPS_MAX));
	CHECK_ERROR(read_tower(STRATA_ONNX_STEPS_MAX + 1), -E2BIG,
		    "functions of the model have more than 262144 nodes in all");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_file_is_refused)
{
	struct strata_graph *read;

	CHECK_ERROR(strata_onnx_open("/nowhere/m.onnx", NULL, 0, &memory, &read, NULL, &err),
		    -ENOENT, "/nowhere/m.onnx");
	CHECK_ERROR(strata_onnx_open("/", NULL, 0, &memory, &read, NULL, &err), -EINVAL,
		    "not a file");
	CHECK_ERROR(strata_onnx_open(write_file("e", "", 0), NULL, 0, &memory, &read, NULL, &err),
		    -EINVAL, "is empty");
	static const struct strata_onnx_dim below = { "n", -1 };

	CHECK_ERROR(strata_onnx_read("", 0, "m", &below, 1, &memory, &read, NULL, &err), -EINVAL,
		    "dimension 'n' is -1");
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_graph *read;
	int rc = strata_onnx_read(model.bytes, model.length, "m.onnx", NULL, 0, own, &read, NULL,
				  why);

	(void)context;
	if (rc == 0)
		strata_graph_free(read);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	begin();
	put_weights(&graph, "w", 4, 4);
	put_node(&graph, "MatMul", "x w", "y");
	put_model(&model, &graph);
	CHECK(test_every_allocation(read_once, NULL) > 20);
}
