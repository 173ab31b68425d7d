/* What graph.c and graph_finish.c share: the memory behind a struct strata_graph. */
#ifndef PLACE_GRAPH_INT_H
#define PLACE_GRAPH_INT_H

#include <strata/place.h>

#include "core/map.h"

struct strata_graph_int {
	struct strata_memory *memory; /* borrowed until strata_graph_free */
	struct strata_arena arena;    /* texts, lists, and all that finishing adds */
	struct map_text names;        /* of tensors, to index + 1 */
	size_t tensor_room, op_room, file_room;
	struct strata_edge *extra; /* edges without a tensor, as they were added */
	size_t extra_count, extra_room;
	bool finished;
};

#endif
