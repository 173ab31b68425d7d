/*
 * A subgraph as an ONNX model of its own, in the file format, in memory: nodes as the model has
 * them, with the graphs and tensors inside them; inputs with the types and shapes that are known;
 * weights by their roles. Sixteen-bit floats are float32 in it, as everywhere in the engine
 * (value.h): their types, constants and casts are rewritten.
 */
#ifndef ENGINE_ORT_WRITE_H
#define ENGINE_ORT_WRITE_H

#include "engine/subgraph.h"

enum ort_role {
	ORT_INLINE,   /* its contents are in the model */
	ORT_EXTERNAL, /* it is declared; contents are handed over beside it */
	ORT_INPUT,    /* it comes with each run */
};

struct ort_source { /* borrowed */
	const struct engine_model *model;
	const struct engine_subgraph *subgraph;
	const struct engine_value *inputs, *weights; /* of a run: their types are the model's */
	const uint8_t *roles;                        /* of each weight: enum ort_role */
	struct engine_heap *heap;
};

struct ort_bytes {
	struct engine_heap *heap;
	uint8_t *at; /* owned */
	size_t length, room;
	bool failed; /* no memory: sticky */
};

/* -ENOTSUP names what cannot be written. The caller frees what there is, in either case. */
int ort_write(const struct ort_source *source, struct ort_bytes *ret_bytes,
	      struct strata_error *err);
void ort_bytes_free(struct ort_bytes *bytes);

#endif
