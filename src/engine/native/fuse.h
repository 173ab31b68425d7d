/*
 * Fusions: nodes that follow each other become one step, which goes over its numbers once where the nodes would go over them again and again. A fused step
 * gives the same bits as its nodes one by one, so a cut between subgraphs, which keeps two nodes from becoming one step, changes no result.
 *
 * A fusion finds its nodes by kinds and by who reads what; shapes and types are looked at when the step runs. Where they are not what it is made for, the nodes
 * are run one by one after all (native_fused_apart). One file each, a line in fusions.def.
 */
#ifndef ENGINE_NATIVE_FUSE_H
#define ENGINE_NATIVE_FUSE_H

#include "engine/native/program.h"

enum { FUSED_PARTS_MAX = 12, FUSED_INPUTS_MAX = 16 };

struct fuse;

struct native_fusion {
	const char *name;
	/* The nodes of which `node` is the last, into ret_parts by the fusion's own order (room for FUSED_PARTS_MAX): first the one that takes the
	 * longest, which times are told of; last `node`. 0: it is not one. */
	size_t (*match)(const struct fuse *fuse, const struct onnx_node *node,
			const struct onnx_node **ret_parts);
	/* Runs the step: inputs are what its nodes read from others, each once, in the order of ret_parts; outputs are the last node's. */
	struct native_op op;
};
const struct native_fusion *native_fusion_at(size_t index); /* NULL past the end */

/* The nodes of a source, some of them fused; all is in the arena. The source's own are borrowed. */
int native_fuse(const struct native_source *source, struct strata_arena *arena,
		struct strata_memory *memory, const struct onnx_node ***ret_nodes,
		size_t *ret_count, struct strata_error *err);

/* What a fused node is made of; NULL: it is an ordinary node. */
struct native_fused {
	struct onnx_node node; /* first: a fused node is found by it */
	const struct native_fusion *fusion;
	const struct onnx_node *parts[FUSED_PARTS_MAX]; /* in the order of the fusion */
	const struct onnx_node *in_order[FUSED_PARTS_MAX]; /* in the order of the source */
	size_t part_count;
};
const struct native_fused *native_fused_of(const struct onnx_node *node);

/* ---- for fusions ---- */

/* The node before that makes a value, if it is of that kind and of ONNX's own operators; NULL: it is not. */
const struct onnx_node *fuse_maker(const struct fuse *fuse, const char *name, const char *kind);
/* A weight of the model's file; NULL: it is none. */
const struct onnx_tensor *fuse_weight(const struct fuse *fuse, const char *name);
/* The value of one of a step's nodes, by the number of the part and of its input; NULL: a node of the step makes it, or it is left out. */
const struct engine_value *fused_input(const struct native_call *call, size_t part, size_t input);
/* The same as one float32; false: it is something else. */
bool fused_number(const struct native_call *call, size_t part, size_t input, float *ret_number);
/* Runs the nodes one by one. */
int native_fused_apart(struct native_call *call, struct strata_error *err);

#endif
