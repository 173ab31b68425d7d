/* Where names are looked up while shapes are inferred: a graph's own values, then those of the graph around it. */
#ifndef FORMATS_ONNX_SCOPE_H
#define FORMATS_ONNX_SCOPE_H

#include "formats/onnx/onnx_infer.h"

struct onnx_scope {
	struct onnx_scope *outer;       /* NULL: the model's graph */
	bool sealed;                    /* of a function: sees nothing around it … */
	const struct onnx_node *caller; /* … and has its caller's attributes; else NULL */
	struct map_text names;          /* struct onnx_value */
};

/* A list of values read from outside by the graphs of one node. */
struct onnx_captures {
	const struct onnx_value **values;
	size_t count, room;
};

struct onnx_infer {
	const struct onnx_model *model;
	struct strata_arena *arena;
	const struct onnx_dim *dims; /* given */
	size_t dim_count;
	unsigned flags;
	const char **names; /* of dimensions that are not given: -2 - i stands for names[i] */
	size_t name_count, name_room;
	bool *used; /* of dims: the model has it */
	size_t steps;
	unsigned depth;
	struct onnx_captures captures; /* of the node of the model's graph that we are in */
	struct onnx_scope *top;
	struct onnx_inferred *result;
	struct onnx_value spare; /* where outputs go that nobody asked for */
};

/* The number that stands for a dimension's name, or the value that was given for it. */
int onnx_dim_by_name(struct onnx_infer *infer, const char *name, int64_t *ret_dim,
		     struct strata_error *err);
/* A constant, with its elements when they are few. */
int onnx_value_of_tensor(struct onnx_infer *infer, const struct onnx_tensor *tensor,
			 struct onnx_value *ret_value, struct strata_error *err);
/* Puts a value under its name; "" is nothing. -EINVAL when it is taken. */
int onnx_define(struct onnx_scope *scope, const char *name, struct onnx_value *value,
		struct strata_error *err);
/* Finds a value here or around, NULL for "". -ENOENT when there is none. */
int onnx_look_up(struct onnx_infer *infer, struct onnx_scope *scope, const char *name,
		 const struct onnx_value **ret_value, struct strata_error *err);

/* Goes over nodes in order. *flops grows by theirs. */
int onnx_walk(struct onnx_infer *infer, struct onnx_scope *scope, const struct onnx_node *nodes,
	      size_t node_count, double *flops, struct strata_error *err);
/* A call of a function of the model. */
int onnx_infer_function(struct onnx_call *call, const struct onnx_function *function,
			struct strata_error *err);

/* An order in which each node is behind those that make its inputs; NULL: as they are. -EINVAL names a cycle. */
int onnx_sort_nodes(const struct onnx_graph *graph, struct strata_arena *arena,
		    const uint32_t **ret_order, struct strata_error *err);

#endif
