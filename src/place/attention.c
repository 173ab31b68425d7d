/*
 * Attentions of a graph: a Softmax whose scores come from a matrix product and whose result goes into another, with nothing but work element
 * by element in between. What is added to or chosen among the scores there, without depending on what an input holds, is a mask. One operator
 * that is all of attention has its mask behind Q, K and V.
 */
#include "place/detector.h"

struct search {
	const struct strata_graph *graph;
	struct trail trail;
	const bool *depends;
};

/* The op that makes a tensor, if it is a product with a result of at least two dimensions. */
static uint32_t product_of(const struct strata_graph *graph, uint32_t tensor)
{
	uint32_t producer = graph->tensors[tensor].producer;

	return producer != STRATA_NONE && op_sort(&graph->ops[producer]) & SORT_PRODUCT
		       ? producer
		       : STRATA_NONE;
}

/* Positions compared with positions, or one side of a diagonal: a mask that is made for any length. */
static bool compares_positions(const struct strata_op *op)
{
	return op_is(op, "Trilu") || op_is(op, "Less") || op_is(op, "LessOrEqual") ||
	       op_is(op, "Greater") || op_is(op, "GreaterOrEqual");
}

/* A table over queries and keys that depends on no input, or follows from their positions. */
static bool is_mask(const struct search *search, uint32_t tensor)
{
	const struct strata_tensor *about = &search->graph->tensors[tensor];

	if (about->producer != STRATA_NONE &&
	    compares_positions(&search->graph->ops[about->producer]) &&
	    tensor_dim_back(about, 0) != 1 && tensor_dim_back(about, 1) != 1)
		return true; /* with one position on a side it is compared with a number */
	bool constant = about->producer == STRATA_NONE ? about->role == STRATA_ROLE_WEIGHT
						       : !search->depends[about->producer];

	return constant && tensor_dim_back(about, 0) > 1 && tensor_dim_back(about, 1) > 1;
}

static uint32_t find_scores(struct search *search, uint32_t softmax, bool *ret_masked)
{
	uint32_t tensor, scores = STRATA_NONE;

	*ret_masked = false;
	trail_begin(&search->trail, search->graph->ops[softmax].inputs[0]);
	while ((tensor = trail_back(&search->trail, SORT_MATH | SORT_MOVE)) != STRATA_NONE) {
		if (scores == STRATA_NONE)
			scores = product_of(search->graph, tensor);
		*ret_masked |= is_mask(search, tensor);
	}
	return scores;
}

/* The same of one operator, by the mask that it is given. */
static bool find_mask(struct search *search, const struct strata_op *op)
{
	bool masked = false;
	uint32_t tensor;

	if (op->input_count < 4 || op->inputs[3] == STRATA_NONE)
		return false;
	trail_begin(&search->trail, op->inputs[3]);
	while (!masked &&
	       (tensor = trail_back(&search->trail, SORT_MATH | SORT_MOVE)) != STRATA_NONE)
		masked = is_mask(search, tensor);
	return masked;
}

static uint32_t find_values(struct search *search, uint32_t softmax)
{
	const struct strata_graph *graph = search->graph;
	uint32_t tensor;

	trail_begin(&search->trail, graph->ops[softmax].outputs[0]);
	while ((tensor = trail_forth(&search->trail, SORT_MATH | SORT_MOVE)) != STRATA_NONE)
		for (uint32_t r = graph->reader_first[tensor]; r < graph->reader_first[tensor + 1];
		     r++)
			if (op_sort(&graph->ops[graph->readers[r]]) & SORT_PRODUCT)
				return graph->readers[r];
	return STRATA_NONE;
}

bool attention_has_keys(const struct strata_graph *graph, const struct strata_op *op)
{
	if (!(op_sort(op) & SORT_ATTENTION) || op->input_count < 3)
		return false;
	for (size_t i = 0; i < 3; i++)
		if (op->inputs[i] == STRATA_NONE || !graph->tensors[op->inputs[i]].shaped ||
		    graph->tensors[op->inputs[i]].rank < 3)
			return false;
	return true;
}

static bool attention_at(struct search *search, uint32_t op, struct strata_attention *ret)
{
	const struct strata_op *own = &search->graph->ops[op];
	struct strata_attention found = { .scores = op,
					  .softmax = STRATA_NONE,
					  .values = op,
					  .query_length = -1,
					  .key_length = -1 };

	if (op_sort(own) & SORT_ATTENTION) {
		if (attention_has_keys(search->graph, own)) {
			const struct strata_tensor *tensors = search->graph->tensors;

			found.query_length = tensor_dim_back(&tensors[own->inputs[0]], 1);
			found.key_length = tensor_dim_back(&tensors[own->inputs[1]], 1);
			found.masked = find_mask(search, own);
		}
		*ret = found;
		return true;
	}
	if (!op_is(own, "Softmax") || !own->input_count || own->inputs[0] == STRATA_NONE ||
	    !own->output_count || own->outputs[0] == STRATA_NONE)
		return false;
	found.softmax = op;
	found.scores = find_scores(search, op, &found.masked);
	found.values = find_values(search, op);
	if (found.scores == STRATA_NONE || found.values == STRATA_NONE)
		return false;
	found.query_length = tensor_dim_back(&search->graph->tensors[own->inputs[0]], 1);
	found.key_length = tensor_dim_back(&search->graph->tensors[own->inputs[0]], 0);
	*ret = found;
	return true;
}

int attention_find(const struct strata_graph *graph, struct strata_arena *arena,
		   struct strata_findings *findings, struct strata_error *err)
{
	struct search search = { .graph = graph, .depends = ops_with_inputs(graph, arena) };
	size_t room = 0, count = 0;
	int rc = search.depends ? trail_init(&search.trail, graph, arena, err)
				: strata_fail_memory(err);

	if (rc)
		return rc;
	for (size_t i = 0; i < graph->op_count; i++)
		room += op_is(&graph->ops[i], "Softmax") ||
			op_sort(&graph->ops[i]) & SORT_ATTENTION;
	struct strata_attention *attentions = strata_arena_array(arena, room, sizeof(*attentions));

	if (!attentions)
		return strata_fail_memory(err);
	for (uint32_t i = 0; count < room && i < graph->op_count; i++)
		count += attention_at(&search, i, &attentions[count]);
	findings->attentions = attentions;
	findings->attention_count = count;
	return 0;
}
