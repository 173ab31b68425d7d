/*
 * Shapes of an ONNX model: what each value is, found by going over the nodes in order with one rule per operator, and by computing with
 * small constants on the way, because shapes are made of them. A dimension that is not known is -1 or, when it has a name, a number below
 * that stands for the name: two such are equal when their names are. An operator without a rule leaves its outputs unknown and is flagged;
 * so is one whose inputs contradict each other. Neither ends the walk.
 */
#ifndef FORMATS_ONNX_INFER_H
#define FORMATS_ONNX_INFER_H

#include "core/map.h"
#include "formats/onnx/onnx_model.h"

/* ---- values ---- */

struct onnx_value {
	enum onnx_kind kind;
	int dtype;   /* TENSOR: enum onnx_dtype */
	bool ranked; /* rank is known */
	size_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX]; /* 0 and more: known; -1: not; below: by name */
	/* Elements, when they are known and not many: one of the two by dtype, in order. */
	int64_t *integers;
	double *reals;
	bool *open; /* of integers that are dimensions not known (as in dims); NULL: none is */
	const struct onnx_value *item;    /* SEQUENCE, OPTIONAL: what is in it; NULL: not known */
	int64_t length;                   /* SEQUENCE: of items; -1: not known */
	const struct onnx_tensor *tensor; /* constant, stored in the file; NULL */
	const struct onnx_value *same_as; /* constant, the same as this one: an Identity; NULL */
	bool constant;                    /* depends on no input of the model */
	const char *name;
	uint32_t index; /* for who walks over the result: its own number of the value */
};

static inline bool onnx_has_elements(const struct onnx_value *value)
{
	return value->integers || value->reals;
}

/* Product of the dimensions; -1 when one is not known. */
int64_t onnx_elements(const struct onnx_value *value);
/* Rank and every dimension known; of a sequence or an optional, of what is in it. */
bool onnx_shaped(const struct onnx_value *value);
/* Bytes of the value; -1 when they are not known. */
int64_t onnx_value_bytes(const struct onnx_value *value);

/* ---- one operator at a time ---- */

struct onnx_infer;
struct onnx_scope;

struct onnx_call {
	struct onnx_infer *infer;
	struct onnx_scope *scope; /* that the node is in */
	const struct onnx_node *node;
	const struct onnx_value *const *inputs; /* NULL: left out */
	size_t input_count;
	struct onnx_value *outputs; /* come unknown */
	size_t output_count;
	double flops; /* set by rules that run other nodes */
};

/*
 * What is known of an operator. `shape` sets what it can of the outputs; `fold` computes their elements when all inputs have theirs and the
 * first output is small; `flops` counts multiply-adds of matrix products, twice, when all is shaped. Each returns 0, or -ENOMEM, or
 * what onnx_clash returns. fold and flops may be NULL.
 */
struct onnx_op {
	const char *kind;
	int (*shape)(struct onnx_call *call, struct strata_error *err);
	int (*fold)(struct onnx_call *call, struct strata_error *err);
	double (*flops)(const struct onnx_call *call);
};

/* Operators of a family, sorted by kind, and the domain they are of. */
struct onnx_family {
	const char *name, *domain;
	const struct onnx_op *ops;
	size_t op_count;
};
const struct onnx_family *onnx_family_at(size_t index); /* NULL past the end */
const struct onnx_op *onnx_op_find(const char *domain, const char *kind);

/* ---- onnx_call.c: what rules are made of ---- */

/* The inputs contradict each other, or the operator: -EINVAL. The node is flagged and the walk goes on. */
int onnx_clash(struct onnx_call *call, struct strata_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

const struct onnx_value *onnx_input(const struct onnx_call *call, size_t index); /* or NULL */
struct onnx_value *onnx_output(struct onnx_call *call, size_t index); /* a spare one past the end */

/* The attribute, of the caller of a function where the function says so; NULL when there is none of that type. */
const struct onnx_attribute *onnx_call_attribute(const struct onnx_call *call, const char *name,
						 int type);
int64_t onnx_call_int(const struct onnx_call *call, const char *name, int64_t missing);
const char *onnx_call_text(const struct onnx_call *call, const char *name, const char *missing);
/* The integers of an attribute or, when it is not there, of an input whose elements are known; NULL when neither is (count is then 0).
 * *ret_given: one of the two is there, known or not. */
const int64_t *onnx_call_ints(const struct onnx_call *call, const char *name, size_t input,
			      size_t *ret_count, bool *ret_given);

/* Element i of integers as a dimension: below 0 when it is one that is not known, or itself below 0. */
int64_t onnx_element_dim(const struct onnx_value *value, size_t i);

void onnx_set_scalar(struct onnx_value *value, int dtype);
void onnx_set_shape(struct onnx_value *value, int dtype, size_t rank, const int64_t *dims);
void onnx_set_rank(struct onnx_value *value, int dtype, size_t rank); /* dims not known */
void onnx_set_type(struct onnx_value *value, int dtype);              /* rank not known */
/* Type and shape of another, without its elements. */
void onnx_set_like(struct onnx_value *value, const struct onnx_value *other);

/* An axis below 0 counts from the end; false when there is no such axis. */
bool onnx_axis(int64_t axis, size_t rank, size_t *ret_axis);
/* What two dimensions are together when one of them may be 1; false when they contradict each other. */
bool onnx_broadcast_dim(int64_t a, int64_t b, int64_t *ret_dim);
/* What two that must be equal are; false when they are not. */
bool onnx_merge_dim(int64_t a, int64_t b, int64_t *ret_dim);
int onnx_broadcast(struct onnx_call *call, const struct onnx_value *a, const struct onnx_value *b,
		   struct onnx_value *ret_value, struct strata_error *err);
/* Keeps of a's what is the same in b, for values that may be either. */
void onnx_either(struct onnx_value *a, const struct onnx_value *b);
int64_t onnx_dim_product(const int64_t *dims, size_t count); /* -1 when one is not known */

/* Room for the elements of a value that is shaped; false with an error for lack of memory. */
int onnx_make_elements(struct onnx_call *call, struct onnx_value *value, struct strata_error *err);
/* Copies an element, an open one too, between values of like types. */
void onnx_copy_element(struct onnx_value *to, size_t i, const struct onnx_value *from, size_t k);
/* Elements unchanged in another shape: Reshape, Unsqueeze, Identity … */
int onnx_fold_same(struct onnx_call *call, struct strata_error *err);
/* Of an element of either type. */
double onnx_element_real(const struct onnx_value *value, size_t i);

/* Infers a graph that a node holds. inputs are bound to the graph's by position (missing ones unknown); ret_outputs has room for the
 * graph's outputs. *ret_flops: of one run. */
int onnx_infer_body(struct onnx_call *call, const struct onnx_graph *graph,
		    const struct onnx_value *inputs, size_t input_count,
		    struct onnx_value *ret_outputs, size_t output_count, double *ret_flops,
		    struct strata_error *err);
/* The attribute that holds a graph; NULL. */
const struct onnx_graph *onnx_call_graph(const struct onnx_call *call, const char *name);
/* A copy in the arena, for items of sequences; NULL for lack of memory. */
struct onnx_value *onnx_keep(struct onnx_call *call, const struct onnx_value *value);
struct strata_arena *onnx_arena(const struct onnx_call *call);
int64_t onnx_opset(const struct onnx_call *call);
/* What a type says, dimensions with names resolved. */
int onnx_value_of_type(struct onnx_infer *infer, const struct onnx_type *type,
		       struct onnx_value *ret_value, struct strata_error *err);

/* ---- a whole model ---- */

/* A dimension that the caller knows. */
struct onnx_dim {
	const char *name;
	int64_t value;
};

struct onnx_inferred_node {
	const struct onnx_node *node;
	const struct onnx_value **inputs; /* of the node, then what its graphs read from outside */
	struct onnx_value *outputs;
	size_t input_count; /* with those */
	double flops;
	bool known;  /* there is a rule for it */
	bool clash;  /* its inputs contradict it */
	bool folded; /* its outputs are constants: nothing is left to compute */
};

struct onnx_inferred {
	const struct onnx_model *model;
	struct onnx_value *initializers; /* of the graph, in its order */
	struct onnx_value *inputs; /* of the graph; those that are initializers too have `tensor` */
	struct onnx_inferred_node *nodes;
	const struct onnx_value **outputs;  /* of the graph */
	size_t output_total, output_shaped; /* of all nodes */
	size_t contradictions;              /* shapes that differ from what the file declares */
	char first_clash[200];              /* a sentence; "" when there is none */
	const char **dim_names;             /* that the model has and nobody gave */
	size_t dim_count;
};

enum { ONNX_BELIEVE_DECLARED = 1 }; /* shapes the file declares fill in what is not found */

/* Infers all of a model. -EINVAL: a dimension that the model does not have, a node that reads what nothing makes, a name that is made
 * twice. Lives in the arena. */
int onnx_infer(const struct onnx_model *model, const struct onnx_dim *dims, size_t dim_count,
	       unsigned flags, struct strata_arena *arena, struct onnx_inferred *ret_inferred,
	       struct strata_error *err);

#endif
