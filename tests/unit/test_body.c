#include "engine_model.h"

#include "engine/engine.h"

#include <pthread.h>
#include <unistd.h>

static int run_branches(struct strata_memory *memory, void *path, struct strata_error *err)
{
	struct engine_value inputs[2] = { 0 }, y;
	struct strata_engine_model *model = NULL;
	struct strata_engine *engine = NULL;
	int rc = strata_engine_new(&(struct strata_engine_conf){ 0 }, memory, &engine, err);

	if (rc == 0)
		rc = strata_engine_open(engine, path, NULL, &model, err);
	for (int condition = 0; rc == 0 && condition < 2; condition++) {
		rc = engine_value_make(&engine->heap, ONNX_FLOAT, 0, NULL, &inputs[0], err);
		if (rc == 0)
			rc = engine_value_make(&engine->heap, ONNX_BOOL, 0, NULL, &inputs[1], err);
		if (rc == 0) {
			*(float *)inputs[0].data = -3;
			*(uint8_t *)inputs[1].data = (uint8_t)condition;
			rc = engine_model_run(model, &(struct engine_call){ inputs, &y }, 1, err);
		}
		if (rc == 0) {
			CHECK_NEAR(*(float *)y.data, condition ? 6 : -3, 0);
			test_result(y.data, sizeof(float));
			engine_value_drop(&y);
		}
		engine_value_drop(&inputs[0]);
		engine_value_drop(&inputs[1]);
	}
	strata_engine_close(model);
	strata_engine_free(engine);
	return rc;
}

TEST(a_branch_reads_what_is_around_it)
{
	static struct message graph;

	put_branches(&graph);
	test_every_allocation(run_branches, (void *)write_model(&graph));
}

/* What another thread would do after a while. */
static void *stop_soon(void *engine)
{
	usleep(20000);
	strata_engine_stop(engine, true);
	return NULL;
}

TEST(a_loop_without_an_end_can_be_stopped)
{
	static struct message graph, body, node;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct strata_engine_model *model;
	struct strata_engine *engine;
	struct engine_value x, y;
	pthread_t other;

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
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_engine_open(engine, write_model(&graph), NULL, &model, &err));
	CHECK_OK(engine_value_make(&engine->heap, ONNX_FLOAT, 0, NULL, &x, &err));
	*(float *)x.data = 1;
	CHECK_INT(pthread_create(&other, NULL, stop_soon, engine), 0);
	CHECK_ERROR(engine_model_run(model, &(struct engine_call){ &x, &y }, 1, &err), -ECANCELED,
		    "stopped");
	pthread_join(other, NULL);
	engine_value_drop(&x);
	strata_engine_close(model);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}
