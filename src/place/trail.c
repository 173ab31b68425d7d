/*
 * Walks over a graph from a tensor, against the data or with it, through operators of some sorts only. Each tensor is visited once, in an
 * order that depends on the graph alone; nothing recurses.
 */
#include "place/detector.h"

#include <stdlib.h>

struct sorted_kind {
	const char *kind;
	unsigned sorts;
};

/* clang-format off */
static const struct sorted_kind kinds[] = {
	{ "Abs", SORT_MATH },
	{ "Adagrad", SORT_GRADIENT },
	{ "Adam", SORT_GRADIENT },
	{ "Add", SORT_MATH },
	{ "And", SORT_MATH },
	{ "Cast", SORT_MOVE },
	{ "Clip", SORT_MATH },
	{ "Concat", SORT_MOVE | SORT_UPDATE },
	{ "Conv", SORT_CONV },
	{ "ConvInteger", SORT_CONV },
	{ "ConvTranspose", SORT_CONV },
	{ "DequantizeLinear", SORT_MOVE },
	{ "Div", SORT_MATH },
	{ "Dropout", SORT_MATH },
	{ "Einsum", SORT_PRODUCT },
	{ "Exp", SORT_MATH },
	{ "Expand", SORT_MOVE },
	{ "Flatten", SORT_MOVE },
	{ "GRU", SORT_RECURRENT },
	{ "Gemm", SORT_PRODUCT },
	{ "Gradient", SORT_GRADIENT },
	{ "Identity", SORT_MOVE },
	{ "IsNaN", SORT_MATH },
	{ "LSTM", SORT_RECURRENT },
	{ "Log", SORT_MATH },
	{ "MatMul", SORT_PRODUCT },
	{ "MatMulInteger", SORT_PRODUCT },
	{ "Max", SORT_MATH },
	{ "Min", SORT_MATH },
	{ "Momentum", SORT_GRADIENT },
	{ "Mul", SORT_MATH },
	{ "Neg", SORT_MATH },
	{ "Not", SORT_MATH },
	{ "Or", SORT_MATH },
	{ "Pow", SORT_MATH },
	{ "QLinearConv", SORT_CONV },
	{ "QLinearMatMul", SORT_PRODUCT },
	{ "QuantizeLinear", SORT_MOVE },
	{ "RNN", SORT_RECURRENT },
	{ "Reciprocal", SORT_MATH },
	{ "Reshape", SORT_MOVE },
	{ "ScatterElements", SORT_UPDATE },
	{ "ScatterND", SORT_UPDATE },
	{ "Slice", SORT_MOVE },
	{ "Split", SORT_MOVE },
	{ "Sqrt", SORT_MATH },
	{ "Squeeze", SORT_MOVE },
	{ "Sub", SORT_MATH },
	{ "TensorScatter", SORT_UPDATE },
	{ "Tile", SORT_MOVE },
	{ "Transpose", SORT_MOVE },
	{ "Unsqueeze", SORT_MOVE },
	{ "Where", SORT_MATH },
};
/* clang-format on */

static int by_kind(const void *kind, const void *row)
{
	return strcmp(kind, ((const struct sorted_kind *)row)->kind);
}

unsigned op_sort(const struct strata_op *op)
{
	const struct sorted_kind *row = bsearch(op->kind, kinds, sizeof(kinds) / sizeof(kinds[0]),
						sizeof(kinds[0]), by_kind);
	size_t length = strlen(op->kind);

	if (row)
		return row->sorts;
	if (strstr(op->kind, "Attention")) /* Attention, GroupQueryAttention … of runtimes */
		return SORT_ATTENTION;
	if (length > 4 && strcmp(op->kind + length - 4, "Grad") == 0)
		return SORT_GRADIENT;
	return 0;
}

bool tensor_is_real(const struct strata_tensor *tensor)
{
	return tensor->dtype >= STRATA_DTYPE_F64 && tensor->dtype <= STRATA_DTYPE_F8;
}

bool tensor_is_integer(const struct strata_tensor *tensor)
{
	return tensor->dtype >= STRATA_DTYPE_I64 && tensor->dtype <= STRATA_DTYPE_U8;
}

int64_t tensor_dim_back(const struct strata_tensor *tensor, size_t from_end)
{
	return tensor->shaped && from_end < tensor->rank
		       ? tensor->shape[tensor->rank - 1 - from_end]
		       : -1;
}

int trail_init(struct trail *trail, const struct strata_graph *graph, struct strata_arena *arena,
	       struct strata_error *err)
{
	*trail = (struct trail){
		.graph = graph,
		.stack = strata_arena_array(arena, graph->tensor_count, sizeof(*trail->stack)),
		.seen = strata_arena_array(arena, graph->tensor_count, sizeof(*trail->seen)),
	};
	return trail->stack && trail->seen ? 0 : strata_fail_memory(err);
}

static void visit(struct trail *trail, uint32_t tensor)
{
	if (tensor == STRATA_NONE || trail->seen[tensor] == trail->round)
		return;
	trail->seen[tensor] = trail->round;
	trail->stack[trail->depth++] = tensor;
}

void trail_begin(struct trail *trail, uint32_t tensor)
{
	trail->round++;
	trail->depth = 0;
	visit(trail, tensor);
}

uint32_t trail_back(struct trail *trail, unsigned sorts)
{
	if (!trail->depth)
		return STRATA_NONE;
	uint32_t tensor = trail->stack[--trail->depth];
	uint32_t producer = trail->graph->tensors[tensor].producer;

	if (producer != STRATA_NONE && op_sort(&trail->graph->ops[producer]) & sorts)
		for (uint32_t i = trail->graph->ops[producer].input_count; i-- > 0;)
			visit(trail, trail->graph->ops[producer].inputs[i]);
	return tensor;
}

uint32_t trail_forth(struct trail *trail, unsigned sorts)
{
	const struct strata_graph *graph = trail->graph;

	if (!trail->depth)
		return STRATA_NONE;
	uint32_t tensor = trail->stack[--trail->depth];

	for (uint32_t r = graph->reader_first[tensor + 1]; r-- > graph->reader_first[tensor];) {
		const struct strata_op *op = &graph->ops[graph->readers[r]];

		if (op_sort(op) & sorts)
			for (uint32_t i = op->output_count; i-- > 0;)
				visit(trail, op->outputs[i]);
	}
	return tensor;
}

bool *ops_with_inputs(const struct strata_graph *graph, struct strata_arena *arena)
{
	bool *depends = strata_arena_array(arena, graph->op_count, sizeof(*depends));

	for (size_t k = 0; depends && k < graph->op_count; k++) {
		const struct strata_op *op = &graph->ops[graph->order[k]];
		bool *own = &depends[graph->order[k]];

		for (uint32_t i = 0; i < op->input_count && !*own; i++) {
			const struct strata_tensor *tensor =
				op->inputs[i] == STRATA_NONE ? NULL
							     : &graph->tensors[op->inputs[i]];

			if (tensor)
				*own = tensor->producer != STRATA_NONE
					       ? depends[tensor->producer]
					       : tensor->role != STRATA_ROLE_WEIGHT;
		}
	}
	return depends;
}
