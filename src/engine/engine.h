/* An engine and its models from inside. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/heap.h"
#include "engine/whole.h"

#include <strata/engine.h>

#include <stdatomic.h>

struct strata_engine {
	struct strata_memory *memory; /* borrowed */
	struct engine_heap heap;      /* of all arrays and activations */
	int thread_count;
	_Atomic bool stop;
};

struct strata_engine_model {
	struct strata_engine *engine;
	struct engine_whole whole;
	struct strata_engine_port *inputs, *outputs;
	size_t input_count, output_count;
};

#endif
