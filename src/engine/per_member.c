/*
 * One timestep for each member. Exporters of diffusers' UNet write a scalar timestep as Unsqueeze → Cast → Expand to [batch]. With the input given as
 * [batch] the Unsqueeze becomes an Identity, and Expand finds what it would have made. So the rewrite is one node and one declared shape.
 */
#include "engine/per_member.h"

#include <string.h>

/* The only node of the graph that reads a value, by its first input; NULL: there are others, or none. */
static struct onnx_node *only_reader(const struct engine_model *model, const char *name)
{
	const struct onnx_graph *graph = &model->onnx.graph;
	const struct onnx_node *found = NULL;

	for (size_t i = 0; i < graph->node_count; i++)
		for (size_t k = 0; k < graph->nodes[i].input_count; k++)
			if (strcmp(graph->nodes[i].inputs[k], name) == 0) {
				if (found || k > 0)
					return NULL;
				found = &graph->nodes[i];
			}
	for (size_t i = 0; i < graph->output_count; i++)
		if (strcmp(graph->outputs[i].name, name) == 0)
			return NULL;
	return (struct onnx_node *)found; /* in the model's arena, which is ours */
}

static bool is_kind(const struct onnx_node *node, const char *kind)
{
	return node && *node->domain == '\0' && strcmp(node->kind, kind) == 0 &&
	       node->output_count == 1;
}

/* What is declared of a value between is no longer so. */
static void forget(struct engine_model *model, const char *name)
{
	const struct onnx_graph *graph = &model->onnx.graph;

	for (size_t i = 0; i < graph->value_count; i++)
		if (strcmp(graph->values[i].name, name) == 0)
			((struct onnx_value_info *)graph->values)[i].type.ranked = false;
}

bool engine_model_per_member(struct engine_model *model, const char *input)
{
	struct onnx_value_info *info = NULL;
	struct onnx_node *first = only_reader(model, input), *next, *cast = NULL;

	for (size_t i = 0; i < model->input_count; i++)
		if (strcmp(model->inputs[i], input) == 0)
			info = (struct onnx_value_info *)model->input_infos[i];
	if (!info || info->type.kind != ONNX_TENSOR || !info->type.ranked || info->type.rank != 0 ||
	    !is_kind(first, "Unsqueeze"))
		return false;
	next = only_reader(model, first->outputs[0]);
	if (is_kind(next, "Cast")) {
		cast = next;
		next = only_reader(model, cast->outputs[0]);
	}
	if (!is_kind(next, "Expand"))
		return false;
	forget(model, first->outputs[0]);
	if (cast)
		forget(model, cast->outputs[0]);
	first->kind = "Identity";
	first->input_count = 1;
	first->attribute_count = 0;
	info->type.rank = 1;
	info->type.dims[0] = -1;
	info->type.names[0] = NULL;
	return true;
}
