/*
 * The native backend's operators: what one is, and what it may ask for. An operator is a function that looks at its inputs, makes its outputs
 * and fills them. Shapes are found while running, from the inputs themselves, so a model with dimensions that nobody knows beforehand runs
 * like any other.
 *
 * The law of this backend: an element of a result depends on the numbers that enter it and on nothing else: not on the size of the batch, not on
 * the number of threads, not on where it stands in a row of vectors. Sums run in an order that is fixed by the element alone.
 *
 * Reals are float32 or float64 inside. float16 and bfloat16 are types of storage: values of them are widened when they come in and rounded
 * when they go out (program.c), so operators never meet them.
 */
#ifndef ENGINE_NATIVE_H
#define ENGINE_NATIVE_H

#include "engine/value.h"

struct native_program;
struct native_run;
struct native_state;

/* Threads that share the work of one operator; see team.h. */
struct engine_team;

struct native_call {
	const struct onnx_node *node;
	const struct engine_value *const *inputs; /* NULL: left out */
	size_t input_count;
	struct engine_value *outputs; /* come empty; each that has a name must be made */
	size_t output_count;
	int64_t opset; /* of ONNX's own operators */
	struct engine_heap *heap;
	struct engine_team *team;
	const struct onnx_model *model; /* that the node is of */
	const char *directory;          /* where the model's file is */
	const bool *last_use;           /* of inputs: nobody reads it after this node */
	const bool *constant;           /* of inputs: the same at every call, at the same address */
	bool planned;                   /* outputs go to other operators of this call alone */
	bool int8_weights;              /* products may keep constants in eight bits */
	/* What an operator keeps from call to call of this node (packed weights, primitives), freed by its own function; NULL at first. */
	struct native_state **state;
	/* Graphs of this node, compiled, and the values around the node, which they may read; for native_body_run. */
	struct native_body *const *bodies;
	size_t body_count;
	const struct engine_value *around;
	const struct native_run *run; /* that this call is part of */
};

/* Before a loop whose elements do not depend on each other, although its result may stand where an operand does: it may be done in vectors. */
#ifdef __clang__
#define NATIVE_EACH /* its own would warn where it cannot */
#else
#define NATIVE_EACH _Pragma("GCC ivdep")
#endif

/* The first member of what an operator keeps. */
struct native_state {
	void (*free)(struct native_state *state);
};

struct native_op {
	const char *kind;
	int (*run)(struct native_call *call, struct strata_error *err);
};

/* Operators of a family, sorted by kind, and the domain they are of. */
struct native_family {
	const char *name, *domain;
	const struct native_op *ops;
	size_t op_count;
};
const struct native_family *native_family_at(size_t index); /* NULL past the end */
const struct native_op *native_op_find(const char *domain, const char *kind);

/* ---- native_call.c: what operators are made of ---- */

/* The inputs or attributes are not ones the operator takes: -EINVAL, and the sentence names the node. */
int native_refuse(const struct native_call *call, struct strata_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A form of the operator that is not built: -ENOTSUP. */
int native_lacks(const struct native_call *call, struct strata_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The input, or NULL when it is left out. */
const struct engine_value *native_input(const struct native_call *call, size_t index);
/* The same, refused when it is left out or not a tensor. */
int native_tensor(const struct native_call *call, size_t index,
		  const struct engine_value **ret_value, struct strata_error *err);
/* And refused when its type is another. */
int native_typed(const struct native_call *call, size_t index, int dtype,
		 const struct engine_value **ret_value, struct strata_error *err);
/* Does anybody want output `index`? */
bool native_wants(const struct native_call *call, size_t index);

int64_t native_int(const struct native_call *call, const char *name, int64_t missing);
double native_real(const struct native_call *call, const char *name, double missing);
const char *native_text(const struct native_call *call, const char *name, const char *missing);
const int64_t *native_ints(const struct native_call *call, const char *name, size_t *ret_count);
const double *native_reals(const struct native_call *call, const char *name, size_t *ret_count);

/* The integers of an input (int32 or int64, any shape), up to `room` of them. -EINVAL when it has another type or more. */
int native_input_ints(const struct native_call *call, size_t index, int64_t *ret_values,
		      size_t room, size_t *ret_count, struct strata_error *err);
/* The same by an attribute in old opsets and an input in newer ones; *ret_given false when there is neither. */
int native_ints_either(const struct native_call *call, const char *name, size_t input,
		       int64_t *ret_values, size_t room, size_t *ret_count, bool *ret_given,
		       struct strata_error *err);
/* One number of an input of any numeric type. */
int native_input_real(const struct native_call *call, size_t index, double *ret_value,
		      struct strata_error *err);

/* Counts an axis from the end when it is below 0. -EINVAL when there is no such axis. */
int native_axis(const struct native_call *call, int64_t axis, size_t rank, size_t *ret_axis,
		struct strata_error *err);

/* Makes an output, whose elements are then to be set. */
int native_make(struct native_call *call, size_t index, int dtype, size_t rank, const int64_t *dims,
		struct strata_error *err);
/* The same shape and type as an input; takes over its memory when nobody else reads it. */
int native_make_like(struct native_call *call, size_t index, size_t input,
		     struct strata_error *err);
/* An output that is an input's contents, perhaps in another shape (of as many elements). */
void native_share(struct native_call *call, size_t index, const struct engine_value *value,
		  size_t rank, const int64_t *dims);
/* Scratch memory for one operator; give it back with engine_heap_put. */
void *native_scratch(struct native_call *call, size_t bytes, struct strata_error *err);

/* ---- broadcasting ---- */

/* The common shape of values that are stretched to each other; -EINVAL when they do not fit. */
int native_broadcast(const struct native_call *call, const struct engine_value *const *values,
		     size_t count, size_t *ret_rank, int64_t *ret_dims, struct strata_error *err);

/* Steps through a shape while counting the offsets of up to four values stretched to it. Dimensions that all of them step through alike are joined, so
 * that the innermost run is as long as it can be. */
enum { NATIVE_WALK_MAX = 4 };
struct native_walk {
	size_t rank, count; /* of values */
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	int64_t strides[NATIVE_WALK_MAX][STRATA_TENSOR_RANK_MAX]; /* in elements; 0 where stretched */
	int64_t run;        /* of the innermost dimension */
	int64_t runs;       /* how many of those there are */
};
void native_walk_init(struct native_walk *walk, size_t rank, const int64_t *dims,
		      const struct engine_value *const *values, size_t count);
/* Where each value is at the beginning of a run. */
void native_walk_at(const struct native_walk *walk, int64_t run, int64_t *ret_offsets);

/* ---- graphs inside nodes (If, Loop, Scan) ---- */

struct native_body;
/* The body of an attribute; NULL when there is none. */
struct native_body *native_body_of(const struct native_call *call, const char *attribute);
/* Runs it: inputs are bound to the graph's by position, what it reads from outside is the node's. ret_outputs has room for the graph's. */
int native_body_run(struct native_call *call, struct native_body *body,
		    const struct engine_value *inputs, size_t input_count,
		    struct engine_value *ret_outputs, size_t output_count,
		    struct strata_error *err);
/* -ECANCELED when the run is to end: asked by operators that run long. */
int native_stopped(const struct native_call *call, struct strata_error *err);
size_t native_body_inputs(const struct native_body *body);
size_t native_body_outputs(const struct native_body *body);

#endif
