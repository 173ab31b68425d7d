/*
 * phase: which part of a request each op belongs to. A language model that gets a cache and one query at a time decodes, one that gets none, or
 * many queries, prefills. A diffusion model denoises. What makes images larger than its input, and as many channels as pictures have,
 * decodes an image; what makes something smaller out of one encodes. Attention over text without cache and mask encodes too, as do the
 * towers of a multimodal model before they meet. Gradients, and what follows from them, are backward. All else is forward.
 */
#include "place/detector.h"

/* ---- images ---- */

static bool is_picture(const struct strata_tensor *tensor)
{
	return tensor->shaped && tensor->rank == 4 && tensor_is_real(tensor) &&
	       (tensor->shape[1] == 1 || tensor->shape[1] == 3 || tensor->shape[1] == 4);
}

/* Elements of one channel; -1 when they are not known. */
static int64_t area(const struct strata_tensor *tensor)
{
	int64_t height = tensor_dim_back(tensor, 1), width = tensor_dim_back(tensor, 0), product;

	if (!tensor->shaped || tensor->rank != 4 || height < 0 || width < 0 ||
	    __builtin_mul_overflow(height, width, &product))
		return -1;
	return product;
}

static enum strata_phase image_phase(const struct strata_graph *graph)
{
	const struct strata_tensor *in = NULL, *out = NULL;

	for (size_t i = 0; i < graph->tensor_count; i++) {
		const struct strata_tensor *tensor = &graph->tensors[i];

		if (area(tensor) < 0)
			continue;
		if (tensor->role == STRATA_ROLE_INPUT && !in)
			in = tensor;
		if (tensor->role == STRATA_ROLE_OUTPUT && !out)
			out = tensor;
	}
	if (!in || !out)
		return STRATA_PHASE_FORWARD;
	if (area(out) > area(in) && is_picture(out))
		return STRATA_PHASE_DECODE_IMAGE;
	if (area(out) < area(in) && is_picture(in))
		return STRATA_PHASE_ENCODE;
	return STRATA_PHASE_FORWARD;
}

/* ---- language ---- */

static enum strata_phase language_phase(const struct strata_findings *findings)
{
	if (findings->kv_in_count == 0)
		return STRATA_PHASE_PREFILL;
	for (size_t i = 0; i < findings->attention_count; i++)
		if (findings->attentions[i].query_length > 1)
			return STRATA_PHASE_PREFILL; /* a piece of a prompt behind an earlier one */
	return STRATA_PHASE_DECODE;
}

static enum strata_phase whole_phase(const struct strata_graph *graph,
				     const struct strata_findings *findings)
{
	switch (findings->workload) {
	case STRATA_WORKLOAD_LLM:
		return language_phase(findings);
	case STRATA_WORKLOAD_DIFFUSION:
		return STRATA_PHASE_DENOISE;
	case STRATA_WORKLOAD_CNN:
		return image_phase(graph);
	case STRATA_WORKLOAD_MULTIMODAL:
		return findings->kv_in_count + findings->kv_out_count ? language_phase(findings)
								      : STRATA_PHASE_FORWARD;
	case STRATA_WORKLOAD_OTHER:
		return findings->attention_count && findings->modalities ? STRATA_PHASE_ENCODE
									 : STRATA_PHASE_FORWARD;
	default:
		return STRATA_PHASE_FORWARD;
	}
}

/* ---- each op ---- */

static bool comes_from_gradient(const struct strata_graph *graph, uint32_t op)
{
	if (op_sort(&graph->ops[op]) & SORT_GRADIENT)
		return true;
	for (uint32_t e = graph->in_first[op]; e < graph->in_first[op + 1]; e++)
		if (graph->ops[graph->edges[graph->in_edges[e]].from].phase ==
		    STRATA_PHASE_BACKWARD)
			return true;
	return false;
}

static bool before_meeting(const struct strata_findings *findings, const struct strata_op *op)
{
	return findings->workload == STRATA_WORKLOAD_MULTIMODAL &&
	       (op->modality == STRATA_MODALITY_IMAGE || op->modality == STRATA_MODALITY_AUDIO ||
		(op->modality == STRATA_MODALITY_TEXT &&
		 findings->kv_in_count + findings->kv_out_count == 0));
}

static int detect(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		  struct strata_findings *findings, struct strata_error *err)
{
	enum strata_phase whole = whole_phase(graph, findings);
	double flops[STRATA_PHASE_COUNT] = { 0 };

	(void)conf, (void)arena, (void)err;
	for (size_t k = 0; k < graph->op_count; k++) {
		struct strata_op *op = &graph->ops[graph->order[k]];

		if (op->phase == STRATA_PHASE_BACKWARD ||
		    comes_from_gradient(graph, graph->order[k]))
			op->phase = STRATA_PHASE_BACKWARD;
		else
			op->phase = before_meeting(findings, op) ? STRATA_PHASE_ENCODE : whole;
		flops[op->phase] += op->flops;
	}
	findings->phase = whole;
	for (int i = 0; i < STRATA_PHASE_COUNT; i++)
		if (flops[i] > flops[findings->phase])
			findings->phase = (enum strata_phase)i;
	return 0;
}

const struct strata_detector_class strata_detector_phase = {
	.base = { .name = "phase",
		  .summary = "prefill, decode, encode, denoise, decode_image, forward or backward, "
			     "of each op" },
	.rank = 3,
	.detect = detect,
};
