/*
 * Where the weights of a model are while it runs. Without a budget all of them are in memory from the start. With one, small ones stay, tables of which only
 * rows are looked up (Gather: embeddings) are read from the mapped file row by row, and the others come and go: each subgraph's are a layer of a
 * stream (<strata/stream.h>), which the stage level plans. Each device has a stream of its own.
 */
#ifndef ENGINE_RESIDENCE_H
#define ENGINE_RESIDENCE_H

#include "engine/subgraph.h"

#include <strata/stream.h>

struct residence_layer { /* of a subgraph */
	struct strata_stream *stream; /* NULL: nothing of it is fetched */
	uint32_t layer;               /* of the stream */
	uint32_t device;
	uint32_t *extents;            /* of each weight of the subgraph; UINT32_MAX: it stays */
	bool first, last;             /* of the stream's layers in a step */
};

struct residence {
	const struct engine_model *model;
	struct engine_heap *heap;
	int64_t budget_bytes;          /* 0: all stay */
	int64_t *weighs;               /* of each initializer: bytes that are fetched; 0: it stays */
	int64_t fetched_bytes;         /* sum of these */
	int64_t kept_bytes;            /* of those that stay, as they are in memory */
	int64_t looked_up_bytes;       /* of tables that are read row by row */
	bool may_pack;                 /* there is room for a second copy, laid out for the backend */
	bool *looked_up;               /* of each initializer */
	struct residence_file *files;  /* of external data, mapped for that */
	struct engine_value *kept;     /* of each initializer; empty: it is fetched */
	struct residence_layer *layers; /* of each subgraph */
	struct strata_stream **streams; /* of each device; NULL: none */
	struct strata_memory *memories; /* of each stream: it is used by its device's thread */
	bool *in_step;                  /* of each stream: a step has begun and not ended */
	size_t device_count;
};

/* Decides which weights are fetched, before the model is cut. -E2BIG when those that stay do not fit. */
int residence_plan(struct residence *residence, const struct engine_model *model,
		   struct engine_heap *heap, int64_t budget_bytes, struct strata_arena *arena,
		   struct strata_error *err);
/* How large a layer should be, for engine_cut; 0: nothing is fetched. */
int64_t residence_layer_bytes(const struct residence *residence);
/* Loads what stays and opens streams for the rest. */
int residence_open(struct residence *residence, const struct engine_cuts *cuts, size_t device_count,
		   struct strata_arena *arena, struct strata_error *err);
void residence_close(struct residence *residence);

/* On the device's thread, around a subgraph: its weights as values, which wait for the disk if they must. */
int residence_begin(struct residence *residence, const struct engine_subgraph *subgraph,
		    size_t index, struct engine_value *ret_weights, struct strata_error *err);
int residence_end(struct residence *residence, const struct engine_subgraph *subgraph, size_t index,
		  struct engine_value *weights, struct strata_error *err);

#endif
