#include "test.h"
#include "onnx_sample.h"

#include "formats/onnx/onnx_model.h"

#include <errno.h>
#include <stdlib.h>

static struct strata_memory memory;
static struct strata_error err;
static struct message graph, node, model, tensor, inner;
static struct strata_arena arena;
static struct onnx_model read_model;

static int read_bytes(const void *bytes, size_t length)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return onnx_model_read(bytes, length, &arena, &read_model, &err);
}

static int read_graph(void)
{
	put_model(&model, &graph);
	return read_bytes(model.bytes, model.length);
}

static int read_tensor(void)
{
	graph.length = 0;
	put_message(&graph, 5, &tensor);
	return read_graph();
}

static const char *const dims[] = { "batch", "4", "", NULL };

TEST(a_model_is_read)
{
	static const int64_t shape[] = { 2, -1 };

	graph.length = 0;
	put_text(&graph, 2, "g");
	put_value(&graph, 11, "x", 1, dims);
	put_value(&graph, 12, "y", 1, NULL);
	put_integers(&graph, "s", shape, 2);
	begin_node(&node, "Reshape", "x s", "y");
	put_attr_int(&node, "allowzero", 1);
	put_message(&graph, 1, &node);
	CHECK_OK(read_graph());
	CHECK_INT(read_model.opset, 17);
	CHECK_INT(read_model.graph.node_count, 1);
	const struct onnx_node *only = read_model.graph.nodes;

	CHECK_TEXT(only->kind, "Reshape");
	CHECK_TEXT(only->inputs[1], "s");
	CHECK_INT(onnx_attribute_find(only, "allowzero")->integer, 1);
	CHECK(!onnx_attribute_find(only, "other"));
	const struct onnx_type *type = &read_model.graph.inputs[0].type;

	CHECK(type->ranked && type->rank == 3 && type->dims[1] == 4 && type->dims[2] == -1);
	CHECK_TEXT(type->names[0], "batch");
	CHECK(!type->names[2] && !read_model.graph.outputs[0].type.ranked);
	const struct onnx_tensor *s = read_model.graph.initializers;
	int64_t values[2];

	CHECK(s->elements == 2 && s->bytes == 16);
	CHECK(s->raw.at > model.bytes &&
	      s->raw.at + 16 <= model.bytes + model.length); /* in place */
	CHECK_OK(onnx_tensor_integers(s, values, &err));
	CHECK(values[0] == 2 && values[1] == -1);
}

TEST(contents_in_fields_by_type_are_read)
{
	double reals[2];
	int64_t integers[2];
	static const float floats[] = { 0.5f, -2 };

	tensor.length = 0;
	put_int(&tensor, 1, 2);
	put_int(&tensor, 2, ONNX_FLOAT);
	put_bytes(&tensor, 4, floats, sizeof(floats));
	CHECK_OK(read_tensor());
	CHECK_OK(onnx_tensor_reals(read_model.graph.initializers, reals, &err));
	CHECK(reals[0] == 0.5 && reals[1] == -2);
	CHECK_ERROR(onnx_tensor_integers(read_model.graph.initializers, integers, &err), -ENOTSUP,
		    "is not one to compute with");
	tensor.length = 0;
	put_int(&tensor, 1, 2);
	put_int(&tensor, 2, ONNX_INT8);
	put_int(&tensor, 5, -3);
	put_int(&tensor, 5, 7);
	CHECK_OK(read_tensor());
	CHECK_OK(onnx_tensor_integers(read_model.graph.initializers, integers, &err));
	CHECK(integers[0] == -3 && integers[1] == 7);
	put_int(&tensor, 5, 8);
	CHECK_OK(read_tensor());
	CHECK_ERROR(onnx_tensor_integers(read_model.graph.initializers, integers, &err), -EINVAL,
		    "has 3 elements; its shape needs 2");
	tensor.length = 0;
	put_int(&tensor, 1, 1);
	put_int(&tensor, 2, ONNX_FLOAT16);
	put_int(&tensor, 5, 0x3c00);
	CHECK_OK(read_tensor());
	CHECK_OK(onnx_tensor_reals(read_model.graph.initializers, reals, &err));
	CHECK(reals[0] == 1);
}

static void put_external(const char *key, const char *value)
{
	inner.length = 0;
	put_text(&inner, 1, key);
	put_text(&inner, 2, value);
	put_message(&tensor, 13, &inner);
}

TEST(contents_may_be_in_another_file)
{
	tensor.length = 0;
	put_int(&tensor, 1, 1000000);
	put_int(&tensor, 2, ONNX_FLOAT);
	put_text(&tensor, 8, "w");
	put_int(&tensor, 14, 1);
	CHECK_ERROR(read_tensor(), -EINVAL, "'w' is in another file, which is not named");
	put_external("location", "weights.bin");
	put_external("offset", "4096");
	put_external("length", "4000000");
	CHECK_OK(read_tensor());
	CHECK_TEXT(read_model.graph.initializers[0].location, "weights.bin");
	CHECK_INT(read_model.graph.initializers[0].offset_bytes, 4096);
	put_external("length", "3999999");
	CHECK_ERROR(read_tensor(), -EINVAL,
		    "has 3999999 bytes in 'weights.bin'; its shape needs 4000000");
	put_external("length", "4e6");
	CHECK_ERROR(read_tensor(), -EINVAL, "length of a tensor in another file is '4e6'");
	put_external("length", "-1");
	CHECK_ERROR(read_tensor(), -EINVAL, "expected a number of bytes");
}

TEST(tensors_that_cannot_be_are_refused)
{
	tensor.length = 0;
	put_int(&tensor, 1, 3);
	put_int(&tensor, 2, ONNX_FLOAT);
	put_text(&tensor, 8, "w");
	put_bytes(&tensor, 9, "12345678", 8);
	CHECK_ERROR(read_tensor(), -EINVAL, "'w' has 8 bytes of contents; its shape needs 12");
	tensor.length = 0;
	put_int(&tensor, 1, -3);
	put_int(&tensor, 2, ONNX_FLOAT);
	CHECK_ERROR(read_tensor(), -EINVAL, "a dimension below 0");
	tensor.length = 0;
	put_int(&tensor, 1, INT64_C(1) << 40);
	put_int(&tensor, 1, INT64_C(1) << 40);
	put_int(&tensor, 2, ONNX_FLOAT);
	CHECK_ERROR(read_tensor(), -EINVAL, "too many elements");
	tensor.length = 0;
	put_int(&tensor, 2, 99);
	CHECK_ERROR(read_tensor(), -EINVAL, "unknown type");
	tensor.length = 0;
	put_int(&tensor, 2, ONNX_FLOAT);
	for (int i = 0; i < STRATA_TENSOR_RANK_MAX; i++)
		put_int(&tensor, 1, 1);
	CHECK_OK(read_tensor());
	put_int(&tensor, 1, 1);
	CHECK_ERROR(read_tensor(), -E2BIG, "more than 16 dimensions");
	tensor.length = 0;
	put_int(&tensor, 2, ONNX_FLOAT);
	put_bytes(&tensor, 3, "", 0);
	CHECK_ERROR(read_tensor(), -ENOTSUP, "segments");
}

TEST(names_have_a_limit)
{
	static char name[STRATA_ONNX_NAME_BYTES_MAX + 2];

	memset(name, 'a', STRATA_ONNX_NAME_BYTES_MAX);
	graph.length = 0;
	put_node(&graph, "Relu", "x", name);
	CHECK_OK(read_graph());
	name[STRATA_ONNX_NAME_BYTES_MAX] = 'a';
	graph.length = 0;
	put_node(&graph, "Relu", "x", name);
	CHECK_ERROR(read_graph(), -E2BIG, "a name has 4097 bytes; at most 4096 are read");
	graph.length = 0;
	put_node(&graph, "Relu", "x", "\xff");
	CHECK_ERROR(read_graph(), -EINVAL, "not valid UTF-8");
	graph.length = 0;
	put_node(&graph, "", "x", "y");
	CHECK_ERROR(read_graph(), -EINVAL, "has no operator");
}

/* Graphs in graphs, so many that `count` of them are read. */
static int read_nested(int count)
{
	graph.length = 0;
	for (int i = 1; i < count; i++) {
		begin_node(&node, "If", "x", "y");
		put_attr_graph(&node, "then_branch", &graph);
		graph.length = 0;
		put_message(&graph, 1, &node);
	}
	return read_graph();
}

TEST(graphs_are_nested_up_to_a_depth)
{
	CHECK_OK(read_nested(STRATA_ONNX_DEPTH_MAX));
	CHECK_INT(read_model.node_count, STRATA_ONNX_DEPTH_MAX - 1);
	CHECK_ERROR(read_nested(STRATA_ONNX_DEPTH_MAX + 1), -E2BIG, "nested more than 16 deep");
}

TEST(what_is_no_model_is_refused)
{
	CHECK_ERROR(read_bytes("", 0), -EINVAL, "there are 0 graphs in the file; a model has one");
	CHECK_ERROR(read_bytes("hello, this is no model", 23), -EINVAL, "");
	graph.length = 0;
	put_model(&model, &graph);
	put_message(&model, 7, &graph);
	CHECK_ERROR(read_bytes(model.bytes, model.length), -EINVAL, "there are 2 graphs");
}

/* However a file is cut short, it is read or refused, and never read past its end. */
TEST(a_file_that_is_cut_short_is_harmless)
{
	graph.length = 0;
	put_value(&graph, 11, "x", 1, dims);
	put_weights(&graph, "w", 4, 4);
	put_node(&graph, "MatMul", "x w", "y");
	put_model(&model, &graph);
	for (size_t length = 0; length < model.length; length++) {
		uint8_t *exact = malloc(length + 1);

		CHECK(exact);
		memcpy(exact, model.bytes, length);
		if (read_bytes(exact, length))
			CHECK(err.text[0]);
		free(exact);
	}
	strata_arena_fini(&arena);
}

static int read_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_arena scratch;
	struct onnx_model ignored;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = onnx_model_read(model.bytes, model.length, &scratch, &ignored, why);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	graph.length = 0;
	put_value(&graph, 11, "x", 1, dims);
	put_weights(&graph, "w", 4, 4);
	begin_node(&node, "MatMul", "x w", "y");
	put_attr_int(&node, "a", 3);
	put_message(&graph, 1, &node);
	put_model(&model, &graph);
	CHECK(test_every_allocation(read_once, NULL) > 10);
}
