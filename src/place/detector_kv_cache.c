/*
 * kv_cache: tensors that carry keys and values from one call to the next. Going back from the K and the V of an attention through nothing but
 * moves (and the turning of positions), an output of the model that is met on the way is what goes out; an input that is
 * appended to is what comes in. An output that is moved out of the same keys on another way counts too. What comes in, and what goes out where nothing comes in (prefill), gets the role KV.
 */
#include "place/detector.h"

struct caches {
	struct strata_graph *graph;
	struct strata_findings *findings;
	struct trail trail;
	bool *in, *out, *keys; /* of each tensor: caches, and what was met on the way to them */
};

static bool can_be_cache(const struct strata_tensor *tensor)
{
	return (tensor_is_real(tensor) || tensor->dtype == STRATA_DTYPE_I8 ||
		tensor->dtype == STRATA_DTYPE_U8) &&
	       (!tensor->shaped || tensor->rank >= 3);
}

/* Is it appended to, or written into? Then its op makes the cache that goes out. */
static bool is_updated(const struct strata_graph *graph, uint32_t tensor, unsigned sorts)
{
	for (uint32_t r = graph->reader_first[tensor]; r < graph->reader_first[tensor + 1]; r++)
		if (op_sort(&graph->ops[graph->readers[r]]) & sorts)
			return true;
	return false;
}

static void trace(struct caches *caches, uint32_t from, unsigned updates)
{
	struct strata_graph *graph = caches->graph;
	uint32_t tensor;

	if (from == STRATA_NONE)
		return;
	trail_begin(&caches->trail, from);
	while ((tensor = trail_back(&caches->trail, SORT_MOVE | SORT_MATH | SORT_UPDATE)) !=
	       STRATA_NONE) {
		const struct strata_tensor *about = &graph->tensors[tensor];

		caches->keys[tensor] = about->producer != STRATA_NONE;
		if (!can_be_cache(about))
			continue;
		if (about->role == STRATA_ROLE_OUTPUT)
			caches->out[tensor] = true;
		else if (about->role == STRATA_ROLE_INPUT && is_updated(graph, tensor, updates))
			caches->in[tensor] = true;
	}
}

/* One operator that is all of attention: what K and V are moved from is traced too; its inputs and outputs of four dimensions, from outside and to outside, are caches. */
static bool is_own_cache(const struct strata_graph *graph, uint32_t tensor, enum strata_role role)
{
	return tensor != STRATA_NONE && graph->tensors[tensor].role == role &&
	       can_be_cache(&graph->tensors[tensor]) &&
	       (!graph->tensors[tensor].shaped || graph->tensors[tensor].rank >= 4);
}

static void trace_operator(struct caches *caches, const struct strata_op *op)
{
	/* behind Q, K and V; of ONNX's own a mask comes first */
	for (uint32_t i = op_is(op, "Attention") ? 4 : 3; i < op->input_count; i++)
		if (is_own_cache(caches->graph, op->inputs[i], STRATA_ROLE_INPUT))
			caches->in[op->inputs[i]] = true;
	for (uint32_t i = 1; i < op->output_count; i++)
		if (is_own_cache(caches->graph, op->outputs[i], STRATA_ROLE_OUTPUT))
			caches->out[op->outputs[i]] = true;
}

/* Exporters write the cache that goes out and the keys that are used as two moves of one tensor. */
static void trace_outputs(struct caches *caches)
{
	uint32_t tensor;

	for (uint32_t i = 0; i < caches->graph->tensor_count; i++) {
		const struct strata_tensor *about = &caches->graph->tensors[i];

		if (about->role != STRATA_ROLE_OUTPUT || !can_be_cache(about))
			continue;
		trail_begin(&caches->trail, i);
		while (!caches->out[i] &&
		       (tensor = trail_back(&caches->trail, SORT_MOVE)) != STRATA_NONE)
			caches->out[i] = caches->keys[tensor];
	}
}

static void settle(struct caches *caches)
{
	struct strata_findings *findings = caches->findings;

	for (size_t i = 0; i < caches->graph->tensor_count; i++) {
		struct strata_tensor *tensor = &caches->graph->tensors[i];

		findings->kv_in_count += caches->in[i];
		findings->kv_out_count += caches->out[i];
		if (caches->in[i]) {
			findings->kv_in_bytes += tensor->bytes;
			tensor->role = STRATA_ROLE_KV;
		}
		if (caches->out[i])
			findings->kv_out_bytes += tensor->bytes;
	}
	for (size_t i = 0; findings->kv_in_count == 0 && i < caches->graph->tensor_count; i++)
		if (caches->out[i])
			caches->graph->tensors[i].role = STRATA_ROLE_KV;
}

static int detect(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		  struct strata_findings *findings, struct strata_error *err)
{
	struct caches caches = {
		.graph = graph,
		.findings = findings,
		.in = strata_arena_array(arena, graph->tensor_count, sizeof(bool)),
		.out = strata_arena_array(arena, graph->tensor_count, sizeof(bool)),
		.keys = strata_arena_array(arena, graph->tensor_count, sizeof(bool)),
	};
	int rc = caches.in && caches.out && caches.keys
			 ? trail_init(&caches.trail, graph, arena, err)
			 : strata_fail_memory(err);

	(void)conf;
	for (size_t i = 0; rc == 0 && i < findings->attention_count; i++) {
		const struct strata_attention *attention = &findings->attentions[i];
		const struct strata_op *scores = &graph->ops[attention->scores];
		const struct strata_op *values = &graph->ops[attention->values];

		if (attention->softmax == STRATA_NONE) {
			trace_operator(&caches, scores);
			for (uint32_t k = 1; k < 3 && attention_has_keys(graph, scores); k++)
				trace(&caches, scores->inputs[k], SORT_UPDATE);
			continue;
		}
		if (scores->input_count > 1)
			trace(&caches, scores->inputs[1], SORT_UPDATE | SORT_ATTENTION);
		if (values->input_count > 1)
			trace(&caches, values->inputs[1], SORT_UPDATE | SORT_ATTENTION);
	}
	if (rc)
		return rc;
	trace_outputs(&caches);
	settle(&caches);
	return 0;
}

const struct strata_detector_class strata_detector_kv_cache = {
	.base = { .name = "kv_cache",
		  .summary = "keys and values that are kept from one call to the next" },
	.rank = 1,
	.detect = detect,
};
