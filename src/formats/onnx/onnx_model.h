/*
 * An ONNX model in memory: what the file says, checked, with names as texts and lists as arrays. Everything lives in the arena of the
 * reader but for the contents of tensors, which stay where they are: a tensor knows where its numbers stand in the file, or in which other
 * file, and they are read only when somebody asks for them.
 */
#ifndef FORMATS_ONNX_MODEL_H
#define FORMATS_ONNX_MODEL_H

#include "formats/onnx/onnx_wire.h"

#include <strata/limits.h>
#include <strata/memory.h>

/* Types of elements, by the numbers of the format. */
enum onnx_dtype {
	ONNX_NONE = 0,
	ONNX_FLOAT = 1,
	ONNX_UINT8 = 2,
	ONNX_INT8 = 3,
	ONNX_UINT16 = 4,
	ONNX_INT16 = 5,
	ONNX_INT32 = 6,
	ONNX_INT64 = 7,
	ONNX_STRING = 8,
	ONNX_BOOL = 9,
	ONNX_FLOAT16 = 10,
	ONNX_DOUBLE = 11,
	ONNX_UINT32 = 12,
	ONNX_UINT64 = 13,
	ONNX_COMPLEX64 = 14,
	ONNX_COMPLEX128 = 15,
	ONNX_BFLOAT16 = 16,
	ONNX_FLOAT8E4M3FN = 17,
	ONNX_FLOAT8E4M3FNUZ = 18,
	ONNX_FLOAT8E5M2 = 19,
	ONNX_FLOAT8E5M2FNUZ = 20,
	ONNX_UINT4 = 21,
	ONNX_INT4 = 22,
	ONNX_FLOAT4E2M1 = 23,
	ONNX_DTYPE_COUNT,
};
/* Bits of one element: 4 to 128; 0 for texts and what is not known. */
unsigned onnx_dtype_bits(int dtype);
bool onnx_dtype_real(int dtype); /* a floating-point number */

/* A tensor with its contents: an initializer, or the value of an attribute. */
struct onnx_tensor {
	const char *name;
	int dtype;
	size_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	int64_t elements;          /* their product */
	int64_t bytes;             /* what they take; of texts, the sum of their lengths */
	struct onnx_bytes message; /* where the numbers are, one field each */
	struct onnx_bytes raw;     /* or as they are in memory; NULL: they are not */
	const char *location;      /* of another file that they are in; NULL: this one */
	int64_t offset_bytes;      /* in that file */
	int64_t length_bytes;      /* -1: up to its end */
	bool sparse; /* only elements that are not 0 are stored: contents are not looked at */
};

/* What a value is. */
enum onnx_kind { ONNX_UNKNOWN, ONNX_TENSOR, ONNX_SEQUENCE, ONNX_OPTIONAL, ONNX_OTHER };

struct onnx_type {
	enum onnx_kind kind;
	int dtype;   /* TENSOR */
	bool ranked; /* rank and dims are known */
	size_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];      /* -1: not known, or by name */
	const char *names[STRATA_TENSOR_RANK_MAX]; /* of such a dimension; NULL: none */
	const struct onnx_type *item;              /* SEQUENCE, OPTIONAL; may be NULL */
};

struct onnx_value_info {
	const char *name;
	struct onnx_type type;
};

struct onnx_graph;

enum onnx_attribute_type {
	ONNX_ATTR_NONE = 0,
	ONNX_ATTR_FLOAT = 1,
	ONNX_ATTR_INT = 2,
	ONNX_ATTR_STRING = 3,
	ONNX_ATTR_TENSOR = 4,
	ONNX_ATTR_GRAPH = 5,
	ONNX_ATTR_FLOATS = 6,
	ONNX_ATTR_INTS = 7,
	ONNX_ATTR_STRINGS = 8,
	ONNX_ATTR_SPARSE = 11,
	ONNX_ATTR_TYPE = 13,
};

struct onnx_attribute {
	const char *name;
	const char *refers_to; /* in a function: an attribute of its caller; NULL */
	int type;              /* enum onnx_attribute_type; others carry nothing we read */
	int64_t integer;
	double real;
	const char *text;
	const int64_t *integers;
	const double *reals;
	const char *const *texts; /* of STRINGS; "" for one that is no text */
	size_t count;                     /* of integers, reals or texts, by type */
	const struct onnx_tensor *tensor; /* a sparse one too */
	const struct onnx_graph *graph;
	const struct onnx_type *value_type;
};

struct onnx_node {
	const char *name, *kind, *domain; /* domain "" for ONNX's own */
	const char **inputs, **outputs;   /* "": left out */
	size_t input_count, output_count;
	const struct onnx_attribute *attributes;
	size_t attribute_count;
};

struct onnx_graph {
	const char *name;
	const struct onnx_node *nodes;
	const struct onnx_tensor *initializers;
	const struct onnx_value_info *inputs, *outputs, *values;
	size_t node_count, initializer_count, input_count, output_count, value_count;
};

struct onnx_function {
	const char *name, *domain;
	const char **inputs, **outputs;
	size_t input_count, output_count;
	const struct onnx_node *nodes;
	size_t node_count;
};

struct onnx_model {
	struct onnx_bytes file;
	int64_t opset; /* of ONNX's own operators; 0: none is named */
	const char *producer;
	struct onnx_graph graph;
	const struct onnx_function *functions;
	size_t function_count;
	size_t node_count; /* subgraphs and functions included */
};

/* Reads a model whose bytes stay where they are as long as it is used. */
int onnx_model_read(const void *bytes, size_t length, struct strata_arena *arena,
		    struct onnx_model *ret_model, struct strata_error *err);

/* The attribute of that name, or NULL. */
const struct onnx_attribute *onnx_attribute_find(const struct onnx_node *node, const char *name);

/* ---- parts of the reader ---- */

struct onnx_reader {
	struct strata_arena *arena;
	size_t node_count; /* read so far */
	unsigned depth;    /* graphs and types that we are in */
};

int onnx_read_text(struct onnx_reader *reader, const struct onnx_field *field,
		   const char **ret_text, struct strata_error *err);
int onnx_read_tensor(struct onnx_reader *reader, const struct onnx_field *field,
		     struct onnx_tensor *ret_tensor, struct strata_error *err);
int onnx_read_sparse(struct onnx_reader *reader, const struct onnx_field *field,
		     struct onnx_tensor *ret_tensor, struct strata_error *err);
int onnx_read_type(struct onnx_reader *reader, const struct onnx_field *field,
		   struct onnx_type *ret_type, struct strata_error *err);
int onnx_read_attribute(struct onnx_reader *reader, const struct onnx_field *field,
			struct onnx_attribute *ret_attribute, struct strata_error *err);
int onnx_read_node(struct onnx_reader *reader, const struct onnx_field *field,
		   struct onnx_node *ret_node, struct strata_error *err);
int onnx_read_graph(struct onnx_reader *reader, const struct onnx_field *field,
		    struct onnx_graph *ret_graph, struct strata_error *err);

/* How often each field number below `room` occurs in a message, so that arrays are made once. */
int onnx_count_fields(struct onnx_bytes message, size_t *counts, size_t room,
		      struct strata_error *err);

/*
 * The numbers of a small tensor, as whole numbers or reals by its type: `room` is at least its elements. Refused: -ENOTSUP for texts,
 * complex numbers, sparse ones and those in other files; -EINVAL when there are fewer than its shape says.
 */
int onnx_tensor_integers(const struct onnx_tensor *tensor, int64_t *ret_values,
			 struct strata_error *err);
int onnx_tensor_reals(const struct onnx_tensor *tensor, double *ret_values,
		      struct strata_error *err);

#endif
