#include "engine_model.h"

#include "engine/whole.h"

/* x of 1, 2, 3 … */
static int make_x(struct engine_heap *heap, int64_t rows, struct engine_value *ret,
		  struct strata_error *err)
{
	int rc = engine_value_make(heap, ONNX_FLOAT, 2, (int64_t[]){ rows, 4 }, ret, err);

	for (int64_t i = 0; rc == 0 && i < rows * 4; i++)
		((float *)ret->data)[i] = (float)(i + 1);
	return rc;
}

static int run_it(struct strata_memory *memory, void *path, struct strata_error *err)
{
	struct engine_whole whole;
	struct engine_value x, outputs[2];
	int rc = engine_whole_open(&whole, path, 2, memory, err);

	if (rc)
		return rc;
	for (int64_t rows = 1; rc == 0 && rows <= 3; rows++) { /* the size is known when it comes */
		rc = make_x(&whole.heap, rows, &x, err);
		if (rc)
			break;
		rc = engine_whole_run(&whole, &x, outputs, err);
		if (rc == 0) {
			test_result(outputs[0].data, engine_value_bytes(&outputs[0]));
			test_result(outputs[1].data, engine_value_bytes(&outputs[1]));
			CHECK_BYTES(outputs[0].data, x.data, engine_value_bytes(&x));
			CHECK_INT(((int64_t *)outputs[1].data)[1], 4);
			engine_value_drop(&outputs[0]);
			engine_value_drop(&outputs[1]);
		}
		engine_value_drop(&x);
	}
	engine_whole_close(&whole);
	return rc;
}

TEST(a_model_runs_again_and_again_whatever_fails)
{
	static struct message graph;

	put_small_graph(&graph);
	test_every_allocation(run_it, (void *)write_model(&graph));
}

TEST(halves_go_in_and_come_out_as_declared)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;
	struct engine_value x, y;

	graph.length = 0;
	put_node(&graph, "Neg", "x", "y");
	put_value(&graph, 11, "x", ONNX_FLOAT16, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT16, NULL);
	CHECK_OK(engine_whole_open(&whole, write_model(&graph), 1, &memory, &err));
	CHECK_OK(engine_value_make(&whole.heap, ONNX_FLOAT16, 0, NULL, &x, &err));
	*(uint16_t *)x.data = 0x3c00; /* 1 */
	CHECK_OK(engine_whole_run(&whole, &x, &y, &err));
	CHECK_INT(y.dtype, ONNX_FLOAT16);
	CHECK_INT(*(uint16_t *)y.data, 0xbc00);
	engine_value_drop(&x);
	engine_value_drop(&y);
	engine_whole_close(&whole);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(an_operator_that_is_not_there_is_named)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_whole whole;

	graph.length = 0;
	put_node(&graph, "Frobnicate", "x", "y");
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	CHECK_ERROR(engine_whole_open(&whole, write_model(&graph), 1, &memory, &err), -ENOTSUP,
		    "Frobnicate");
	CHECK_INT(memory.used_bytes, 0);
}
