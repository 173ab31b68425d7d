/* attention: where scores, softmax and values are. Others build on it, so it runs first. */
#include "place/detector.h"

static int detect(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		  struct strata_findings *findings, struct strata_error *err)
{
	(void)conf;
	return attention_find(graph, arena, findings, err);
}

const struct strata_detector_class strata_detector_attention = {
	.base = { .name = "attention",
		  .summary = "softmax(Q·Kᵀ)·V, written out or as one operator" },
	.rank = 0,
	.detect = detect,
};
