/* A whole model in memory: see whole.h. */
#include "engine/whole.h"

#include <errno.h>
#include <string.h>

static int load_weights(struct engine_whole *whole, struct strata_error *err)
{
	const struct onnx_graph *graph = &whole->model->onnx.graph;
	int rc = 0;

	whole->weights = strata_arena_array(&whole->model->arena, graph->initializer_count,
					    sizeof(*whole->weights));
	if (!whole->weights)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		rc = engine_value_of_tensor(whole->heap, &graph->initializers[i],
					    whole->model->directory, true, &whole->weights[i], err);
		whole->weight_count += rc == 0;
	}
	return rc;
}

static int compile(struct engine_whole *whole, struct strata_error *err)
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

	return native_program_new(&source, whole->heap, &whole->team, &whole->program, err);
}

int engine_whole_open(struct engine_whole *whole, const char *path, int thread_count,
		      struct engine_heap *heap, struct strata_error *err)
{
	*whole = (struct engine_whole){ .heap = heap, .team = { thread_count } };
	int rc = engine_model_open(path, heap->memory, &whole->model, err);

	if (rc)
		return rc;
	rc = load_weights(whole, err);
	if (rc == 0)
		rc = compile(whole, err);
	if (rc)
		engine_whole_close(whole);
	return rc;
}

void engine_whole_close(struct engine_whole *whole)
{
	if (!whole->model)
		return;
	native_program_free(whole->program);
	for (size_t i = 0; i < whole->weight_count; i++)
		engine_value_drop(&whole->weights[i]);
	engine_model_close(whole->model);
	*whole = (struct engine_whole){ 0 };
}

static bool is_half(int dtype)
{
	return dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16;
}

/* Rounds what the model declares as a sixteen-bit float. */
static int narrow(struct engine_whole *whole, size_t index, struct engine_value *value,
		  struct strata_error *err)
{
	const struct onnx_type *type = &whole->model->onnx.graph.outputs[index].type;
	struct engine_value half;

	if (value->kind != ONNX_TENSOR || value->dtype != ONNX_FLOAT || type->kind != ONNX_TENSOR ||
	    !is_half(type->dtype))
		return 0;
	int rc = engine_value_cast(whole->heap, value, type->dtype, &half, err);

	if (rc == 0) {
		engine_value_drop(value);
		*value = half;
	}
	return rc;
}

int engine_whole_run(struct engine_whole *whole, const struct engine_value *inputs,
		     struct engine_value *ret_outputs, struct strata_error *err)
{
	size_t count = whole->model->input_count, made = 0;
	size_t output_count = whole->model->onnx.graph.output_count;
	struct engine_value *wide = strata_memory_get(whole->heap->memory,
						      (count + 1) * sizeof(*wide));
	int rc = wide ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (inputs[i].kind == ONNX_TENSOR && is_half(inputs[i].dtype))
			rc = engine_value_cast(whole->heap, &inputs[i], ONNX_FLOAT, &wide[i], err);
		else
			wide[i] = engine_value_share(&inputs[i]);
		made += rc == 0;
	}
	const struct native_run run = { .inputs = wide, .weights = whole->weights };

	if (rc == 0)
		rc = native_program_run(whole->program, &run, ret_outputs, err);
	for (size_t i = 0; rc == 0 && i < output_count; i++) {
		rc = narrow(whole, i, &ret_outputs[i], err);
		if (rc)
			for (size_t k = 0; k < output_count; k++)
				engine_value_drop(&ret_outputs[k]);
	}
	for (size_t i = 0; i < made; i++)
		engine_value_drop(&wide[i]);
	if (wide)
		strata_memory_put(whole->heap->memory, wide, (count + 1) * sizeof(*wide));
	return rc;
}
