/*
 * A model's file, open: mapped, read and checked, its functions in place of their calls, its nodes in an order in which each is behind what it needs.
 * Weights are not read: they are extents of the file or of files beside it.
 */
#ifndef ENGINE_MODEL_H
#define ENGINE_MODEL_H

#include "engine/value.h"
#include "formats/onnx/onnx_model.h"

struct engine_model {
	const char *path, *directory; /* directory: of the file, "" for the current one */
	struct strata_memory *memory; /* borrowed */
	struct strata_arena arena;
	void *bytes; /* the mapped file */
	size_t length;
	struct onnx_model onnx;
	const struct onnx_node **nodes; /* of the graph, in order */
	const char **inputs;            /* names of what comes with each call: no initializers */
	const struct onnx_value_info **input_infos;
	size_t input_count;
};

/* The sentence of an error begins with the path. */
int engine_model_open(const char *path, struct strata_memory *memory,
		      struct engine_model **ret_model, struct strata_error *err);
void engine_model_close(struct engine_model *model); /* NULL is nothing */

#endif
