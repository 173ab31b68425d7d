/* A model: read, shapes inferred with and without what it declares, made a graph, and looked at by the detectors. Whatever is found must
 * hold together. */
#include "formats/onnx/onnx_infer.h"

#include <strata/detector.h>
#include <strata/onnx.h>

#include <assert.h>
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(const struct onnx_value *value)
{
	assert(value->rank <= STRATA_TENSOR_RANK_MAX);
	if (onnx_has_elements(value)) {
		assert(value->kind == ONNX_TENSOR && onnx_elements(value) >= 0);
		assert(onnx_dtype_real(value->dtype) == (value->reals != NULL));
	}
	assert(onnx_value_bytes(value) >= -1);
}

static void check(const struct onnx_model *model, unsigned flags, struct strata_arena *arena)
{
	static const struct onnx_dim dim = { "n", 3 };
	struct onnx_inferred inferred;
	struct strata_error err = { 0 };
	int rc = onnx_infer(model, &dim, flags, flags, arena, &inferred, &err);

	if (rc) {
		assert(err.code == rc && err.text[0]);
		return;
	}
	assert(inferred.output_shaped <= inferred.output_total);
	for (size_t i = 0; i < model->graph.node_count; i++) {
		const struct onnx_inferred_node *node = &inferred.nodes[i];

		assert(node->flops >= 0);
		for (size_t k = 0; k < node->node->output_count; k++)
			check_value(&node->outputs[k]);
	}
}

static void check_graph(const uint8_t *data, size_t size, struct strata_memory *memory)
{
	struct strata_onnx_metrics metrics;
	struct strata_findings findings;
	struct strata_error err = { 0 };
	struct strata_graph *graph;
	struct strata_arena arena;
	int rc = strata_onnx_read(data, size, "fuzz.onnx", NULL, 0, memory, &graph, &metrics, &err);

	if (rc) {
		assert(err.code == rc && err.text[0]);
		return;
	}
	assert(graph->op_count + metrics.folded_count == metrics.node_count);
	strata_arena_init(&arena, memory, 0);
	rc = strata_graph_detect(graph, NULL, &arena, &findings, &err);
	assert(rc == 0 || rc == -ENOMEM);
	strata_arena_fini(&arena);
	for (size_t i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].file == 0)
			assert(graph->tensors[i].offset_bytes + graph->tensors[i].extent_bytes <=
			       (int64_t)size);
	strata_graph_free(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct onnx_model model;

	strata_arena_init(&arena, &memory, 0);
	int rc = onnx_model_read(data, size, &arena, &model, &err);

	if (rc)
		assert(err.code == rc && err.text[0]);
	for (unsigned flags = 0; rc == 0 && flags < 2; flags++)
		check(&model, flags, &arena);
	strata_arena_fini(&arena);
	check_graph(data, size, &memory);
	assert(memory.used_bytes == 0);
	return 0;
}
