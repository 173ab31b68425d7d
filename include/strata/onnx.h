/*
 * ONNX models as graphs of the place level: operators with shapes, FLOPs and bytes, weights with their extents in files. A model is read
 * without its weights: the file is mapped and stepped over, so a model of many GB takes milliseconds.
 *
 * What can be computed when a model is read is not an op of the graph, as in any runtime that folds constants: Constant nodes, shapes that
 * are known, Identity of a weight (whose readers read the weight itself). Operators that are not known become ops that are marked unknown.
 */
#ifndef STRATA_ONNX_H
#define STRATA_ONNX_H

#include <strata/place.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The value of a dimension that the model has by name: batch=2. The name "*" stands for all that are not given. */
struct strata_onnx_dim {
	const char *name;
	int64_t value; /* 0 or more */
};

/* What was found, the nodes that are no ops of the graph included. */
struct strata_onnx_metrics {
	size_t node_count;   /* of the model's graph, functions in place of their calls */
	size_t known_count;  /* of them, with an operator that is known */
	size_t folded_count; /* of them, computed while reading */
	size_t clash_count;  /* of them, with inputs that cannot be right; they have no shape */
	size_t output_count; /* of all nodes */
	size_t shaped_count; /* of them, with a shape that is known in full */
	size_t contradiction_count; /* of them, with another shape than the file declares */
	double flops; /* 2 × multiply-adds of matrix products, convolutions, recurrent layers */
	int64_t initializer_bytes; /* weights as the file stores them */
	int64_t constant_bytes;    /* of Constant nodes */
	int64_t tied_bytes; /* of initializers that are copies of another, transposed or not */
	int64_t activation_bytes; /* of all outputs that are shaped, but for Constant nodes */
	int64_t opset;
	size_t dim_count; /* dimensions with a name that were not given */
	char dims[200];   /* their names, "batch, sequence"; cut when long */
	char clash[200];  /* the first clash, a sentence; "" */
};

/*
 * Reads a model that is in memory. path names it in the graph; files of external data are beside it and are not opened. -EINVAL with what is
 * wrong, -E2BIG past a limit. The graph is finished and belongs to the caller (strata_graph_free). ret_figures may be NULL.
 */
int strata_onnx_read(const void *bytes, size_t length, const char *path,
		     const struct strata_onnx_dim *dims, size_t dim_count,
		     struct strata_memory *memory, struct strata_graph **ret_graph,
		     struct strata_onnx_metrics *ret_metrics, struct strata_error *err);

/* The same of a file, which is mapped meanwhile and must not shrink; files of external data must be there and large enough. -ENOENT and its like name the file. */
int strata_onnx_open(const char *path, const struct strata_onnx_dim *dims, size_t dim_count,
		     struct strata_memory *memory, struct strata_graph **ret_graph,
		     struct strata_onnx_metrics *ret_metrics, struct strata_error *err);

/* An operator that is known. */
struct strata_onnx_op {
	const char *domain; /* "" for ONNX's own */
	const char *kind;   /* "MatMul" */
	const char *family; /* "matrix products" */
	bool folds;         /* its results are computed when its inputs are small constants */
	bool counts;        /* its FLOPs are counted: in all others they are 0 */
};
/* The operator at an index, by family; false past the end. */
bool strata_onnx_op_at(size_t index, struct strata_onnx_op *ret_op);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
