/*
 * A model that is ready to run: cut into subgraphs, each compiled for its device, with its weights in memory or on their way. What a call needs is found out
 * with the first one, because only its inputs say what the dimensions are.
 *
 * A call is a chain of parts, each the subgraphs that follow each other on one device. A part that is done hands the next one to its device, so that several
 * calls fill several devices like a pipeline.
 */
#ifndef ENGINE_INSTANCE_H
#define ENGINE_INSTANCE_H

#include "engine/backend.h"
#include "engine/features.h"
#include "engine/residence.h"

struct engine_instance_conf {
	struct engine_heap *heap;
	struct engine_device *devices;
	size_t device_count;
	const struct engine_backend_class *backend;
	const void *backend_conf;
	int64_t budget_bytes;
	const char *per_member_input; /* see strata/engine.h */
	bool wide;                    /* likewise */
	enum engine_features features; /* of features_of, an input */
	const char *features_of;
	bool experimental;            /* what backends have that is new may be used */
	const _Atomic bool *stop;
};

/* What was observed of a subgraph. */
struct engine_observed {
	uint64_t calls;
	int64_t total_ns, least_ns, last_ns;
	int64_t wait_ns; /* for weights */
};

struct engine_part {
	size_t first, past; /* subgraphs */
	uint32_t device;
};

struct engine_instance {
	struct engine_instance_conf conf;
	struct engine_model *model;
	struct strata_arena arena;
	struct residence residence;
	struct engine_cuts cuts;
	void **programs;
	struct engine_observed *observed;
	struct engine_value **weights; /* of each subgraph, room for a run */
	struct engine_part *parts;
	size_t part_count;
	uint32_t *made_on; /* device of each numbered value; that of the model's inputs: where they are read first */
	_Atomic uint64_t transfers;
	_Atomic int64_t transfer_bytes, transfer_ns;
	bool prepared;
	/* Told of each node that is computed, on its device's thread; may be NULL. */
	void (*watch)(void *context, uint32_t device, const struct onnx_node *node,
		      int64_t begin_ns, int64_t end_ns);
	void *watch_context;
};

int engine_instance_open(struct engine_instance *instance, const char *path,
			 const struct engine_instance_conf *conf, struct strata_error *err);
void engine_instance_close(struct engine_instance *instance);

/* Cuts and compiles, by devices for each node of the file (NULL: all on the first). */
int engine_instance_prepare(struct engine_instance *instance, const uint32_t *device_of_node,
			    struct strata_error *err);

/* Runs `count` calls; each has inputs by the model's order and room for the graph's outputs. The first error ends all. Outputs are the caller's to drop. */
struct engine_call {
	const struct engine_value *inputs;
	struct engine_value *outputs;
};
int engine_instance_run(struct engine_instance *instance, const struct engine_call *calls,
			size_t count, struct strata_error *err);

#endif
