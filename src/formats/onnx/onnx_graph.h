/* From an inferred model to a graph of the place level. */
#ifndef FORMATS_ONNX_GRAPH_H
#define FORMATS_ONNX_GRAPH_H

#include "formats/onnx/onnx_infer.h"

#include <strata/onnx.h>

/* Adds everything to an empty graph and finishes it. */
int onnx_graph_fill(const struct onnx_inferred *inferred, const char *path,
		    struct strata_arena *arena, struct strata_graph *graph,
		    struct strata_onnx_metrics *ret_metrics, struct strata_error *err);

/* Puts the nodes of functions in place of calls of them in the model's graph. -E2BIG when there is no end to it. */
int onnx_inline(struct onnx_model *model, struct strata_arena *arena, struct strata_error *err);

/* Which initializers are copies of each other: groups from 1 on, 0 for those that are alone. ret_bytes: of all but the first of each group. */
int onnx_find_tied(const struct onnx_graph *graph, struct strata_arena *arena, uint32_t *ret_groups,
		   int64_t *ret_bytes, struct strata_error *err);

/* Maps a file for reading; munmap() ends it. -ENOENT and its like name the file; one that is empty or not a file is refused. */
int onnx_file_map(const char *path, void **ret_bytes, size_t *ret_length, struct strata_error *err);

/* Is it a file beside the model, or below? -EINVAL when it is elsewhere. */
int onnx_check_location(const char *location, struct strata_error *err);

#endif
