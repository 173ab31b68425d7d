/*
 * A program: nodes of a graph in order, each with its operator, and the values between them as numbered slots. It is made once and run often; it
 * keeps what operators keep (packed weights, primitives), and of a run nothing.
 */
#ifndef ENGINE_NATIVE_PROGRAM_H
#define ENGINE_NATIVE_PROGRAM_H

#include "engine/native/native.h"
#include "formats/onnx/onnx_infer.h"

/* What is to be computed. Names are the model's; all is borrowed as long as the program lives. */
struct native_source {
	const struct onnx_model *model;
	const char *directory; /* where the model's file is, for constants in other files */
	const struct onnx_node *const *nodes; /* each behind those that make its inputs */
	size_t node_count;
	const char *const *inputs; /* values that come with each run */
	size_t input_count;
	const char *const *weights; /* values that are the same in each run */
	size_t weight_count;
	/* Weights stay where they are until the program is freed: what is made of them alone is computed once and kept. */
	bool weights_stay;
	const char *const *outputs; /* values that are wanted */
	size_t output_count;
	bool int8_weights; /* products keep weights that stay in eight bits: smaller, quicker to read, less exact */
	bool apart; /* each node is a step of its own: nothing is fused (fuse.h) */
};

/* -ENOTSUP names the first operator that there is none for. */
int native_program_new(const struct native_source *source, struct engine_heap *heap,
		       struct engine_team *team, struct native_program **ret_program,
		       struct strata_error *err);
void native_program_free(struct native_program *program); /* NULL is nothing */

struct native_run {
	const struct engine_value *inputs;  /* by the order of the source */
	const struct engine_value *weights; /* likewise */
	/* Told after each node, for times by operator; may be NULL. */
	void (*watch)(void *context, const struct onnx_node *node, int64_t begin_ns, int64_t end_ns);
	void *watch_context;
	/* Asked before each node: true ends the run with -ECANCELED; may be NULL. */
	bool (*stop)(void *context);
	void *stop_context;
	/* Raised to the most bytes that values between nodes take at a time, which takes a while to add up; NULL: nobody asks. */
	int64_t *ret_held_bytes;
};
/* ret_outputs has room for the source's outputs; the caller drops them. One run at a time. */
int native_program_run(struct native_program *program, const struct native_run *run,
		       struct engine_value *ret_outputs, struct strata_error *err);

/* ---- program_plan.c ---- */

/* What each value of a model is, by name; NULL: not known. */
struct native_types {
	const struct onnx_value *(*find)(const void *context, const char *name);
	const void *context;
};
/* Bytes of a value as it is in memory here; -1: not known. */
int64_t native_type_bytes(const struct onnx_value *type);
/*
 * The most bytes that values between nodes will take at a time, outputs included, inputs and weights not: each lives from the node that makes it to the last
 * that reads it; views, and results that take an operand's place, take none. What operators need while they compute is not in it. *ret_bytes is -1 when a shape
 * is not known. -ENOMEM.
 */
int native_program_peak(const struct native_program *program, const struct native_types *types,
			struct strata_memory *memory, int64_t *ret_bytes, struct strata_error *err);
/* What they take now, in a run. */
int64_t native_program_held(const struct native_program *program, const struct native_run *run);

#endif
