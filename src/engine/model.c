/* Opening a model's file: see model.h. */
#include "engine/model.h"

#include "core/map.h"
#include "formats/onnx/onnx_graph.h"
#include "formats/onnx/onnx_scope.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static int order_nodes(struct engine_model *model, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	const uint32_t *order;
	int rc = onnx_sort_nodes(graph, &model->arena, &order, err);

	if (rc)
		return rc;
	model->nodes = strata_arena_array(&model->arena, graph->node_count, sizeof(*model->nodes));
	if (!model->nodes)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->node_count; i++)
		model->nodes[i] = &graph->nodes[order ? order[i] : i];
	return 0;
}

/* Old files list initializers among the inputs, as defaults. A name that is there twice would stand for two values. */
static int add_inputs(struct engine_model *model, struct map_text *names, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	void *old;

	for (size_t i = 0; i < graph->initializer_count; i++) {
		const char *name = graph->initializers[i].name;

		if (map_text_put(names, name, strlen(name), names, NULL))
			return strata_fail_memory(err);
	}
	for (size_t i = 0; i < graph->input_count; i++) {
		const char *name = graph->inputs[i].name;

		old = NULL;
		if (map_text_put(names, name, strlen(name), model, &old))
			return strata_fail_memory(err);
		if (old == model)
			return strata_fail(err, -EINVAL, "two inputs are called '%.64s'", name);
		if (old)
			continue;
		model->inputs[model->input_count] = name;
		model->input_infos[model->input_count++] = &graph->inputs[i];
	}
	return 0;
}

static int list_inputs(struct engine_model *model, struct strata_error *err)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	struct map_text names;

	model->inputs = strata_arena_array(&model->arena, graph->input_count, sizeof(char *));
	model->input_infos = strata_arena_array(&model->arena, graph->input_count, sizeof(void *));
	if (!model->inputs || !model->input_infos)
		return strata_fail_memory(err);
	map_text_init(&names, model->arena.memory);
	int rc = add_inputs(model, &names, err);

	map_text_fini(&names);
	return rc;
}

static int read_model(struct engine_model *model, const char *path, struct strata_error *err)
{
	const char *slash = strrchr(path, '/');

	model->path = strata_arena_text(&model->arena, path, strlen(path));
	model->directory =
		slash ? strata_arena_text(&model->arena, path,
					  slash == path ? 1 : (size_t)(slash - path))
		      : "";
	if (!model->path || !model->directory)
		return strata_fail_memory(err);
	int rc = onnx_model_read(model->bytes, model->length, &model->arena, &model->onnx, err);

	if (rc == 0)
		rc = onnx_inline(&model->onnx, &model->arena, err);
	if (rc == 0)
		rc = order_nodes(model, err);
	return rc ? rc : list_inputs(model, err);
}

int engine_model_open(const char *path, struct strata_memory *memory,
		      struct engine_model **ret_model, struct strata_error *err)
{
	struct engine_model *model = strata_memory_get(memory, sizeof(*model));
	struct strata_error why = { 0 };

	if (!model)
		return strata_fail_memory(err);
	model->memory = memory;
	strata_arena_init(&model->arena, memory, 0);
	int rc = onnx_file_map(path, &model->bytes, &model->length, err);

	if (rc == 0) {
		rc = read_model(model, path, &why);
		if (rc == -ENOMEM)
			strata_fail_memory(err);
		else if (rc)
			strata_fail(err, rc, "%.200s: %s", path, why.text);
	}
	if (rc) {
		engine_model_close(model);
		return rc;
	}
	*ret_model = model;
	return 0;
}

void engine_model_close(struct engine_model *model)
{
	if (!model)
		return;
	strata_arena_fini(&model->arena);
	if (model->bytes)
		munmap(model->bytes, model->length);
	strata_memory_put(model->memory, model, sizeof(*model));
}
