/* Activations of a call: see activations.h. */
#include "engine/activations.h"

#include "core/map.h"
#include "engine/native/program.h"

#include <errno.h>
#include <string.h>

static const struct onnx_value *find(const void *context, const char *name)
{
	return map_text_get(context, name, strlen(name));
}

static int note_types(const struct onnx_inferred *inferred, struct map_text *types,
		      struct strata_error *err)
{
	const struct onnx_graph *graph = &inferred->model->graph;

	for (size_t i = 0; i < graph->input_count; i++)
		if (map_text_put(types, graph->inputs[i].name, strlen(graph->inputs[i].name),
				 &inferred->inputs[i], NULL))
			return strata_fail_memory(err);
	for (size_t i = 0; i < graph->node_count; i++) {
		const struct onnx_inferred_node *made = &inferred->nodes[i];

		for (size_t k = 0; k < made->node->output_count; k++)
			if (made->node->outputs[k][0] &&
			    map_text_put(types, made->node->outputs[k],
					 strlen(made->node->outputs[k]), &made->outputs[k], NULL))
				return strata_fail_memory(err);
	}
	return 0;
}

/* Subgraph after subgraph: what is held for later ones, and what the one that runs takes. */
static int add_up(const struct engine_instance *instance, const struct native_types *types,
		  int64_t *held, int64_t *ret_bytes, struct strata_error *err)
{
	struct strata_memory *memory = instance->conf.heap->memory;
	int64_t now = 0, most = 0;

	for (size_t s = 0; s < instance->cuts.subgraph_count; s++) {
		const struct engine_subgraph *subgraph = &instance->cuts.subgraphs[s];
		int64_t peak = -1;
		int rc = instance->conf.backend->plan
				 ? instance->conf.backend->plan(instance->programs[s], types,
								memory, &peak, err)
				 : 0;

		if (rc)
			return rc;
		if (peak < 0) {
			*ret_bytes = -1;
			return 0;
		}
		most = now + peak > most ? now + peak : most;
		for (size_t i = 0; i < subgraph->output_count; i++) {
			int64_t bytes = native_type_bytes(
				types->find(types->context, subgraph->outputs[i]));

			held[subgraph->output_values[i]] = bytes > 0 ? bytes : 0;
			now += held[subgraph->output_values[i]];
		}
		for (size_t i = 0; i < subgraph->drop_count; i++) {
			now -= held[subgraph->drops[i]];
			held[subgraph->drops[i]] = 0;
		}
	}
	*ret_bytes = most;
	return 0;
}

int engine_activations_plan(const struct engine_instance *instance, const struct onnx_dim *dims,
			    size_t dim_count, int64_t *ret_bytes, struct strata_error *err)
{
	struct onnx_inferred inferred;
	struct strata_error why = { 0 };
	struct strata_arena arena;
	struct map_text types;

	strata_arena_init(&arena, instance->conf.heap->memory, 0);
	map_text_init(&types, instance->conf.heap->memory);
	int64_t *held = strata_arena_array(&arena, instance->cuts.value_count + 1, sizeof(*held));
	int rc = held ? onnx_infer(&instance->model->onnx, dims, dim_count, ONNX_BELIEVE_DECLARED,
				   &arena, &inferred, &why)
		      : -ENOMEM;
	const struct native_types known = { find, &types };

	*ret_bytes = -1;
	if (rc == -ENOMEM)
		strata_fail_memory(err);
	else if (rc) /* what it is not sure of is not known beforehand */
		rc = 0;
	else
		rc = note_types(&inferred, &types, err);
	if (rc == 0 && types.count)
		rc = add_up(instance, &known, held, ret_bytes, err);
	map_text_fini(&types);
	strata_arena_fini(&arena);
	return rc;
}
