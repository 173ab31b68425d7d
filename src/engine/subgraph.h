/*
 * Subgraphs: runs of nodes that one device computes in one go. A model is cut where the device changes and where the layer changes whose weights are fetched
 * together. Values that go from one subgraph to another, or in and out of the model, are numbered: a subgraph reads and makes numbers.
 */
#ifndef ENGINE_SUBGRAPH_H
#define ENGINE_SUBGRAPH_H

#include "engine/model.h"

struct engine_subgraph {
	uint32_t device, layer;
	const struct onnx_node **nodes; /* in order */
	size_t node_count;
	const char **inputs; /* from outside */
	uint32_t *input_values;
	size_t input_count;
	const char **weights; /* initializers that its nodes read, by name */
	uint32_t *weight_indexes;
	size_t weight_count;
	const char **outputs; /* that others read, or the caller */
	uint32_t *output_values;
	size_t output_count;
	uint32_t *drops; /* values that nobody reads afterwards */
	size_t drop_count;
};

struct engine_cuts {
	struct engine_subgraph *subgraphs;
	size_t subgraph_count;
	size_t value_count;      /* numbers: the model's inputs first, by its order */
	uint32_t *output_values; /* of the model's outputs; ENGINE_WEIGHT + i: it is initializer i */
};
#define ENGINE_WEIGHT UINT32_C(0x80000000)

/* How a model is to be cut: of each node, in the order of the model's file, its device (NULL: all on 0); and how many bytes of weights a layer may have (0: no
 * layers). What a layer's weights are is said by `weighs`: bytes of an initializer that is fetched, 0 for one that stays. */
struct engine_cut_conf {
	const uint32_t *device;
	int64_t layer_bytes;
	const int64_t *weighs; /* of each initializer; NULL with layer_bytes 0 */
};

/* All of it is in the arena. */
int engine_cut(const struct engine_model *model, const struct engine_cut_conf *conf,
	       struct strata_arena *arena, struct engine_cuts *ret_cuts, struct strata_error *err);

#endif
