/*
 * Filling a graph: inputs and weights become tensors, nodes that are left to compute become ops. A folded node's outputs are constants, so
 * they are weights of their few bytes when an op reads them; an Identity of a weight is that weight. An op that holds graphs reads what they
 * read from outside.
 */
#include "formats/onnx/onnx_graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Index of a value that has no tensor in the graph yet. */
#define NO_TENSOR 0

static enum strata_dtype place_dtype(int dtype)
{
	static const uint8_t dtypes[ONNX_DTYPE_COUNT] = {
		[ONNX_FLOAT] = STRATA_DTYPE_F32,       [ONNX_UINT8] = STRATA_DTYPE_U8,
		[ONNX_INT8] = STRATA_DTYPE_I8,         [ONNX_UINT16] = STRATA_DTYPE_U16,
		[ONNX_INT16] = STRATA_DTYPE_I16,       [ONNX_INT32] = STRATA_DTYPE_I32,
		[ONNX_INT64] = STRATA_DTYPE_I64,       [ONNX_STRING] = STRATA_DTYPE_TEXT,
		[ONNX_BOOL] = STRATA_DTYPE_BOOL,       [ONNX_FLOAT16] = STRATA_DTYPE_F16,
		[ONNX_DOUBLE] = STRATA_DTYPE_F64,      [ONNX_UINT32] = STRATA_DTYPE_U32,
		[ONNX_UINT64] = STRATA_DTYPE_U64,      [ONNX_COMPLEX64] = STRATA_DTYPE_C64,
		[ONNX_COMPLEX128] = STRATA_DTYPE_C128, [ONNX_BFLOAT16] = STRATA_DTYPE_BF16,
		[ONNX_FLOAT8E4M3FN] = STRATA_DTYPE_F8, [ONNX_FLOAT8E4M3FNUZ] = STRATA_DTYPE_F8,
		[ONNX_FLOAT8E5M2] = STRATA_DTYPE_F8,   [ONNX_FLOAT8E5M2FNUZ] = STRATA_DTYPE_F8,
	};

	return dtype > 0 && dtype < ONNX_DTYPE_COUNT ? (enum strata_dtype)dtypes[dtype]
						     : STRATA_DTYPE_NONE;
}

struct fill {
	const struct onnx_inferred *inferred;
	struct strata_graph *graph;
	struct strata_arena *arena;
	const char *path;
	uint32_t *tied; /* group of each initializer */
	struct strata_onnx_metrics *metrics;
};

/* ---- files ---- */

int onnx_check_location(const char *location, struct strata_error *err)
{
	bool outside = !location[0] || location[0] == '/' || strchr(location, '\\');

	for (const char *part = location; part && !outside; part = strchr(part, '/')) {
		part += *part == '/';
		outside = strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]);
	}
	if (outside)
		return strata_fail(err, -EINVAL,
				   "weights are in '%.64s', which is not beside the model",
				   location);
	return 0;
}

static int find_file(struct fill *fill, const char *location, uint32_t *ret_file,
		     struct strata_error *err)
{
	const char *slash = strrchr(fill->path, '/');
	int before = slash ? (int)(slash + 1 - fill->path) : 0;
	int rc = onnx_check_location(location, err);

	if (rc)
		return rc;
	const char *path = strata_arena_printf(fill->arena, "%.*s%s", before, fill->path, location);

	if (!path)
		return strata_fail_memory(err);
	for (uint32_t i = 1; i < fill->graph->file_count; i++)
		if (strcmp(fill->graph->files[i], path) == 0) {
			*ret_file = i;
			return 0;
		}
	return strata_graph_add_file(fill->graph, path, ret_file, err);
}

/* ---- tensors ---- */

static void set_shape(struct strata_tensor *tensor, const struct onnx_value *value)
{
	int64_t bytes = onnx_value_bytes(value);

	while ((value->kind == ONNX_SEQUENCE || value->kind == ONNX_OPTIONAL) && value->item)
		value = value->item;
	tensor->dtype = place_dtype(value->dtype);
	tensor->shaped = value->kind == ONNX_TENSOR && value->ranked;
	tensor->rank = (uint8_t)(tensor->shaped ? value->rank : 0);
	for (size_t i = 0; i < tensor->rank; i++)
		tensor->shape[i] = value->dims[i] < 0 ? -1 : value->dims[i];
	tensor->sized = bytes >= 0;
	tensor->bytes = bytes > 0 ? bytes : 0;
}

static int place_contents(struct fill *fill, const struct onnx_tensor *from,
			  struct strata_tensor *tensor, struct strata_error *err)
{
	tensor->sized = true;
	tensor->bytes = from->bytes;
	tensor->extent_bytes = from->bytes;
	if (from->location) {
		tensor->offset_bytes = from->offset_bytes;
		return find_file(fill, from->location, &tensor->file, err);
	}
	if (from->raw.at) {
		tensor->file = 0;
		tensor->offset_bytes = from->raw.at - fill->inferred->model->file.at;
	} else {
		tensor->extent_bytes = 0; /* numbers one by one: there is no extent to load */
	}
	return 0;
}

static int add_value(struct fill *fill, struct onnx_value *value, enum strata_role role,
		     uint32_t tied, struct strata_error *err)
{
	struct strata_tensor tensor = { .name = value->name ? value->name : "",
					.role = role,
					.file = STRATA_NONE,
					.device = STRATA_NONE,
					.tied = tied };
	uint32_t index;
	int rc = 0;

	set_shape(&tensor, value);
	if (value->tensor && role == STRATA_ROLE_WEIGHT)
		rc = place_contents(fill, value->tensor, &tensor, err);
	if (rc == 0)
		rc = strata_graph_add_tensor(fill->graph, &tensor, &index, err);
	if (rc == 0)
		value->index = index + 1;
	return rc;
}

/* The tensor of a value; constants that were computed get one when an op first reads them. */
static int tensor_of(struct fill *fill, const struct onnx_value *value, uint32_t *ret_tensor,
		     struct strata_error *err)
{
	struct onnx_value *own = (struct onnx_value *)(value->same_as ? value->same_as : value);
	int rc = 0;

	if (own->index == NO_TENSOR)
		rc = add_value(fill, own,
			       own->constant ? STRATA_ROLE_WEIGHT : STRATA_ROLE_ACTIVATION, 0, err);
	if (rc == 0)
		*ret_tensor = own->index - 1;
	return rc;
}

static int add_inputs(struct fill *fill, struct strata_error *err)
{
	const struct onnx_inferred *inferred = fill->inferred;
	const struct onnx_graph *graph = &inferred->model->graph;
	int rc = strata_graph_add_file(fill->graph, fill->path, NULL, err);

	for (size_t i = 0; rc == 0 && i < graph->input_count; i++)
		if (!inferred->inputs[i].tensor)
			rc = add_value(fill, &inferred->inputs[i], STRATA_ROLE_INPUT, 0, err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		fill->metrics->initializer_bytes += graph->initializers[i].bytes;
		if (inferred->initializers[i].name)
			rc = add_value(fill, &inferred->initializers[i], STRATA_ROLE_WEIGHT,
				       fill->tied[i], err);
	}
	return rc;
}

/* ---- ops ---- */

static int add_op(struct fill *fill, const struct onnx_inferred_node *node,
		  struct strata_error *err)
{
	size_t output_count = node->node->output_count;
	uint32_t *inputs = strata_arena_array(fill->arena, node->input_count, sizeof(*inputs));
	uint32_t *outputs = strata_arena_array(fill->arena, output_count, sizeof(*outputs));
	struct strata_op op = { .name = node->node->name,
				.kind = node->node->kind,
				.inputs = inputs,
				.outputs = outputs,
				.input_count = (uint32_t)node->input_count,
				.output_count = (uint32_t)output_count,
				.flops = isfinite(node->flops) ? node->flops : 0,
				.bytes = -1,
				.kv_device = STRATA_NONE,
				.unknown = !node->known || node->clash };
	int rc = inputs && outputs ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < node->input_count; i++) {
		inputs[i] = STRATA_NONE;
		if (node->inputs[i])
			rc = tensor_of(fill, node->inputs[i], &inputs[i], err);
	}
	for (size_t i = 0; rc == 0 && i < output_count; i++) {
		outputs[i] = STRATA_NONE;
		if (!node->node->outputs[i][0])
			continue;
		if (node->outputs[i].index == NO_TENSOR) /* else it was read by a node in front */
			rc = add_value(fill, &node->outputs[i], STRATA_ROLE_ACTIVATION, 0, err);
		outputs[i] = node->outputs[i].index - 1;
	}
	return rc ? rc : strata_graph_add_op(fill->graph, &op, NULL, err);
}

static void count_node(struct fill *fill, const struct onnx_inferred_node *node)
{
	struct strata_onnx_metrics *metrics = fill->metrics;
	bool constant = strcmp(node->node->kind, "Constant") == 0;

	metrics->known_count += node->known;
	metrics->folded_count += node->folded;
	metrics->clash_count += node->clash;
	metrics->flops += isfinite(node->flops) ? node->flops : 0;
	for (size_t i = 0; i < node->node->output_count; i++) {
		int64_t bytes = onnx_value_bytes(&node->outputs[i]);
		int64_t *sum = constant ? &metrics->constant_bytes : &metrics->activation_bytes;

		if (bytes > 0 && node->node->outputs[i][0] &&
		    __builtin_add_overflow(*sum, bytes, sum))
			*sum = INT64_MAX;
	}
}

static int add_nodes(struct fill *fill, struct strata_error *err)
{
	const struct onnx_inferred *inferred = fill->inferred;
	const struct onnx_graph *graph = &inferred->model->graph;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < graph->node_count; i++) {
		count_node(fill, &inferred->nodes[i]);
		if (!inferred->nodes[i].folded)
			rc = add_op(fill, &inferred->nodes[i], err);
	}
	for (size_t i = 0; rc == 0 && i < graph->output_count; i++) {
		uint32_t tensor;

		if (!inferred->outputs[i])
			continue;
		rc = tensor_of(fill, inferred->outputs[i], &tensor, err);
		if (rc == 0 && fill->graph->tensors[tensor].role == STRATA_ROLE_ACTIVATION)
			fill->graph->tensors[tensor].role = STRATA_ROLE_OUTPUT;
	}
	return rc;
}

static void name_dims(const struct onnx_inferred *inferred, struct strata_onnx_metrics *metrics)
{
	size_t length = 0;

	metrics->dim_count = inferred->dim_count;
	for (size_t i = 0; i < inferred->dim_count && length + 1 < sizeof(metrics->dims); i++)
		length += (size_t)snprintf(metrics->dims + length, sizeof(metrics->dims) - length,
					   "%s%.60s", i ? ", " : "", inferred->dim_names[i]);
}

int onnx_graph_fill(const struct onnx_inferred *inferred, const char *path,
		    struct strata_arena *arena, struct strata_graph *graph,
		    struct strata_onnx_metrics *ret_metrics, struct strata_error *err)
{
	const struct onnx_graph *from = &inferred->model->graph;
	struct strata_onnx_metrics metrics = { .node_count = from->node_count,
					       .output_count = inferred->output_total,
					       .shaped_count = inferred->output_shaped,
					       .contradiction_count = inferred->contradictions,
					       .opset = inferred->model->opset };
	struct fill fill = { .inferred = inferred,
			     .graph = graph,
			     .arena = arena,
			     .path = path,
			     .metrics = &metrics,
			     .tied = strata_arena_array(arena, from->initializer_count,
							sizeof(*fill.tied)) };

	if (!fill.tied)
		return strata_fail_memory(err);
	int rc = onnx_find_tied(from, arena, fill.tied, &metrics.tied_bytes, err);

	if (rc == 0)
		rc = add_inputs(&fill, err);
	if (rc == 0)
		rc = add_nodes(&fill, err);
	if (rc == 0)
		rc = strata_graph_finish(graph, err);
	if (rc)
		return rc;
	name_dims(inferred, &metrics);
	memcpy(metrics.clash, inferred->first_clash, sizeof(metrics.clash));
	*ret_metrics = metrics;
	return 0;
}
