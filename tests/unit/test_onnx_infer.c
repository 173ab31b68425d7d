#include "test.h"
#include "onnx_sample.h"

#include "formats/onnx/onnx_infer.h"

#include <errno.h>
#include <stdio.h>

static struct strata_memory memory;
static struct strata_error err;
static struct message graph, node, model, body, function;
static struct strata_arena arena;
static struct onnx_model read_model;
static struct onnx_inferred inferred;

static int infer(const struct onnx_dim *dims, size_t count, unsigned flags)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	if (!model.length)
		put_model(&model, &graph);
	CHECK_OK(onnx_model_read(model.bytes, model.length, &arena, &read_model, &err));
	return onnx_infer(&read_model, dims, count, flags, &arena, &inferred, &err);
}

static void begin(void)
{
	graph.length = model.length = 0;
}

/* An output of a node as "f32 shape": "[2, ?, batch]". */
static const char *shape_of(size_t index)
{
	static char text[200];
	const struct onnx_value *value = &inferred.nodes[index].outputs[0];
	size_t length = 0;

	if (value->kind != ONNX_TENSOR || !value->ranked)
		return "none";
	length = (size_t)snprintf(text, sizeof(text), "[");
	for (size_t i = 0; i < value->rank; i++)
		if (value->dims[i] >= 0)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%lld",
						   i ? ", " : "", (long long)value->dims[i]);
		else
			length += (size_t)snprintf(
				text + length, sizeof(text) - length, "%s%s", i ? ", " : "",
				value->dims[i] == -1 ? "?"
						     : inferred.dim_names[-2 - value->dims[i]]);
	snprintf(text + length, sizeof(text) - length, "]");
	return text;
}

static const char *const batch_rows[] = { "batch", "rows", "64", NULL };

/* Shape → Gather → Unsqueeze → Concat → Reshape, as exporters write x.view(n, -1, 4, 16). */
static void put_view(void)
{
	static const int64_t zero = 0, rest[] = { -1, 4, 16 };

	begin();
	put_value(&graph, 11, "x", 1, batch_rows);
	put_integers(&graph, "zero", &zero, 0);
	put_integers(&graph, "axes", &zero, 1);
	put_integers(&graph, "rest", rest, 3);
	put_node(&graph, "Shape", "x", "shape");
	put_node(&graph, "Gather", "shape zero", "n");
	put_node(&graph, "Unsqueeze", "n axes", "n1");
	begin_node(&node, "Concat", "n1 rest", "wanted");
	put_attr_int(&node, "axis", 0);
	put_message(&graph, 1, &node);
	put_node(&graph, "Reshape", "x wanted", "y");
}

TEST(shapes_are_computed_along_with_the_model)
{
	static const struct onnx_dim dims[] = { { "batch", 2 }, { "rows", 5 } };

	put_view();
	CHECK_OK(infer(dims, 2, 0));
	CHECK_TEXT(shape_of(4), "[2, 5, 4, 16]");
	CHECK_INT(inferred.output_shaped, 5);
	CHECK(inferred.nodes[0].folded && inferred.nodes[3].folded && !inferred.nodes[4].folded);
}

TEST(dimensions_keep_their_names_through_it)
{
	put_view();
	CHECK_OK(infer(NULL, 0, 0));
	CHECK_TEXT(shape_of(4), "[batch, ?, 4, 16]");
	CHECK_INT(inferred.output_shaped, 4);
	CHECK_INT(inferred.dim_count, 2);
	CHECK(!inferred.nodes[3].folded); /* batch is in it */
}

TEST(only_dimensions_of_the_model_can_be_given)
{
	static const struct onnx_dim near[] = { { "batsh", 2 } }, far[] = { { "x", 2 } };

	put_view();
	CHECK_ERROR(infer(near, 1, 0), -EINVAL, "no dimension 'batsh'; did you mean 'batch'?");
	CHECK_ERROR(infer(far, 1, 0), -EINVAL, "no dimension 'x'; one that it has is batch");
}

TEST(a_star_stands_for_all_others)
{
	static const struct onnx_dim dims[] = { { "*", 1 }, { "rows", 5 } };

	put_view();
	CHECK_OK(infer(dims, 2, 0));
	CHECK_TEXT(shape_of(4), "[1, 5, 4, 16]");
	begin();
	CHECK_OK(infer(dims, 1, 0)); /* even of a model that has none */
}

TEST(what_is_not_known_or_contradicts_degrades)
{
	static const char *const two[] = { "2", "3", NULL };

	begin();
	put_value(&graph, 11, "x", 1, two);
	put_weights(&graph, "w", 4, 4);
	put_node(&graph, "NoSuchThing", "x", "a");
	put_node(&graph, "Relu", "a", "b");
	put_node(&graph, "MatMul", "x w", "c");
	put_node(&graph, "Neg", "x", "d");
	CHECK_OK(infer(NULL, 0, 0));
	CHECK(!inferred.nodes[0].known && inferred.nodes[1].known);
	CHECK_TEXT(shape_of(1), "none");
	CHECK(inferred.nodes[2].clash && inferred.nodes[2].flops == 0);
	CHECK_TEXT(inferred.first_clash, "MatMul '': 3 columns meet 4 rows");
	CHECK_TEXT(shape_of(3), "[2, 3]");
}

TEST(declared_shapes_fill_gaps_and_are_compared)
{
	static const char *const two[] = { "2", "3", NULL }, *const three[] = { "3", "3", NULL };

	begin();
	put_value(&graph, 11, "x", 1, two);
	put_value(&graph, 13, "a", 1, three);
	put_value(&graph, 12, "b", 1, three);
	put_node(&graph, "NoSuchThing", "x", "a");
	put_node(&graph, "Relu", "x", "b");
	CHECK_OK(infer(NULL, 0, 0));
	CHECK_TEXT(shape_of(0), "none");
	CHECK_INT(inferred.contradictions, 1);
	CHECK_OK(infer(NULL, 0, ONNX_BELIEVE_DECLARED));
	CHECK_TEXT(shape_of(0), "[3, 3]");
	CHECK_TEXT(shape_of(1), "[2, 3]"); /* what was found counts more */
}

/* A type that says nothing contradicts nothing. */
TEST(a_declared_type_may_be_empty)
{
	static const char *const two[] = { "2", "3", NULL };
	static struct message value, type;

	begin();
	value.length = type.length = 0;
	put_value(&graph, 11, "x", 1, two);
	put_text(&value, 1, "a");
	put_message(&value, 2, &type);
	put_message(&graph, 13, &value);
	put_node(&graph, "Relu", "x", "a");
	put_node(&graph, "NoSuchThing", "x", "b");
	for (unsigned flags = 0; flags <= ONNX_BELIEVE_DECLARED; flags++) {
		CHECK_OK(infer(NULL, 0, flags));
		CHECK_TEXT(shape_of(0), "[2, 3]");
		CHECK_TEXT(shape_of(1), "none");
		CHECK_INT(inferred.contradictions, 0);
	}
}

TEST(functions_of_the_model_are_called)
{
	static const char *const two[] = { "2", "3", NULL };

	begin();
	function.length = 0;
	put_text(&function, 1, "Twice");
	put_text(&function, 10, "own");
	put_text(&function, 4, "a");
	put_text(&function, 5, "c");
	begin_node(&node, "Transpose", "a", "b");
	put_message(&function, 7, &node);
	begin_node(&node, "MatMul", "a b", "c");
	put_message(&function, 7, &node);
	put_value(&graph, 11, "x", 1, two);
	begin_node(&node, "Twice", "x", "y");
	put_text(&node, 7, "own");
	put_message(&graph, 1, &node);
	put_model(&model, &graph);
	put_message(&model, 25, &function);
	CHECK_OK(infer(NULL, 0, 0));
	CHECK(inferred.nodes[0].known);
	CHECK_TEXT(shape_of(0), "[2, 2]");
	CHECK_INT(inferred.nodes[0].flops, 2 * 2 * 2 * 3);
}

/* A function that calls itself has no end, and is refused. */
TEST(functions_have_a_depth)
{
	begin();
	function.length = 0;
	put_text(&function, 1, "Again");
	put_text(&function, 10, "own");
	put_text(&function, 4, "a");
	put_text(&function, 5, "b");
	begin_node(&node, "Again", "a", "b");
	put_text(&node, 7, "own");
	put_message(&function, 7, &node);
	put_value(&graph, 11, "x", 1, batch_rows);
	begin_node(&node, "Again", "x", "y");
	put_text(&node, 7, "own");
	put_message(&graph, 1, &node);
	put_model(&model, &graph);
	put_message(&model, 25, &function);
	CHECK_ERROR(infer(NULL, 0, 0), -E2BIG, "nested more than 16 deep");
}

TEST(a_loop_is_counted_by_its_rounds_and_reads_from_outside)
{
	static const char *const square[] = { "4", "4", NULL }, *const scalar[] = { NULL };
	static const int64_t rounds = 7, yes = 1;

	begin();
	body.length = 0;
	put_value(&body, 11, "i", 7, scalar);
	put_value(&body, 11, "go", 9, scalar);
	put_value(&body, 11, "s", 1, NULL);
	put_integers(&body, "yes", &yes, 0);
	begin_node(&node, "Cast", "yes", "on");
	put_attr_int(&node, "to", 9);
	put_message(&body, 1, &node);
	put_node(&body, "MatMul", "s w", "s2");
	put_node(&body, "Identity", "s2", "each");
	put_value(&body, 12, "on", 9, scalar);
	put_value(&body, 12, "s2", 1, NULL);
	put_value(&body, 12, "each", 1, NULL);
	put_value(&graph, 11, "x", 1, square);
	put_weights(&graph, "w", 4, 4);
	put_integers(&graph, "rounds", &rounds, 0);
	begin_node(&node, "Loop", "rounds - x", "last all");
	put_attr_graph(&node, "body", &body);
	put_message(&graph, 1, &node);
	CHECK_OK(infer(NULL, 0, 0));
	CHECK_TEXT(shape_of(0), "[4, 4]");
	CHECK(inferred.nodes[0].outputs[1].rank == 3 && inferred.nodes[0].outputs[1].dims[0] == 7);
	CHECK_INT(inferred.nodes[0].flops, 7 * 2 * 4 * 4 * 4);
	CHECK_INT(inferred.nodes[0].input_count, 4);
	CHECK_TEXT(inferred.nodes[0].inputs[3]->name, "w");
}

/* x doubles in every round: no shape of it stays, but its rank. */
TEST(what_a_loop_changes_is_not_known)
{
	static const char *const rows[] = { "4", "3", NULL }, *const scalar[] = { NULL };

	begin();
	body.length = 0;
	put_value(&body, 11, "i", 7, scalar);
	put_value(&body, 11, "go", 9, scalar);
	put_value(&body, 11, "s", 1, NULL);
	put_node(&body, "Identity", "go", "on");
	begin_node(&node, "Concat", "s s", "s2");
	put_attr_int(&node, "axis", 0);
	put_message(&body, 1, &node);
	put_value(&body, 12, "on", 9, scalar);
	put_value(&body, 12, "s2", 1, NULL);
	put_value(&graph, 11, "x", 1, rows);
	put_value(&graph, 11, "go", 9, scalar);
	begin_node(&node, "Loop", "- go x", "last");
	put_attr_graph(&node, "body", &body);
	put_message(&graph, 1, &node);
	CHECK_OK(infer(NULL, 0, 0));
	CHECK_TEXT(shape_of(0), "[?, 3]");
}

TEST(branches_that_differ_have_in_common_what_is_the_same)
{
	static const char *const rows[] = { "4", "3", NULL }, *const scalar[] = { NULL };

	begin();
	put_value(&graph, 11, "x", 1, rows);
	put_value(&graph, 11, "which", 9, scalar);
	begin_node(&node, "If", "which", "y");
	for (int i = 0; i < 2; i++) {
		body.length = 0;
		begin_node(&function, "Concat", i ? "x x" : "x", "r");
		put_attr_int(&function, "axis", 0);
		put_message(&body, 1, &function);
		put_value(&body, 12, "r", 1, NULL);
		put_attr_graph(&node, i ? "else_branch" : "then_branch", &body);
	}
	put_message(&graph, 1, &node);
	CHECK_OK(infer(NULL, 0, 0));
	CHECK_TEXT(shape_of(0), "[?, 3]");
	CHECK_INT(inferred.nodes[0].input_count, 2); /* which, and x from outside */
}

TEST(nodes_in_any_order_are_sorted)
{
	static const char *const two[] = { "2", "3", NULL };

	begin();
	put_value(&graph, 11, "x", 1, two);
	put_node(&graph, "Neg", "b", "c");
	put_node(&graph, "Abs", "a", "b");
	put_node(&graph, "Relu", "x", "a");
	CHECK_OK(infer(NULL, 0, 0));
	CHECK_TEXT(shape_of(0), "[2, 3]");
	CHECK_INT(inferred.output_shaped, 3);
}

TEST(a_cycle_is_named)
{
	static const char *const two[] = { "2", "3", NULL };

	begin();
	put_value(&graph, 11, "x", 1, two);
	put_node(&graph, "Relu", "x", "start");
	put_node(&graph, "Add", "start c", "a");
	put_node(&graph, "Neg", "a", "b");
	put_node(&graph, "Abs", "b", "c");
	put_node(&graph, "Abs", "c", "end");
	CHECK_ERROR(infer(NULL, 0, 0), -EINVAL, "the nodes form a cycle: ");
	CHECK(strstr(err.text, "a → b → c → a") || strstr(err.text, "b → c → a → b") ||
	      strstr(err.text, "c → a → b → c"));
	begin();
	put_node(&graph, "Add", "a a", "a");
	CHECK_ERROR(infer(NULL, 0, 0), -EINVAL, "cycle: a → a");
}

/* However long a cycle is, its sentence is short. */
TEST(a_long_cycle_is_named_in_part)
{
	char in[8], out[8];

	begin();
	for (int i = 0; i < 40; i++) {
		snprintf(in, sizeof(in), "n%d", (i + 39) % 40);
		snprintf(out, sizeof(out), "n%d", i);
		put_node(&graph, "Neg", in, out);
	}
	CHECK_ERROR(infer(NULL, 0, 0), -EINVAL, "→ … →");
}

TEST(names_are_made_once_and_before_they_are_read)
{
	begin();
	put_node(&graph, "Relu", "nowhere", "y");
	CHECK_ERROR(infer(NULL, 0, 0), -EINVAL, "reads 'nowhere', which nothing before it makes");
	begin();
	put_value(&graph, 11, "x", 1, NULL);
	put_node(&graph, "Relu", "x", "y");
	put_node(&graph, "Neg", "x", "y");
	CHECK_ERROR(infer(NULL, 0, 0), -EINVAL, "two nodes make 'y'");
	begin();
	put_value(&graph, 12, "y", 1, NULL);
	CHECK_ERROR(infer(NULL, 0, 0), -EINVAL, "nothing makes the output 'y'");
}

/* Constants of so many elements are computed with, larger ones only have a shape. */
TEST(constants_to_compute_with_are_small)
{
	for (int64_t count = STRATA_ONNX_FOLD_MAX; count <= STRATA_ONNX_FOLD_MAX + 1; count++) {
		begin();
		put_integers(&graph, "n", &count, 1);
		put_node(&graph, "ConstantOfShape", "n", "y");
		CHECK_OK(infer(NULL, 0, 0));
		CHECK_INT(inferred.nodes[0].outputs[0].dims[0], count);
		CHECK_INT(inferred.nodes[0].folded, count == STRATA_ONNX_FOLD_MAX);
	}
	strata_arena_fini(&arena);
}

TEST(reals_have_no_bits_to_compute_with)
{
	static const int64_t two = 2;

	begin();
	put_integers(&graph, "n", &two, 1);
	put_node(&graph, "ConstantOfShape", "n", "y");
	put_node(&graph, "Add", "y y", "sum");
	put_node(&graph, "BitwiseAnd", "y y", "bits");
	CHECK_OK(infer(NULL, 0, 0));
	CHECK(inferred.nodes[1].folded);
	CHECK(!inferred.nodes[2].folded && !inferred.nodes[2].outputs[0].reals);
	CHECK_TEXT(shape_of(2), "[2]");
	strata_arena_fini(&arena);
}

/* A chain of nodes that is deeper than any stack. */
TEST(a_long_chain_is_inferred)
{
	enum { LENGTH = 200000 };
	struct onnx_node *nodes = calloc(LENGTH, sizeof(*nodes));
	char(*names)[8] = calloc(LENGTH + 1, sizeof(*names));
	const char **inputs = calloc(LENGTH + 1, sizeof(*inputs));
	struct onnx_value_info input = { .type = { .kind = ONNX_TENSOR,
						   .dtype = ONNX_FLOAT,
						   .ranked = true,
						   .rank = 1,
						   .dims = { 3 } } };
	struct onnx_model chain = { .opset = 17 };

	CHECK(nodes && names && inputs);
	for (size_t i = 0; i <= LENGTH; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		inputs[i] = names[i];
	}
	for (size_t i = 0; i < LENGTH; i++) /* the last first, so that they have to be sorted */
		nodes[LENGTH - 1 - i] = (struct onnx_node){ .name = "",
							    .kind = "Relu",
							    .domain = "",
							    .inputs = &inputs[i],
							    .outputs = &inputs[i + 1],
							    .input_count = 1,
							    .output_count = 1 };
	input.name = names[0];
	chain.graph = (struct onnx_graph){
		.name = "", .nodes = nodes, .node_count = LENGTH, .inputs = &input, .input_count = 1
	};
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(onnx_infer(&chain, NULL, 0, 0, &arena, &inferred, &err));
	CHECK_INT(inferred.output_shaped, LENGTH);
	strata_arena_fini(&arena);
	free(nodes);
	free(names);
	free(inputs);
}

static int infer_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct strata_arena scratch;
	struct onnx_inferred ignored;
	struct onnx_model own_model;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = onnx_model_read(model.bytes, model.length, &scratch, &own_model, why);

	if (rc == 0)
		rc = onnx_infer(&own_model, NULL, 0, 0, &scratch, &ignored, why);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	put_view();
	put_model(&model, &graph);
	CHECK(test_every_allocation(infer_once, NULL) > 20);
}
