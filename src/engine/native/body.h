/* Graphs inside nodes (of If, Loop, Scan …), compiled as programs of their own. What they read from around them is found by name and bound when they run. */
#ifndef ENGINE_NATIVE_BODY_H
#define ENGINE_NATIVE_BODY_H

#include "engine/native/program.h"

struct native_body {
	const char *attribute; /* "then_branch" */
	const struct onnx_graph *graph;
	struct native_program *program;
	const char **captures;   /* names from around */
	uint32_t *capture_slots; /* of the program around */
	size_t capture_count;
	struct engine_value *weights; /* initializers of the graph, its own */
	size_t weight_count;
	struct engine_value *inputs; /* room for a run: the graph's, then captures */
};

struct native_body_conf {
	const struct native_source *source; /* of the program around */
	struct engine_heap *heap;
	struct engine_team *team;
	struct strata_memory *memory;
};

/* Of every attribute of the node that is a graph; in the arena of the program around. */
int native_bodies_new(const struct native_body_conf *conf, const struct onnx_node *node,
		      struct strata_arena *arena, struct native_body ***ret_bodies,
		      size_t *ret_count, struct strata_error *err);
void native_bodies_free(struct native_body **bodies, size_t count);

#endif
