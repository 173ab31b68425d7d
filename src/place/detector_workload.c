/*
 * workload: what sort of model it is, by signs that are checked one after the other.
 *
 *   diffusion   a number per sample (the timestep) becomes sines and cosines, and an output has the shape of an input
 *   multimodal  text meets an image or sound
 *   llm         tokens, attention, and a KV cache; or a mask over the scores and an output as wide as the vocabulary
 *   recurrent   recurrent layers do most of the work
 *   cnn         convolutions do most of the work
 */
#include "place/detector.h"

struct signs {
	const struct strata_graph *graph;
	const struct strata_findings *findings;
	double conv_flops, recurrent_flops, flops;
	bool timestep, same_shape, masked, vocabulary, mixed;
};

/* ---- diffusion ---- */

/* Sines and cosines of a tensor, through work element by element. */
static bool becomes_waves(struct trail *trail, uint32_t input)
{
	const struct strata_graph *graph = trail->graph;
	bool sine = false, cosine = false;
	uint32_t tensor;

	trail_begin(trail, input);
	while ((tensor = trail_forth(trail, SORT_MOVE | SORT_MATH)) != STRATA_NONE)
		for (uint32_t r = graph->reader_first[tensor]; r < graph->reader_first[tensor + 1];
		     r++) {
			sine |= op_is(&graph->ops[graph->readers[r]], "Sin");
			cosine |= op_is(&graph->ops[graph->readers[r]], "Cos");
		}
	return sine && cosine;
}

static bool same_shape(const struct strata_tensor *a, const struct strata_tensor *b)
{
	if (!a->shaped || !b->shaped || a->rank != b->rank || a->rank < 3)
		return false;
	return memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

static bool output_like(const struct strata_graph *graph, const struct strata_tensor *input)
{
	for (size_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == STRATA_ROLE_OUTPUT &&
		    same_shape(&graph->tensors[i], input))
			return true;
	return false;
}

/* ---- language ---- */

/* An output whose last dimension is the number of rows of a table that tokens pick from. */
static bool as_wide_as(const struct strata_graph *graph, int64_t rows)
{
	for (size_t i = 0; rows > 0 && i < graph->tensor_count; i++)
		if (graph->tensors[i].role == STRATA_ROLE_OUTPUT &&
		    tensor_dim_back(&graph->tensors[i], 0) == rows)
			return true;
	return false;
}

static bool over_vocabulary(const struct strata_graph *graph)
{
	for (size_t i = 0; i < graph->op_count; i++) {
		const struct strata_op *op = &graph->ops[i];
		const struct strata_tensor *table = op_is(op, "Gather") && op->input_count &&
								    op->inputs[0] != STRATA_NONE
							    ? &graph->tensors[op->inputs[0]]
							    : NULL;

		if (table && table->role == STRATA_ROLE_WEIGHT && table->shaped &&
		    table->rank == 2 && as_wide_as(graph, table->shape[0]))
			return true;
	}
	return false;
}

/* ---- all signs ---- */

static void weigh(struct signs *signs)
{
	const struct strata_graph *graph = signs->graph;

	for (size_t i = 0; i < graph->op_count; i++) {
		unsigned sort = op_sort(&graph->ops[i]);

		signs->flops += graph->ops[i].flops;
		if (sort & SORT_CONV)
			signs->conv_flops += graph->ops[i].flops;
		if (sort & SORT_RECURRENT)
			signs->recurrent_flops += graph->ops[i].flops;
		signs->mixed |= graph->ops[i].modality == STRATA_MODALITY_MIXED;
	}
	for (size_t i = 0; i < signs->findings->attention_count; i++)
		signs->masked |= signs->findings->attentions[i].masked;
}

static int read_signs(struct signs *signs, struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_graph *graph = signs->graph;
	struct trail trail;
	int rc = trail_init(&trail, graph, arena, err);

	if (rc)
		return rc;
	weigh(signs);
	signs->vocabulary = over_vocabulary(graph);
	for (uint32_t i = 0; i < graph->tensor_count; i++) {
		const struct strata_tensor *tensor = &graph->tensors[i];

		if (tensor->role != STRATA_ROLE_INPUT)
			continue;
		if (tensor->shaped && tensor->rank <= 1)
			signs->timestep |= becomes_waves(&trail, i);
		else if (tensor_is_real(tensor))
			signs->same_shape |= output_like(graph, tensor);
	}
	return 0;
}

static enum strata_workload judge(const struct signs *signs, const char **ret_why)
{
	const struct strata_findings *findings = signs->findings;
	bool text = findings->modalities & 1u << STRATA_MODALITY_TEXT;
	bool other = findings->modalities &
		     (1u << STRATA_MODALITY_IMAGE | 1u << STRATA_MODALITY_AUDIO);

	if (signs->timestep && signs->same_shape) {
		*ret_why = "a timestep becomes sines and cosines, and an output has the shape of "
			   "an input";
		return STRATA_WORKLOAD_DIFFUSION;
	}
	if (text && other && signs->mixed) {
		*ret_why = "text meets an image or sound";
		return STRATA_WORKLOAD_MULTIMODAL;
	}
	if (findings->attention_count && findings->kv_in_count + findings->kv_out_count > 0) {
		*ret_why = "attention over a KV cache";
		return STRATA_WORKLOAD_LLM;
	}
	if (text && findings->attention_count && signs->masked && signs->vocabulary) {
		*ret_why = "masked attention over tokens, and an output as wide as the vocabulary";
		return STRATA_WORKLOAD_LLM;
	}
	if (signs->recurrent_flops > signs->flops / 2) {
		*ret_why = "recurrent layers do most of the work";
		return STRATA_WORKLOAD_RECURRENT;
	}
	if (signs->conv_flops > signs->flops / 2) {
		*ret_why = "convolutions do most of the work";
		return STRATA_WORKLOAD_CNN;
	}
	*ret_why = findings->attention_count ? "attention without a cache, a mask or images"
					     : "no sign of a sort that is known";
	return STRATA_WORKLOAD_OTHER;
}

static int detect(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		  struct strata_findings *findings, struct strata_error *err)
{
	struct signs signs = { .graph = graph, .findings = findings };
	int rc = read_signs(&signs, arena, err);

	(void)conf;
	if (rc == 0)
		findings->workload = judge(&signs, &findings->why);
	return rc;
}

const struct strata_detector_class strata_detector_workload = {
	.base = { .name = "workload",
		  .summary = "llm, cnn, diffusion, multimodal, recurrent or other" },
	.rank = 2,
	.detect = detect,
};
