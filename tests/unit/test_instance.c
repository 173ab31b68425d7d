/* Models that are ready to run: parts follow devices, a failing call leaves the next one unharmed. */
#include "engine_model.h"

#include "engine/engine.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

TEST(a_call_that_fails_leaves_the_next_one_unharmed)
{
	static const char *const dims[] = { "n", NULL };
	static struct message graph;
	struct strata_array inputs[2] = { 0 }, outputs[1] = { 0 };
	struct strata_engine_model *model;
	struct strata_engine *engine;

	graph.length = 0;
	put_node(&graph, "Gather", "x i", "y");
	put_value(&graph, 11, "x", ONNX_FLOAT, dims);
	put_value(&graph, 11, "i", ONNX_INT64, dims);
	put_value(&graph, 12, "y", ONNX_FLOAT, dims);
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ .devices = "cpu:0,cpu:0" }, &memory,
				   &engine, &err));
	CHECK_OK(strata_engine_open(engine, write_model(&graph), NULL, &model, &err));
	CHECK_OK(strata_array_make(engine, STRATA_DTYPE_F32, 1, (int64_t[]){ 2 }, &inputs[0], &err));
	CHECK_OK(strata_array_make(engine, STRATA_DTYPE_I64, 1, (int64_t[]){ 2 }, &inputs[1], &err));
	((float *)inputs[0].data)[0] = 5;
	((float *)inputs[0].data)[1] = 6;
	((int64_t *)inputs[1].data)[0] = 1;
	((int64_t *)inputs[1].data)[1] = 7;
	CHECK_ERROR(strata_engine_run(model, inputs, outputs, &err), -EINVAL,
		    "index 7 is outside of 0 to 1");
	CHECK_INT(outputs[0].dtype, STRATA_DTYPE_NONE);
	((int64_t *)inputs[1].data)[1] = 0;
	CHECK_OK(strata_engine_run(model, inputs, outputs, &err));
	CHECK(((float *)outputs[0].data)[0] == 6 && ((float *)outputs[0].data)[1] == 5);
	CHECK(model->instance.prepared && model->instance.part_count >= 1);
	strata_array_drop(&outputs[0]);
	strata_array_drop(&inputs[0]);
	strata_array_drop(&inputs[1]);
	strata_engine_close(model);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}
