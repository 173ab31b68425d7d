#include "test.h"
#include "onnx_sample.h"

#include "formats/onnx/onnx_infer.h"

static struct strata_memory memory;
static struct strata_error err;
static struct message graph, node, model;
static struct strata_arena arena;
static struct onnx_model read_model;
static struct onnx_inferred inferred;

static const struct onnx_value *infer(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	put_message(&graph, 1, &node);
	put_model(&model, &graph);
	CHECK_OK(onnx_model_read(model.bytes, model.length, &arena, &read_model, &err));
	CHECK_OK(onnx_infer(&read_model, NULL, 0, 0, &arena, &inferred, &err));
	CHECK_TEXT(inferred.first_clash, "");
	return inferred.nodes[0].outputs;
}

static void put_input(const char *name, const char *const *dims)
{
	put_value(&graph, 11, name, ONNX_FLOAT, dims);
}

static bool has_dims(const struct onnx_value *value, size_t rank, const int64_t *dims)
{
	return value->ranked && value->rank == rank &&
	       memcmp(value->dims, dims, rank * sizeof(*dims)) == 0;
}

#define SHAPE(...) ((const int64_t[]){ __VA_ARGS__ })

/* Two new tokens behind five, eight heads of 16 for queries and two for keys. */
TEST(attention_reads_its_cache)
{
	static const char *const q[] = { "1", "2", "128", NULL }, *const kv[] = { "1", "2", "32",
										  NULL };
	static const char *const past[] = { "1", "2", "5", "16", NULL };

	graph.length = 0;
	put_input("q", q);
	put_input("k", kv);
	put_input("v", kv);
	put_input("pk", past);
	put_input("pv", past);
	begin_node(&node, "Attention", "q k v - pk pv", "y nk nv");
	put_attr_int(&node, "q_num_heads", 8);
	put_attr_int(&node, "kv_num_heads", 2);
	const struct onnx_value *outputs = infer();

	CHECK(has_dims(&outputs[0], 3, SHAPE(1, 2, 128)));
	CHECK(has_dims(&outputs[1], 4, SHAPE(1, 2, 7, 16)));
	CHECK(has_dims(&outputs[2], 4, SHAPE(1, 2, 7, 16)));
	CHECK_INT(inferred.nodes[0].flops, 2 * 8 * 2 * 7 * (16 + 16));
}

TEST(attention_of_four_dimensions)
{
	static const char *const q[] = { "3", "4", "2", "16", NULL };
	static const char *const k[] = { "3", "4", "6", "16", NULL }, *const v[] = { "3", "4", "6",
										     "8", NULL };

	graph.length = 0;
	put_input("q", q);
	put_input("k", k);
	put_input("v", v);
	begin_node(&node, "Attention", "q k v", "y");
	const struct onnx_value *outputs = infer();

	CHECK(has_dims(&outputs[0], 4, SHAPE(3, 4, 2, 8)));
	CHECK_INT(inferred.nodes[0].flops, 2 * 3 * 4 * 2 * 6 * (16 + 8));
}

/* The cache may be a buffer that is larger than what is in it: its length is not ours to say. */
TEST(group_query_attention_has_a_cache_of_any_length)
{
	static const char *const q[] = { "1", "1", "64", NULL }, *const kv[] = { "1", "1", "32",
										 NULL };
	static const char *const past[] = { "1", "2", "9", "16", NULL };

	graph.length = 0;
	put_input("q", q);
	put_input("k", kv);
	put_input("v", kv);
	put_input("pk", past);
	put_input("pv", past);
	begin_node(&node, "GroupQueryAttention", "q k v pk pv", "y nk nv");
	put_text(&node, 7, "com.microsoft");
	put_attr_int(&node, "num_heads", 4);
	put_attr_int(&node, "kv_num_heads", 2);
	const struct onnx_value *outputs = infer();

	CHECK(inferred.nodes[0].known);
	CHECK(has_dims(&outputs[0], 3, SHAPE(1, 1, 64)));
	CHECK(has_dims(&outputs[1], 4, SHAPE(1, 2, -1, 16)));
}

TEST(fused_products_are_counted)
{
	static const char *const a[] = { "5", "4", "2", NULL }, *const b[] = { "4", "7", NULL };

	graph.length = 0;
	put_input("a", a);
	put_input("b", b);
	begin_node(&node, "FusedMatMul", "a b", "y");
	put_text(&node, 7, "com.microsoft");
	put_attr_int(&node, "transA", 1);
	const struct onnx_value *outputs = infer();

	CHECK(has_dims(&outputs[0], 3, SHAPE(5, 2, 7)));
	CHECK_INT(inferred.nodes[0].flops, 2 * 5 * 2 * 7 * 4);
	static const char *const x[] = { "3", "64", NULL }, *const bits[] = { "10", "2", "16",
									      NULL };

	graph.length = 0;
	put_input("a", x);
	put_value(&graph, 11, "b", ONNX_UINT8, bits);
	begin_node(&node, "MatMulNBits", "a b", "y");
	put_text(&node, 7, "com.microsoft");
	put_attr_int(&node, "K", 64);
	put_attr_int(&node, "N", 10);
	outputs = infer();
	CHECK(has_dims(&outputs[0], 2, SHAPE(3, 10)));
	CHECK_INT(inferred.nodes[0].flops, 2 * 3 * 10 * 64);
}

TEST(a_skip_comes_out_again)
{
	static const char *const x[] = { "2", "3", "8", NULL };

	graph.length = 0;
	put_input("x", x);
	put_input("s", x);
	begin_node(&node, "SkipSimplifiedLayerNormalization", "x s s", "y - - sum");
	put_text(&node, 7, "com.microsoft");
	const struct onnx_value *outputs = infer();

	CHECK(has_dims(&outputs[0], 3, SHAPE(2, 3, 8)));
	CHECK(has_dims(&outputs[3], 3, SHAPE(2, 3, 8)));
	strata_arena_fini(&arena);
}
