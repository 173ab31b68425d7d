/* What a node reads: its inputs, and what graphs inside it (of If, Loop, Scan …) read from around them. */
#ifndef ENGINE_CAPTURES_H
#define ENGINE_CAPTURES_H

#include "core/map.h"
#include "formats/onnx/onnx_model.h"

/* Adds the names that a graph reads from around it to the map, as keys. */
int engine_captures_of_graph(const struct onnx_graph *graph, struct map_text *captured,
			     struct strata_memory *memory, struct strata_error *err);
/* Adds the names that a node reads, those that its graphs capture included. */
int engine_captures_of_node(const struct onnx_node *node, struct map_text *read,
			    struct strata_memory *memory, struct strata_error *err);

#endif
