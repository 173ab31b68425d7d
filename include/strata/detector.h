/*
 * What a graph of the place level is for, found from its structure: which workload, which phase each operator belongs to, what its inputs
 * are, where its KV caches are, which weights are one. Names of nodes and tensors are not looked at: kinds of operators, shapes and roles are.
 *
 * Each question is a detector, a class (`strata classes detector`). They run only when asked, in the order of their rank, and write what
 * they find into the graph's ops and tensors and into struct strata_findings.
 */
#ifndef STRATA_DETECTOR_H
#define STRATA_DETECTOR_H

#include <strata/place.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum strata_workload {
	STRATA_WORKLOAD_OTHER,
	STRATA_WORKLOAD_LLM,
	STRATA_WORKLOAD_CNN,
	STRATA_WORKLOAD_DIFFUSION,
	STRATA_WORKLOAD_MULTIMODAL,
	STRATA_WORKLOAD_RECURRENT,
};
enum { STRATA_WORKLOAD_COUNT = STRATA_WORKLOAD_RECURRENT + 1 };
const char *strata_workload_name(enum strata_workload workload); /* "llm" */

/* An attention: softmax(Q·Kᵀ)·V, or one operator that is all of it. */
struct strata_attention {
	uint32_t scores;  /* op that makes Q·Kᵀ; the operator itself when it is one */
	uint32_t softmax; /* op; STRATA_NONE when it is one operator */
	uint32_t values;  /* op that multiplies with V */
	int64_t query_length, key_length; /* -1: not known */
	bool masked; /* some scores are masked out, by something that depends on positions alone */
};

struct strata_findings {
	enum strata_workload workload;
	const char *why;         /* a sentence on the workload; static, or in the arena */
	enum strata_phase phase; /* that most FLOPs are in */
	unsigned modalities;     /* of the inputs: 1 << enum strata_modality */
	const struct strata_attention *attentions; /* in the arena */
	size_t attention_count;
	size_t kv_in_count, kv_out_count;  /* tensors that carry a cache in, and out */
	int64_t kv_in_bytes, kv_out_bytes; /* those with a shape */
	int64_t tied_bytes; /* of weights that are another one, stored or read twice */
};

struct strata_detector_class {
	struct strata_class base;
	int rank; /* lower ones run first, and their findings are there */
	int (*detect)(const void *conf, struct strata_graph *graph, struct strata_arena *arena,
		      struct strata_findings *findings, struct strata_error *err);
};
extern const struct strata_kind strata_detector_kind;

/* Runs detectors on a finished graph: those of the registry, or the built-in ones when it is NULL. Fails only for lack of memory, or as a
 * plug-in's detector does. */
int strata_graph_detect(struct strata_graph *graph, const struct strata_registry *registry,
			struct strata_arena *arena, struct strata_findings *ret_findings,
			struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
