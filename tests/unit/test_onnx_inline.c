#include "test.h"

#include "formats/onnx/onnx_graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

#define NAMES(...) ((const char *[]){ __VA_ARGS__ })
#define NODE(called, its_kind, its_domain, ins, in_count, outs, out_count)             \
	{                                                                              \
		.name = called, .kind = its_kind, .domain = its_domain, .inputs = ins, \
		.input_count = in_count, .outputs = outs, .output_count = out_count    \
	}

static void begin(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
}

/* "name: Kind(inputs) → outputs" of every node, a line each. */
static const char *show(const struct onnx_node *nodes, size_t count)
{
	static char text[4000];
	size_t at = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s: %s(", nodes[i].name,
				       nodes[i].kind);
		for (size_t k = 0; k < nodes[i].input_count; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", k ? ", " : "",
					       nodes[i].inputs[k]);
		at += (size_t)snprintf(text + at, sizeof(text) - at, ") →");
		for (size_t k = 0; k < nodes[i].output_count; k++)
			at += (size_t)snprintf(text + at, sizeof(text) - at, " %s",
					       nodes[i].outputs[k]);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\n");
	}
	return text;
}

/* Choose(c, a) → y: the branch of an If reads the function's input, a constant of its own and what a node before it made. */
static const struct onnx_node branch_nodes[] = {
	NODE("", "Add", "", NAMES("a", "w"), 2, NAMES("sum"), 1),
	NODE("last", "Mul", "", NAMES("sum", "twice"), 2, NAMES("z"), 1),
};
static const struct onnx_tensor branch_constants[] = { { .name = "w" } };
static const struct onnx_value_info branch_inputs[] = { { .name = "step" } },
				    branch_outputs[] = { { .name = "z" } },
				    branch_values[] = { { .name = "sum" } };
static const struct onnx_graph branch = { .name = "then",
					  .nodes = branch_nodes,
					  .node_count = 2,
					  .initializers = branch_constants,
					  .initializer_count = 1,
					  .inputs = branch_inputs,
					  .input_count = 1,
					  .outputs = branch_outputs,
					  .output_count = 1,
					  .values = branch_values,
					  .value_count = 1 };
static const struct onnx_attribute branch_of[] = {
	{ .name = "then_branch", .type = ONNX_ATTR_GRAPH, .graph = &branch },
	{ .name = "axis", .refers_to = "along" },
	{ .name = "mode", .refers_to = "nothing" },
};
static const struct onnx_node chosen[] = {
	NODE("", "Add", "", NAMES("a", "a"), 2, NAMES("twice"), 1),
	{ .name = "if",
	  .kind = "If",
	  .domain = "",
	  .inputs = NAMES("c"),
	  .input_count = 1,
	  .outputs = NAMES("y"),
	  .output_count = 1,
	  .attributes = branch_of,
	  .attribute_count = 3 },
};
static const struct onnx_function functions[] = {
	{ .name = "Choose",
	  .domain = "own",
	  .inputs = NAMES("c", "a"),
	  .input_count = 2,
	  .outputs = NAMES("y", "a"),
	  .output_count = 2,
	  .nodes = chosen,
	  .node_count = 2 },
};
static const struct onnx_attribute along = { .name = "along", .type = ONNX_ATTR_INT, .integer = 7 };
static const struct onnx_node calls[] = {
	NODE("relu", "Relu", "", NAMES("x"), 1, NAMES("r"), 1),
	{ .name = "call",
	  .kind = "Choose",
	  .domain = "own",
	  .inputs = NAMES("flag", "r"),
	  .input_count = 2,
	  .outputs = NAMES("out", "same"),
	  .output_count = 2,
	  .attributes = &along,
	  .attribute_count = 1 },
	NODE("", "Choose", "own", NAMES("flag"), 1, NAMES("second"), 1),
};

static int put_in_place(struct onnx_model *model)
{
	*model = (struct onnx_model){ .functions = functions, .function_count = 1 };
	model->graph.nodes = calls;
	model->graph.node_count = 3;
	return onnx_inline(model, &arena, &err);
}

TEST(calls_become_the_nodes_of_their_function)
{
	struct onnx_model model;

	begin();
	CHECK_OK(put_in_place(&model));
	CHECK_TEXT(show(model.graph.nodes, model.graph.node_count),
		   "relu: Relu(x) → r\n"
		   "call/Add: Add(r, r) → call#1/twice\n"
		   "call/if: If(flag) → out\n"
		   "call: Identity(r) → same\n"
		   "Choose/Add: Add(, ) → Choose#2/twice\n"
		   "Choose/if: If(flag) → second\n");
	strata_arena_fini(&arena);
}

TEST(graphs_inside_a_function_are_renamed_too)
{
	struct onnx_model model;

	begin();
	CHECK_OK(put_in_place(&model));
	const struct onnx_node *node = &model.graph.nodes[2];
	const struct onnx_graph *graph = node->attributes[0].graph;

	CHECK_INT(node->attribute_count, 2); /* one refers to what the call does not say */
	CHECK_TEXT(node->attributes[1].name, "axis");
	CHECK_INT(node->attributes[1].integer, 7);
	CHECK_INT(model.graph.nodes[5].attribute_count, 1);
	CHECK_TEXT(show(graph->nodes, graph->node_count),
		   "call/Add: Add(r, call#1/w) → call#1/sum\n"
		   "call/last: Mul(call#1/sum, call#1/twice) → call#1/z\n");
	CHECK_INT(graph->initializer_count, 1);
	CHECK_TEXT(graph->initializers[0].name, "call#1/w");
	CHECK_INT(graph->input_count, 1);
	CHECK_TEXT(graph->inputs[0].name, "call#1/step");
	CHECK_INT(graph->output_count, 1);
	CHECK_TEXT(graph->outputs[0].name, "call#1/z");
	CHECK_INT(graph->value_count, 0);
	CHECK_TEXT(branch_nodes[0].inputs[0], "a"); /* the function's own stays */
	strata_arena_fini(&arena);
}

TEST(a_model_without_calls_stays)
{
	struct onnx_model model = { .functions = functions, .function_count = 1 };

	begin();
	model.graph.nodes = calls;
	model.graph.node_count = 1;
	CHECK_OK(onnx_inline(&model, &arena, &err));
	CHECK(model.graph.nodes == calls);
	CHECK_INT(model.graph.node_count, 1);
	strata_arena_fini(&arena);
}

static const char *of_a[] = { "a" }, *of_b[] = { "b" }, *of_xy[] = { "x", "y" }, *of_z[] = { "z" };

/* A chain: F0 is a node, each of the others a call of the one before. */
static int chain(size_t depth, size_t *ret_count)
{
	static struct onnx_function links[STRATA_ONNX_DEPTH_MAX + 2];
	static struct onnx_node bodies[STRATA_ONNX_DEPTH_MAX + 2];
	static char names[STRATA_ONNX_DEPTH_MAX + 2][8];
	struct onnx_model model = { .functions = links, .function_count = depth };
	struct onnx_node call = NODE("top", names[depth - 1], "own", NAMES("x"), 1, NAMES("y"), 1);

	begin();
	for (size_t i = 0; i < depth; i++) {
		snprintf(names[i], sizeof(names[i]), "F%zu", i);
		bodies[i] = (struct onnx_node)NODE("", i ? names[i - 1] : "Relu", i ? "own" : "",
						   of_a, 1, of_b, 1);
		links[i] = (struct onnx_function){ .name = names[i],
						   .domain = "own",
						   .inputs = of_a,
						   .input_count = 1,
						   .outputs = of_b,
						   .output_count = 1,
						   .nodes = &bodies[i],
						   .node_count = 1 };
	}
	model.graph.nodes = &call;
	model.graph.node_count = 1;
	int rc = onnx_inline(&model, &arena, &err);

	*ret_count = model.graph.node_count;
	strata_arena_fini(&arena);
	return rc;
}

TEST(functions_are_nested_only_so_deep)
{
	size_t count;

	CHECK_OK(chain(1, &count));
	CHECK_INT(count, 1);
	CHECK_OK(chain(STRATA_ONNX_DEPTH_MAX, &count));
	CHECK_INT(count, 1);
	CHECK_ERROR(chain(STRATA_ONNX_DEPTH_MAX + 1, &count), -E2BIG, "nested more than");
}

/* More nodes than there is room for at first, in their order. */
TEST(many_calls_keep_their_order)
{
	enum { MANY = 200 };
	static struct onnx_node many[MANY];
	static char names[MANY][8];
	struct onnx_model model = { .functions = functions, .function_count = 1 };

	begin();
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "n%zu", i);
		many[i] = (struct onnx_node)NODE(names[i], i == 0 ? "Choose" : "Relu",
						 i == 0 ? "own" : "", of_xy, 2, of_z, 1);
	}
	model.graph.nodes = many;
	model.graph.node_count = MANY;
	CHECK_OK(onnx_inline(&model, &arena, &err));
	CHECK_INT(model.graph.node_count, MANY + 1);
	for (size_t i = 1; i < MANY; i++)
		CHECK_TEXT(model.graph.nodes[i + 1].name, names[i]);
	strata_arena_fini(&arena);
}

TEST(without_memory_the_model_stays)
{
	int rc = -ENOMEM;

	for (uint64_t call = 1; rc == -ENOMEM; call++) {
		struct strata_memory scarce = { .fail_at = call, .fail_from_there = true };
		struct onnx_model model;

		strata_arena_init(&arena, &scarce, 0);
		rc = put_in_place(&model);
		CHECK(rc == 0 || model.graph.nodes == calls);
		strata_arena_fini(&arena);
		CHECK_INT(scarce.used_bytes, 0);
		CHECK(call < 1000);
	}
	CHECK_OK(rc);
	arena = (struct strata_arena){ 0 };
}
