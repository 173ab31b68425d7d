#include "engine/features.h"
#include "engine_model.h"

#include <strata/engine.h>

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;

/* A UNet of one level: a = |sample|, kept on the way down; up = relu(−(a · w)), below; y = −[up, a]. */
static void put_unet(struct message *graph)
{
	static const char *const dims[] = { "n", "4", NULL };
	static struct message node;

	graph->length = 0;
	put_node(graph, "Abs", "sample", "a");
	put_node(graph, "MatMul", "a w", "b");
	put_node(graph, "Neg", "b", "c");
	put_node(graph, "Identity", "c", "d");
	put_node(graph, "Relu", "d", "up");
	begin_node(&node, "Concat", "up a", "both");
	put_attr_int(&node, "axis", 1);
	put_message(graph, 1, &node);
	put_node(graph, "Neg", "both", "y");
	put_weights(graph, "w", 4, 4);
	put_value(graph, 11, "sample", ONNX_FLOAT, dims);
	put_value(graph, 12, "y", ONNX_FLOAT, NULL);
}

static struct strata_engine_model *open_as(const struct strata_engine_model_conf *conf)
{
	static struct message graph;
	struct strata_engine_model *model;

	put_unet(&graph);
	CHECK_OK(strata_engine_open(engine, write_model(&graph), conf, &model, &err));
	return model;
}

TEST(what_comes_up_is_given_out_and_taken_in)
{
	float numbers[] = { 1, -2, 3, -4 }, others[] = { 5, 6, 7, 8 };
	struct strata_array inputs[2] = {
		{ .dtype = STRATA_DTYPE_F32, .rank = 2, .dims = { 1, 4 }, .data = numbers },
	};
	struct strata_array outputs[2], again;
	struct strata_engine_model *gives, *takes;

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	gives = open_as(&(struct strata_engine_model_conf){ .give_features_of = "sample" });
	takes = open_as(&(struct strata_engine_model_conf){ .take_features_of = "sample" });
	CHECK_INT(strata_engine_input_count(gives), 1);
	CHECK_INT(strata_engine_output_count(gives), 2);
	CHECK_TEXT(strata_engine_output_at(gives, 1)->name, "up");
	CHECK_INT(strata_engine_input_count(takes), 2);
	CHECK_TEXT(strata_engine_input_at(takes, 1)->name, "up");
	CHECK_INT(strata_engine_output_count(takes), 1);
	CHECK_INT(strata_engine_weight_bytes(gives), 64);
	CHECK_INT(strata_engine_weight_bytes(takes), 0); /* they are below */

	CHECK_OK(strata_engine_run(gives, inputs, outputs, &err));
	inputs[1] = outputs[1];
	CHECK_OK(strata_engine_run(takes, inputs, &again, &err));
	CHECK_INT(strata_array_bytes(&again), 8 * sizeof(float));
	CHECK_BYTES(again.data, outputs[0].data, 8 * sizeof(float));
	strata_array_drop(&again);

	inputs[0].data = others; /* what lies above is new */
	((float *)inputs[1].data)[0] = 9;
	CHECK_OK(strata_engine_run(takes, inputs, &again, &err));
	static const float expected[] = { -9, 0, 0, 0, -5, -6, -7, -8 };

	for (size_t i = 0; i < 8; i++)
		CHECK(((const float *)again.data)[i] == expected[i]);
	strata_array_drop(&again);
	strata_array_drop(&outputs[0]);
	strata_array_drop(&outputs[1]);
	strata_engine_close(gives);
	strata_engine_close(takes);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_model_without_a_connection_past_its_inner_part_is_refused)
{
	static struct message graph;
	struct engine_model *model;
	const char *path;

	put_small_graph(&graph);
	path = write_model(&graph);
	CHECK_OK(engine_model_open(path, &memory, &model, &err));
	CHECK_ERROR(engine_features_edit(model, "x", ENGINE_FEATURES_GIVEN, &err), -ENOTSUP,
		    "no connection past its inner part");
	engine_model_close(model);
	put_unet(&graph);
	CHECK_OK(engine_model_open(write_model(&graph), &memory, &model, &err));
	CHECK_ERROR(engine_features_edit(model, "timestep", ENGINE_FEATURES_TAKEN, &err), -ENOTSUP,
		    "no features of it can be used again");
	CHECK_INT(model->input_count, 1);
	CHECK_INT(model->onnx.graph.node_count, 7);
	engine_model_close(model);
	CHECK_INT(memory.used_bytes, 0);
}

static int edit(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct engine_model *model;
	int rc = engine_model_open(context, own, &model, why);

	if (rc)
		return rc;
	rc = engine_features_edit(model, "sample", ENGINE_FEATURES_TAKEN, why);
	if (rc == 0)
		test_result(&model->onnx.graph.node_count, sizeof(size_t));
	engine_model_close(model);
	return rc;
}

TEST(memory_may_run_out)
{
	static struct message graph;

	put_unet(&graph);
	test_every_own_allocation(edit, (void *)(uintptr_t)write_model(&graph));
}
