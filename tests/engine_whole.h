/* A whole model as one native program with all of its weights in memory: the native backend without what the engine puts around it. */
#ifndef ENGINE_WHOLE_H
#define ENGINE_WHOLE_H

#include "engine/model.h"
#include "engine/native/program.h"
#include "engine/team.h"

struct engine_whole {
	struct engine_model *model;
	struct engine_heap heap;
	struct engine_team team;
	struct native_program *program;
	struct engine_value *weights;
	size_t weight_count;
	const char **outputs;
};

static inline int engine_whole_load(struct engine_whole *whole, struct strata_error *err)
{
	const struct onnx_graph *graph = &whole->model->onnx.graph;
	int rc = 0;

	whole->weights = strata_arena_array(&whole->model->arena, graph->initializer_count,
					    sizeof(*whole->weights));
	if (!whole->weights)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		rc = engine_value_of_tensor(&whole->heap, &graph->initializers[i],
					    whole->model->directory, true, &whole->weights[i], err);
		whole->weight_count += rc == 0;
	}
	return rc;
}

static inline int engine_whole_compile(struct engine_whole *whole, struct strata_error *err)
{
	const struct engine_model *model = whole->model;
	const struct onnx_graph *graph = &model->onnx.graph;
	struct strata_arena *arena = &whole->model->arena;
	const char **weights = strata_arena_array(arena, graph->initializer_count, sizeof(char *));

	whole->outputs = strata_arena_array(arena, graph->output_count, sizeof(char *));
	if (!weights || !whole->outputs)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->initializer_count; i++)
		weights[i] = graph->initializers[i].name;
	for (size_t i = 0; i < graph->output_count; i++)
		whole->outputs[i] = graph->outputs[i].name;
	const struct native_source source = { .model = &model->onnx,
					      .directory = model->directory,
					      .nodes = model->nodes,
					      .node_count = graph->node_count,
					      .inputs = model->inputs,
					      .input_count = model->input_count,
					      .weights = weights,
					      .weight_count = graph->initializer_count,
					      .weights_stay = true,
					      .outputs = whole->outputs,
					      .output_count = graph->output_count };

	return native_program_new(&source, &whole->heap, &whole->team, &whole->program, err);
}

static inline void engine_whole_close(struct engine_whole *whole)
{
	if (!whole->model)
		return;
	native_program_free(whole->program);
	for (size_t i = 0; i < whole->weight_count; i++)
		engine_value_drop(&whole->weights[i]);
	engine_heap_fini(&whole->heap);
	engine_model_close(whole->model);
	*whole = (struct engine_whole){ 0 };
}


static inline int engine_whole_open(struct engine_whole *whole, const char *path, int thread_count,
		      struct strata_memory *memory, struct strata_error *err)
{
	*whole = (struct engine_whole){ .team = { thread_count } };
	int rc = engine_model_open(path, memory, &whole->model, err);

	if (rc)
		return rc;
	engine_heap_init(&whole->heap, memory);
	rc = engine_whole_load(whole, err);
	if (rc == 0)
		rc = engine_whole_compile(whole, err);
	if (rc)
		engine_whole_close(whole);
	return rc;
}

#endif
