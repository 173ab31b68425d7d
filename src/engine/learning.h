/*
 * Learning from what was observed: how long each operator took, compared with what the cost model said, goes into the place level's corrections. Not every
 * call is looked at, because looking costs two readings of the clock for each operator.
 */
#ifndef ENGINE_LEARNING_H
#define ENGINE_LEARNING_H

#include "engine/instance.h"

#include <strata/place.h>

struct engine_learning {
	struct strata_arena *arena;
	const struct onnx_graph *graph;
	int64_t *took_ns; /* of each node of the file in the call that is looked at; -1: not computed */
	uint32_t *device; /* where */
	uint64_t calls;
};

/* Room for a model; in the arena. */
int engine_learning_init(struct engine_learning *learning, const struct engine_model *model,
			 struct strata_arena *arena, struct strata_error *err);
/* Is the next call one to look at? The first sixteen are, then each sixteenth. */
bool engine_learning_wants(const struct engine_learning *learning);
/* Before and after such a call. Prices are the uncorrected ones of each node; 0: not known. */
void engine_learning_begin(struct engine_learning *learning, struct engine_instance *instance);
int engine_learning_end(struct engine_learning *learning, struct engine_instance *instance,
			const double *prices_ns, struct strata_corrections *corrections,
			struct strata_error *err);

#endif
