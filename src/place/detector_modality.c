/*
 * modality: what the model's inputs are, and what each op works on. Whole numbers that pick rows of a table of weights are text; real
 * numbers that go into a convolution are an image when it has two axes and sound when it has one. Along the graph one modality stays
 * itself, and two become mixed.
 */
#include "place/detector.h"

/* An input read, through moves and small work, as rows of weights. */
static bool picks_rows(const struct strata_graph *graph, uint32_t tensor, uint32_t reader)
{
	const struct strata_op *op = &graph->ops[reader];

	return op_is(op, "Gather") && op->input_count > 1 && op->inputs[1] == tensor &&
	       op->inputs[0] != STRATA_NONE &&
	       graph->tensors[op->inputs[0]].role == STRATA_ROLE_WEIGHT;
}

static enum strata_modality modality_at(const struct strata_graph *graph, uint32_t tensor,
					bool integer)
{
	for (uint32_t r = graph->reader_first[tensor]; r < graph->reader_first[tensor + 1]; r++) {
		const struct strata_op *op = &graph->ops[graph->readers[r]];

		if (integer && picks_rows(graph, tensor, graph->readers[r]))
			return STRATA_MODALITY_TEXT;
		if (!integer && op_sort(op) & SORT_CONV && op->inputs[0] == tensor)
			return graph->tensors[tensor].rank == 3 ? STRATA_MODALITY_AUDIO
								: STRATA_MODALITY_IMAGE;
	}
	return STRATA_MODALITY_NONE;
}

static enum strata_modality modality_of(struct trail *trail, uint32_t input)
{
	const struct strata_graph *graph = trail->graph;
	bool integer = tensor_is_integer(&graph->tensors[input]);
	enum strata_modality found = STRATA_MODALITY_NONE;
	uint32_t tensor;

	trail_begin(trail, input);
	while (!found && (tensor = trail_forth(trail, SORT_MOVE | SORT_MATH)) != STRATA_NONE)
		found = modality_at(graph, tensor, integer);
	return found;
}

static enum strata_modality join(enum strata_modality a, enum strata_modality b)
{
	if (a == b || b == STRATA_MODALITY_NONE)
		return a;
	return a == STRATA_MODALITY_NONE ? b : STRATA_MODALITY_MIXED;
}

static int detect(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		  struct strata_findings *findings, struct strata_error *err)
{
	uint8_t *inputs = strata_arena_get(arena, graph->tensor_count);
	struct trail trail;
	int rc = inputs ? trail_init(&trail, graph, arena, err) : strata_fail_memory(err);

	(void)conf;
	for (uint32_t i = 0; rc == 0 && i < graph->tensor_count; i++)
		if (graph->tensors[i].role == STRATA_ROLE_INPUT) {
			inputs[i] = (uint8_t)modality_of(&trail, i);
			if (inputs[i])
				findings->modalities |= 1u << inputs[i];
		}
	for (size_t k = 0; rc == 0 && k < graph->op_count; k++) {
		struct strata_op *op = &graph->ops[graph->order[k]];

		op->modality = STRATA_MODALITY_NONE;
		for (uint32_t i = 0; i < op->input_count; i++) {
			uint32_t tensor = op->inputs[i];

			if (tensor != STRATA_NONE)
				op->modality =
					join(op->modality,
					     graph->tensors[tensor].producer != STRATA_NONE
						     ? graph->ops[graph->tensors[tensor].producer]
							       .modality
						     : (enum strata_modality)inputs[tensor]);
		}
	}
	return rc;
}

const struct strata_detector_class strata_detector_modality = {
	.base = { .name = "modality", .summary = "text, image or sound, of inputs and ops" },
	.rank = 1,
	.detect = detect,
};
