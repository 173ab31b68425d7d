#include "engine_model.h"

#include "engine/model.h"

TEST(a_model_is_opened_with_its_nodes_in_order)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_model *model;

	graph.length = 0;
	put_node(&graph, "Neg", "b", "y"); /* written before what it needs */
	put_node(&graph, "Abs", "x", "b");
	put_weights(&graph, "w", 1, 1);
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 11, "w", ONNX_FLOAT, NULL); /* an initializer: not a run's input */
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	CHECK_OK(engine_model_open(write_model(&graph), &memory, &model, &err));
	CHECK_TEXT(model->nodes[0]->kind, "Abs");
	CHECK_TEXT(model->nodes[1]->kind, "Neg");
	CHECK_INT(model->input_count, 1);
	CHECK_TEXT(model->inputs[0], "x");
	CHECK_TEXT(model->directory, test_temp_dir());
	engine_model_close(model);
	engine_model_close(NULL);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_name_of_two_inputs_is_refused)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_model *model;

	graph.length = 0;
	put_node(&graph, "Abs", "x", "y");
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	CHECK_ERROR(engine_model_open(write_model(&graph), &memory, &model, &err), -EINVAL,
		    "two inputs are called 'x'");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_no_model_is_refused_with_its_path)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_model *model;
	char path[4096];

	snprintf(path, sizeof(path), "%s/none.onnx", test_temp_dir());
	CHECK_ERROR(engine_model_open(path, &memory, &model, &err), -ENOENT, "none.onnx");
	FILE *file = fopen(path, "w");

	CHECK(file && fputs("not a model at all", file) >= 0);
	fclose(file);
	CHECK(engine_model_open(path, &memory, &model, &err) < 0);
	CHECK(strstr(err.text, "none.onnx"));
	CHECK_INT(memory.used_bytes, 0);
}

static int open_it(struct strata_memory *memory, void *path, struct strata_error *err)
{
	struct engine_model *model;
	int rc = engine_model_open(path, memory, &model, err);

	if (rc == 0) {
		test_result_int((int64_t)model->onnx.graph.node_count);
		engine_model_close(model);
	}
	return rc;
}

TEST(allocations_that_fail_leave_nothing)
{
	static struct message graph;

	put_small_graph(&graph);
	test_every_allocation(open_it, (void *)write_model(&graph));
}
