/* Cutting a model: by device, by layers, and what crosses the cuts. */
#include "engine_model.h"

#include "engine/subgraph.h"

static struct strata_memory memory;
static struct strata_error err;

/* a = x + x; b = a · w1; c = b · w2; y = c + a */
static struct engine_model *chain(void)
{
	static const char *const dims[] = { "n", "4", NULL };
	static struct message graph;
	struct engine_model *model;

	graph.length = 0;
	put_node(&graph, "Add", "x x", "a");
	put_node(&graph, "MatMul", "a w1", "b");
	put_node(&graph, "MatMul", "b w2", "c");
	put_node(&graph, "Add", "c a", "y");
	put_weights(&graph, "w1", 4, 4);
	put_weights(&graph, "w2", 4, 4);
	put_value(&graph, 11, "x", ONNX_FLOAT, dims);
	put_value(&graph, 12, "y", ONNX_FLOAT, dims);
	CHECK_OK(engine_model_open(write_model(&graph), &memory, &model, &err));
	return model;
}

TEST(one_device_and_no_layers_is_one_subgraph)
{
	struct engine_model *model = chain();
	struct engine_cuts cuts;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(engine_cut(model, &(struct engine_cut_conf){ 0 }, &arena, &cuts, &err));
	CHECK_INT(cuts.subgraph_count, 1);
	CHECK_INT(cuts.subgraphs[0].node_count, 4);
	CHECK_INT(cuts.subgraphs[0].weight_count, 2);
	CHECK_INT(cuts.subgraphs[0].input_count, 1);
	CHECK_INT(cuts.subgraphs[0].output_count, 1);
	CHECK_INT(cuts.value_count, 2);
	strata_arena_fini(&arena);
	engine_model_close(model);
}

TEST(devices_cut_and_values_cross)
{
	static const uint32_t device[] = { 0, 1, 1, 0 };
	struct engine_model *model = chain();
	struct engine_cuts cuts;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(engine_cut(model, &(struct engine_cut_conf){ .device = device }, &arena, &cuts, &err));
	CHECK_INT(cuts.subgraph_count, 3);
	CHECK_INT(cuts.subgraphs[1].device, 1);
	CHECK_INT(cuts.subgraphs[1].node_count, 2);
	CHECK_TEXT(cuts.subgraphs[1].inputs[0], "a");
	CHECK_TEXT(cuts.subgraphs[1].outputs[0], "c");
	CHECK_INT(cuts.subgraphs[2].input_count, 2); /* c, and a from before */
	CHECK_INT(cuts.subgraphs[0].drop_count, 1);  /* x; a is read later */
	CHECK_INT(cuts.subgraphs[2].drop_count, 2);
	strata_arena_fini(&arena);
	engine_model_close(model);
}

TEST(layers_cut_where_their_weights_are_enough)
{
	static const int64_t weighs[] = { 64, 64 };
	struct engine_model *model = chain();
	struct engine_cuts cuts;
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(engine_cut(model,
			    &(struct engine_cut_conf){ .layer_bytes = 100, .weighs = weighs },
			    &arena, &cuts, &err));
	CHECK_INT(cuts.subgraph_count, 2);
	CHECK_TEXT(cuts.subgraphs[0].weights[0], "w1");
	CHECK_TEXT(cuts.subgraphs[1].weights[0], "w2");
	CHECK(cuts.subgraphs[0].layer != cuts.subgraphs[1].layer);
	CHECK_OK(engine_cut(model,
			    &(struct engine_cut_conf){ .layer_bytes = 128, .weighs = weighs },
			    &arena, &cuts, &err));
	CHECK_INT(cuts.subgraph_count, 1);
	strata_arena_fini(&arena);
	engine_model_close(model);
	CHECK_INT(memory.used_bytes, 0);
}
