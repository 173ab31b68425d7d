/* An engine and its models from inside. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/instance.h"
#include "engine/learning.h"
#include "engine/engine_place.h"

#include <strata/engine.h>

#include <stdatomic.h>

struct strata_engine {
	struct strata_memory *memory; /* borrowed */
	struct strata_arena arena;
	struct engine_heap heap; /* of all arrays and activations */
	struct engine_device *devices;
	size_t device_count;
	struct strata_spec backend;
	struct strata_corrections *corrections; /* what was observed, by kind of operator and device */
	struct strata_adaptive *adaptive;       /* how plans turned out */
	const char *experience;                 /* path; NULL: not kept */
	struct strata_trace *trace;             /* borrowed; NULL: none */
	uint32_t next_tid;                      /* of it */
	bool experimental;
	enum strata_mode mode;
	enum strata_objective objective;
	_Atomic bool stop;
};

struct strata_engine_model {
	struct strata_engine *engine;
	struct engine_instance instance;
	const struct strata_engine_model *caches_from;
	struct engine_placing placing; /* device NULL: not asked yet */
	struct strata_error broken;    /* why it could not be prepared; code 0: it could, or was not tried */
	struct engine_learning learning;
	int64_t planned_bytes; /* of activations in one call; -1: not known. Once it is prepared. */
	struct strata_engine_port *inputs, *outputs;
	size_t input_count, output_count;
};

/* Calls with values as they are inside, sequences and texts included: inputs by the model's order, room for the graph's outputs. */
int engine_model_run(struct strata_engine_model *model, const struct engine_call *calls,
		     size_t count, struct strata_error *err);

#endif
