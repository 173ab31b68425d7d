/*
 * Learning from what was observed: how long each operator took, compared with what the cost model said, goes into the place level's corrections. Not every
 * call is looked at, because looking costs two readings of the clock for each operator. How long whole calls took says how the plan turned out, from
 * which the place level learns what to try.
 */
#ifndef ENGINE_LEARNING_H
#define ENGINE_LEARNING_H

#include "engine/engine_place.h"
#include "engine/instance.h"

#include <strata/place.h>

enum { LEARNING_CALLS = 16 }; /* whole calls whose times are kept */

struct learning_sum {
	struct strata_op op; /* kind and phase only */
	uint32_t device;
	double predicted_ns, observed_ns; /* of one call */
};

struct engine_learning {
	struct strata_arena *arena;
	const struct onnx_graph *graph;
	int64_t *took_ns; /* of each node of the file in the call that is looked at; -1: not computed */
	uint32_t *device; /* where */
	int64_t last_ns[STRATA_PLACE_DEVICES_MAX]; /* when each device ended its last node */
	struct learning_sum *sums;
	uint32_t *sum_of; /* of each node, once there are any */
	size_t sum_count;
	uint64_t calls;
	int64_t call_ns[LEARNING_CALLS]; /* of calls that were looked at since the last report */
	size_t call_count;
};

/* Room for a model; in the arena. */
int engine_learning_init(struct engine_learning *learning, const struct engine_model *model,
			 struct strata_arena *arena, struct strata_error *err);
/* Is the next call one to look at? The first sixteen are, then each sixteenth. */
bool engine_learning_wants(const struct engine_learning *learning);
/* Before and after such a call, which took so long. The placing has the uncorrected prices of each node. */
void engine_learning_begin(struct engine_learning *learning, struct engine_instance *instance);
int engine_learning_end(struct engine_learning *learning, struct engine_instance *instance,
			const struct engine_placing *placing, int64_t took_ns,
			struct strata_corrections *corrections, struct strata_error *err);
/* Are there as many calls as a report is made of? */
bool engine_learning_is_full(const struct engine_learning *learning);
/* Tells how the plan turned out, by the calls since the last report; without one it is nothing. */
int engine_learning_report(struct engine_learning *learning, const struct engine_placing *placing,
			   struct strata_adaptive *adaptive, struct strata_error *err);
/* A call failed, and not for what it was given. */
void engine_learning_failed(const struct engine_placing *placing, struct strata_adaptive *adaptive);
/* The corrected price of a node; 0: not known, or it was not computed when the model was looked at. */
double engine_learning_price(const struct engine_learning *learning,
			     const struct engine_placing *placing, size_t node, uint32_t device,
			     const struct strata_corrections *corrections);

#endif
