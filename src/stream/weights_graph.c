/*
 * The weights of a graph as layers: strata_weights_of_graph of <strata/stream.h>. A graph says more than a file of weights does, namely which
 * op reads a weight. So weights come in the order of their use, a weight that its exporter left without a name of the model's ("onnx::MatMul_12")
 * is sorted by the op that reads it, and layers that are read more than once are visited more than once.
 */
#include "stream/weights.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

struct gathering {
	const struct strata_graph *graph;
	struct strata_arena *arena;
	uint32_t *number; /* of each of the graph's tensors among the weights; STRATA_NONE */
	struct weights_found found;
	const char **names; /* by which each is sorted into a layer */
	uint32_t *reads;    /* weights, one after the other as ops read them */
	size_t read_count;
};

static enum strata_weight_type type_of(enum strata_dtype dtype)
{
	static const enum strata_weight_type types[STRATA_DTYPE_COUNT] = {
		[STRATA_DTYPE_NONE] = STRATA_WEIGHT_U8,   [STRATA_DTYPE_F64] = STRATA_WEIGHT_F64,
		[STRATA_DTYPE_F32] = STRATA_WEIGHT_F32,   [STRATA_DTYPE_F16] = STRATA_WEIGHT_F16,
		[STRATA_DTYPE_BF16] = STRATA_WEIGHT_BF16, [STRATA_DTYPE_F8] = STRATA_WEIGHT_F8_E4M3,
		[STRATA_DTYPE_I64] = STRATA_WEIGHT_I64,   [STRATA_DTYPE_I32] = STRATA_WEIGHT_I32,
		[STRATA_DTYPE_I16] = STRATA_WEIGHT_I16,   [STRATA_DTYPE_I8] = STRATA_WEIGHT_I8,
		[STRATA_DTYPE_U64] = STRATA_WEIGHT_U64,   [STRATA_DTYPE_U32] = STRATA_WEIGHT_U32,
		[STRATA_DTYPE_U16] = STRATA_WEIGHT_U16,   [STRATA_DTYPE_U8] = STRATA_WEIGHT_U8,
		[STRATA_DTYPE_BOOL] = STRATA_WEIGHT_BOOL, [STRATA_DTYPE_TEXT] = STRATA_WEIGHT_U8,
		[STRATA_DTYPE_C64] = STRATA_WEIGHT_C64,   [STRATA_DTYPE_C128] = STRATA_WEIGHT_U8,
	};

	return types[dtype];
}

/* Has it bytes in a file? What a model has as numbers one by one, or computes, is no matter of staging. */
static bool is_staged(const struct strata_tensor *tensor)
{
	return tensor->role == STRATA_ROLE_WEIGHT && tensor->file != STRATA_NONE &&
	       tensor->extent_bytes > 0;
}

/* The weight's own name, or the op's with dots ("/model/layers.3/mlp/MatMul") where the exporter gave it a number only. */
static const char *sort_name(struct gathering *all, const struct strata_tensor *tensor,
			     const struct strata_op *op)
{
	const char *from = tensor->name;

	if (!strchr(from, '.') && op->name[0] == '/')
		from = op->name + 1;
	char *name = strata_arena_text(all->arena, from, strlen(from));

	for (char *at = name; at && *at; at++)
		if (*at == '/')
			*at = '.';
	return name;
}

static int add_weight(struct gathering *all, uint32_t index, const struct strata_op *op,
		      struct strata_error *err)
{
	const struct strata_tensor *tensor = &all->graph->tensors[index];
	struct weights_found *found = &all->found;
	size_t at = found->tensor_count++, rank = tensor->shaped ? tensor->rank : 0;
	int64_t *shape = strata_arena_array(all->arena, rank, sizeof(*shape));
	const char *name = strata_arena_text(all->arena, tensor->name, strlen(tensor->name));

	all->names[at] = sort_name(all, tensor, op);
	if (!shape || !name || !all->names[at])
		return strata_fail_memory(err);
	memcpy(shape, tensor->shape, rank * sizeof(*shape));
	found->tensors[at] = (struct strata_weight){ .name = name,
						     .type = type_of(tensor->dtype),
						     .shape = shape,
						     .rank = rank,
						     .offset = tensor->offset_bytes,
						     .bytes = tensor->extent_bytes };
	found->file[at] = tensor->file;
	all->number[index] = (uint32_t)at;
	return 0;
}

/* In the order in which ops run. */
static int gather(struct gathering *all, struct strata_error *err)
{
	const struct strata_graph *graph = all->graph;

	for (size_t i = 0; i < graph->op_count; i++) {
		const struct strata_op *op = &graph->ops[graph->order[i]];

		for (uint32_t k = 0; k < op->input_count; k++) {
			uint32_t index = op->inputs[k];
			int rc = 0;

			if (index == STRATA_NONE || !is_staged(&graph->tensors[index]))
				continue;
			if (all->number[index] == STRATA_NONE)
				rc = add_weight(all, index, op, err);
			if (rc)
				return rc;
			all->reads[all->read_count++] = all->number[index];
		}
	}
	return 0;
}

static int start(struct gathering *all, struct strata_error *err)
{
	const struct strata_graph *graph = all->graph;
	size_t inputs = 0, count = graph->tensor_count;
	struct weights_found *found = &all->found;

	for (size_t i = 0; i < graph->op_count; i++)
		inputs += graph->ops[i].input_count;
	all->number = strata_arena_array(all->arena, count, sizeof(*all->number));
	all->names = strata_arena_array(all->arena, count, sizeof(*all->names));
	all->reads = strata_arena_array(all->arena, inputs, sizeof(*all->reads));
	found->tensors = strata_arena_array(all->arena, count, sizeof(*found->tensors));
	found->file = strata_arena_array(all->arena, count, sizeof(*found->file));
	found->paths = strata_arena_array(all->arena, graph->file_count, sizeof(*found->paths));
	if (!all->number || !all->names || !all->reads || !found->tensors || !found->file ||
	    !found->paths)
		return strata_fail_memory(err);
	memset(all->number, 0xff, count * sizeof(*all->number));
	found->path_count = graph->file_count;
	for (size_t i = 0; i < graph->file_count; i++) {
		found->paths[i] =
			strata_arena_text(all->arena, graph->files[i], strlen(graph->files[i]));
		if (!found->paths[i])
			return strata_fail_memory(err);
	}
	return 0;
}

/* Which layers are visited one after the other; nothing to say when it is each once, in turn. */
static int make_order(const struct gathering *all, const uint32_t *layer_of,
		      struct strata_weights *weights, struct strata_error *err)
{
	uint32_t *order = strata_arena_array(all->arena, all->read_count, sizeof(*order));
	size_t count = 0;
	bool in_turn = true;

	if (!order)
		return strata_fail_memory(err);
	for (size_t i = 0; i < all->read_count; i++) {
		uint32_t layer = layer_of[all->reads[i]];

		if (count && order[count - 1] == layer)
			continue;
		in_turn &= layer == count;
		order[count++] = layer;
	}
	if (count > STRATA_STAGE_VISITS_MAX)
		return strata_fail_at(err, -E2BIG, "model",
				      "the model visits layers %zu times in one step; expected at "
				      "most %d, with patterns that make layers larger",
				      count, STRATA_STAGE_VISITS_MAX);
	weights->order = in_turn ? NULL : order;
	weights->visit_count = count;
	return 0;
}

int strata_weights_of_graph(const struct strata_graph *graph, const char *group,
			    struct strata_arena *arena, struct strata_weights *ret_weights,
			    struct strata_error *err)
{
	struct gathering all = { .graph = graph, .arena = arena };
	struct strata_weights weights;
	uint32_t *layer_of;
	int rc = start(&all, err);

	if (rc == 0)
		rc = gather(&all, err);
	if (rc)
		return rc;
	layer_of = strata_arena_array(arena, all.found.tensor_count, sizeof(*layer_of));
	if (!layer_of)
		return strata_fail_memory(err);
	rc = weights_make(&all.found, all.names, group, arena, &weights, layer_of, err);
	if (rc == 0)
		rc = make_order(&all, layer_of, &weights, err);
	if (rc == 0)
		*ret_weights = weights;
	return rc;
}
