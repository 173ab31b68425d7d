/*
 * Backends: what computes a subgraph. A backend compiles a subgraph once and runs it often; it decides nothing about where and when. One file
 * each, a line in backends.def.
 */
#ifndef ENGINE_BACKEND_H
#define ENGINE_BACKEND_H

#include "engine/device.h"
#include "engine/subgraph.h"

#include <strata/class.h>

/* What a backend is asked to compile. All is borrowed until the program is closed. */
struct engine_compile {
	const struct engine_model *model;
	const struct engine_subgraph *subgraph;
	struct engine_device *device;
	/* Weights stay where they are at the first run until the program is closed: what is made of them may be kept. Else they come with each run, at
	 * addresses that may change. */
	bool weights_stay;
	bool experimental; /* what is new and perhaps less exact may be used */
};

/* Told of nodes as they are computed, where a backend can tell; and asked whether to go on. */
struct engine_watch {
	void (*node)(void *context, const struct onnx_node *node, int64_t begin_ns, int64_t end_ns); /* NULL: nobody listens */
	void *context;
	const _Atomic bool *stop; /* true: end with -ECANCELED */
};

struct native_types; /* native/program.h: what each value is, by name */

struct engine_backend_class {
	struct strata_class base;
	/* Can it run here? -ENOENT with what is missing. NULL: always. */
	int (*probe)(const void *conf, struct strata_error *err);
	/* On the device's thread. -ENOTSUP names an operator that it lacks. */
	int (*compile)(const void *conf, const struct engine_compile *what, void **ret_program,
		       struct strata_error *err);
	/* On the device's thread. Values are by the subgraph's lists; outputs are the caller's to drop. */
	int (*run)(void *program, const struct engine_value *inputs,
		   const struct engine_value *weights, const struct engine_watch *watch,
		   struct engine_value *ret_outputs, struct strata_error *err);
	void (*close)(void *program); /* NULL is nothing */
	/* The most bytes that a run's values will take at a time, by what is known of their shapes; -1: not known. NULL: never. */
	int (*plan)(const void *program, const struct native_types *types,
		    struct strata_memory *memory, int64_t *ret_bytes, struct strata_error *err);
};

#endif
