#include "engine_model.h"

#include "engine/whole.h"

static int run_branches(struct strata_memory *memory, void *path, struct strata_error *err)
{
	struct engine_whole whole;
	struct engine_value inputs[2] = { 0 }, y;
	int rc = engine_whole_open(&whole, path, 1, memory, err);

	if (rc)
		return rc;
	for (int condition = 0; rc == 0 && condition < 2; condition++) {
		rc = engine_value_make(&whole.heap, ONNX_FLOAT, 0, NULL, &inputs[0], err);
		if (rc == 0)
			rc = engine_value_make(&whole.heap, ONNX_BOOL, 0, NULL, &inputs[1], err);
		if (rc == 0) {
			*(float *)inputs[0].data = -3;
			*(uint8_t *)inputs[1].data = (uint8_t)condition;
			rc = engine_whole_run(&whole, inputs, &y, err);
		}
		if (rc == 0) {
			CHECK_NEAR(*(float *)y.data, condition ? 6 : -3, 0);
			test_result(y.data, sizeof(float));
			engine_value_drop(&y);
		}
		engine_value_drop(&inputs[0]);
		engine_value_drop(&inputs[1]);
	}
	engine_whole_close(&whole);
	return rc;
}

TEST(a_branch_reads_what_is_around_it)
{
	static struct message graph;

	put_branches(&graph);
	test_every_allocation(run_branches, (void *)write_model(&graph));
}

static bool always(void *context)
{
	int *asked = context;

	return ++*asked > 1000;
}

TEST(a_loop_without_an_end_can_be_stopped)
{
	static struct message graph, body, node;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;
	struct engine_value x, y;
	int asked = 0;

	graph.length = body.length = 0;
	put_value(&body, 11, "i", ONNX_INT64, NULL);
	put_value(&body, 11, "go", ONNX_BOOL, NULL);
	put_value(&body, 11, "v", ONNX_FLOAT, NULL);
	put_value(&body, 12, "go", ONNX_BOOL, NULL); /* on and on, and no node in it */
	put_value(&body, 12, "v", ONNX_FLOAT, NULL);
	begin_node(&node, "Loop", "- - x", "y");
	put_attr_graph(&node, "body", &body);
	put_message(&graph, 1, &node);
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	CHECK_OK(engine_whole_open(&whole, write_model(&graph), 1, &memory, &err));
	CHECK_OK(engine_value_make(&whole.heap, ONNX_FLOAT, 0, NULL, &x, &err));
	*(float *)x.data = 1;
	const struct native_run run = {
		.inputs = &x, .weights = whole.weights, .stop = always, .stop_context = &asked
	};

	CHECK_ERROR(native_program_run(whole.program, &run, &y, &err), -ECANCELED, "stopped");
	engine_value_drop(&x);
	engine_whole_close(&whole);
	CHECK_INT(memory.used_bytes, 0);
}
