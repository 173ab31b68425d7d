/*
 * Every fusion gives the bits of its nodes one by one: by one thread and by several, for shapes that it is made for and for those that it is not. A fusion that
 * has no case here fails.
 */
#include "fused_nodes.h"

#include <errno.h>

struct form {
	int64_t rows, columns; /* of what goes in */
	bool odd;              /* numbers and masks that the fused way is not made for */
};

static void silu(struct fused_nodes *all, const struct form *form)
{
	fused_input_of(all, "x", 2, (int64_t[]){ form->rows, form->columns });
	fused_node(all, "Sigmoid", "s", "x", NULL);
	fused_node(all, "Mul", "y", form->odd ? "x" : "s", form->odd ? "s" : "x");
}

static void gelu(struct fused_nodes *all, const struct form *form)
{
	fused_input_of(all, "x", 2, (int64_t[]){ form->rows, form->columns });
	if (form->odd)
		fused_input_of(all, "root", 1, &form->columns);
	else
		fused_scalar(all, "root", 1.41421354f);
	fused_scalar(all, "one", 1);
	fused_scalar(all, "half", 0.5f);
	fused_node(all, "Div", "d", "x", "root");
	fused_node(all, "Erf", "e", "d", NULL);
	fused_node(all, "Add", "a", "e", "one");
	fused_node(all, "Mul", "m", "x", "a");
	fused_node(all, "Mul", "y", "m", "half");
}

static void layer_norm(struct fused_nodes *all, const struct form *form)
{
	static const int64_t last = -1, first = 0;

	fused_input_of(all, "x", 2, (int64_t[]){ form->rows, form->columns });
	fused_weight(all, "scale", 1, &form->columns);
	fused_weight(all, "bias", 1, &form->columns);
	fused_scalar(all, "two", 2);
	fused_scalar(all, "eps", 1e-5f);
	fused_node(all, "ReduceMean", "mean", "x", NULL);
	fused_axes(all, form->odd ? &first : &last);
	fused_node(all, "Sub", "off", "x", "mean");
	fused_node(all, "Pow", "square", "off", "two");
	fused_node(all, "ReduceMean", "variance", "square", NULL);
	fused_axes(all, form->odd ? &first : &last);
	fused_node(all, "Add", "more", "variance", "eps");
	fused_node(all, "Sqrt", "root", "more", NULL);
	fused_node(all, "Div", "even", "off", "root");
	fused_node(all, "Mul", "scaled", "even", "scale");
	fused_node(all, "Add", "y", "scaled", "bias");
}

static void matmul_add(struct fused_nodes *all, const struct form *form)
{
	if (form->odd)
		fused_input_of(all, "x", 1, &form->columns);
	else
		fused_input_of(all, "x", 3, (int64_t[]){ 2, form->rows, form->columns });
	fused_weight(all, "w", 2, (int64_t[]){ form->columns, 19 });
	fused_weight(all, "b", 1, (int64_t[]){ 19 });
	fused_node(all, "MatMul", "p", "x", "w");
	fused_node(all, "Add", "y", "b", "p");
}

static void attention(struct fused_nodes *all, const struct form *form)
{
	fused_input_of(all, "q", 4, (int64_t[]){ 2, 3, form->rows, form->columns });
	fused_input_of(all, "k", 4, (int64_t[]){ 2, 3, form->columns, 50 });
	fused_input_of(all, "v", 4, (int64_t[]){ form->odd ? 1 : 2, 3, 50, 7 });
	fused_scalar(all, "s", form->columns % 2 ? 3 : 4);
	fused_input_of(all, "mask", 4, (int64_t[]){ 2, 1, form->rows, 50 });
	fused_node(all, "MatMul", "qk", "q", "k");
	fused_node(all, form->rows % 2 ? "Div" : "Mul", "scaled", "qk", "s");
	fused_node(all, "Add", "masked", "scaled", "mask");
	fused_node(all, "Softmax", "shares", "masked", NULL);
	fused_int(all, "axis", -1);
	fused_node(all, "MatMul", "y", "shares", "v");
}

static void group_norm(struct fused_nodes *all, const struct form *form)
{
	int64_t back[] = { 2, 6, form->odd ? -1 : form->rows, form->columns };

	fused_input_of(all, "x", 4, (int64_t[]){ 2, 6, form->rows, form->columns });
	fused_shape(all, "groups", 3, (int64_t[]){ 0, 3, -1 });
	fused_shape(all, "whole", 4, back);
	fused_weight(all, "scale", 1, (int64_t[]){ 3 });
	fused_weight(all, "bias", 1, (int64_t[]){ 3 });
	fused_weight(all, "each_scale", 3, (int64_t[]){ 6, 1, 1 });
	fused_weight(all, "each_bias", 3, (int64_t[]){ 6, 1, 1 });
	fused_node(all, "Reshape", "g", "x", "groups");
	struct onnx_node *norm = fused_node(all, "InstanceNormalization", "n", "g", "scale");

	all->texts[1][2] = "bias";
	norm->input_count = 3;
	all->attributes[1][0] =
		(struct onnx_attribute){ .name = "epsilon", .type = ONNX_ATTR_FLOAT, .real = 1e-3 };
	norm->attribute_count = 1;
	fused_node(all, "Reshape", "back", "n", "whole");
	fused_node(all, "Mul", "scaled", "back", "each_scale");
	fused_node(all, "Add", "y", "each_bias", "scaled");
}

static const struct {
	const char *name;
	void (*make)(struct fused_nodes *all, const struct form *form);
} cases[] = {
	{ "Attention", attention },  { "GELU", gelu },
	{ "GroupNorm", group_norm }, { "LayerNorm", layer_norm },
	{ "MatMulAdd", matmul_add }, { "SiLU", silu },
};

/* Steps that were run node by node after all: what they give is the same, so that nothing else shows it. */
static int apart_count;
int __real_native_fused_apart(struct native_call *call, struct strata_error *err);
int __wrap_native_fused_apart(struct native_call *call, struct strata_error *err);

int __wrap_native_fused_apart(struct native_call *call, struct strata_error *err)
{
	apart_count++;
	return __real_native_fused_apart(call, err);
}

TEST(every_fusion_gives_the_bits_of_its_nodes)
{
	static const struct form forms[] = { { 1, 1 },        { 3, 8 },    { 4, 13 },
					     { 101, 96 },     { 64, 301 }, { 5, 7, true },
					     { 40, 16, true } };

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
		for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
			for (int threads = 1; threads <= 3; threads += 2) {
				struct fused_nodes all;

				fused_init(&all, threads);
				cases[c].make(&all, &forms[f]);
				all.outputs[all.output_count++] = "y";
				apart_count = 0;
				fused_check(&all, 1);
				if (!forms[f].odd && apart_count)
					test_fail(__FILE__, __LINE__,
						  "%s: %lld x %lld is not fused", cases[c].name,
						  (long long)forms[f].rows,
						  (long long)forms[f].columns);
				fused_fini(&all);
			}
}

TEST(every_fusion_has_a_case)
{
	const struct native_fusion *fusion;

	for (size_t i = 0; (fusion = native_fusion_at(i)); i++) {
		bool found = false;

		CHECK_TEXT(fusion->op.kind, fusion->name);
		for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++)
			found |= strcmp(cases[c].name, fusion->name) == 0;
		CHECK(found);
	}
}

/* What is made on the way is wanted, or somebody else reads it: the nodes stay. */
TEST(what_others_want_is_not_fused_away)
{
	const struct form form = { 3, 8 };

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct fused_nodes all;

		fused_init(&all, 1);
		cases[c].make(&all, &form);
		all.outputs[all.output_count++] = "y";
		all.outputs[all.output_count++] = all.nodes[0].outputs[0];
		struct engine_value fused, apart;

		int steps = fused_run(&all, false, &fused);

		CHECK(steps > 1);
		fused_run(&all, true, &apart);
		CHECK_BYTES(fused.data, apart.data, engine_value_bytes(&apart));
		engine_value_drop(&fused);
		engine_value_drop(&apart);
		fused_fini(&all);
	}
}

struct starved {
	void (*make)(struct fused_nodes *all, const struct form *form);
	uint64_t fail_at; /* allocations from the beginning of the run */
};

/* False: the run had that many allocations and more. */
static bool run_starved(const struct starved *starved)
{
	const struct form form = { 40, 16, starved->fail_at % 2 };
	struct engine_team team = { 1 };
	struct native_program *program;
	struct strata_error err = { 0 };
	const struct onnx_node *nodes[NODES_MAX];
	struct engine_value output = { 0 };
	struct fused_nodes all;

	fused_init(&all, 1);
	starved->make(&all, &form);
	all.outputs[all.output_count++] = "y";
	for (size_t i = 0; i < all.node_count; i++)
		nodes[i] = &all.nodes[i];
	const struct onnx_model model = { .opset = 13,
					  .graph = { .initializers = all.weights,
						     .initializer_count = all.weight_count } };
	const struct native_source source = { .model = &model,
					      .nodes = nodes,
					      .node_count = all.node_count,
					      .inputs = all.input_names,
					      .input_count = all.input_count,
					      .weights = all.weight_names,
					      .weight_count = all.weight_count,
					      .weights_stay = true,
					      .outputs = all.outputs,
					      .output_count = 1 };
	const struct native_run run = { .inputs = all.inputs, .weights = all.weight_values };

	CHECK_OK(native_program_new(&source, &all.heap, &team, &program, &err));
	all.memory.fail_at = all.memory.calls + starved->fail_at;
	int rc = native_program_run(program, &run, &output, &err);

	CHECK(rc == 0 || (rc == -ENOMEM && err.text[0]));
	all.memory.fail_at = 0;
	if (rc) /* and it can be run again */
		CHECK_OK(native_program_run(program, &run, &output, &err));
	engine_value_drop(&output);
	native_program_free(program);
	fused_fini(&all);
	return rc == 0;
}

TEST(memory_that_runs_out_leaves_nothing)
{
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct starved starved = { cases[c].make, 1 };
		int fine = 0; /* twice in a row: both forms have no more allocations */

		for (; fine < 2; starved.fail_at++)
			fine = run_starved(&starved) ? fine + 1 : 0;
		CHECK(starved.fail_at > 3);
	}
}
