/* A product with weights and what is added to each of its columns: the sums get it while they are at hand. */
#include "engine/native/fuse.h"

#include "engine/native/product.h"

#include <string.h>

enum { PRODUCT, ADD, PART_COUNT };

/* Only weights of the file will do: their shapes are known, and packed once. */
static size_t match(const struct fuse *fuse, const struct onnx_node *node,
		    const struct onnx_node **ret_parts)
{
	if (strcmp(node->kind, "Add") != 0 || node->input_count != 2)
		return 0;
	for (size_t i = 0; i < 2; i++) {
		const struct onnx_node *product = fuse_maker(fuse, node->inputs[i], "MatMul");
		const struct onnx_tensor *bias = fuse_weight(fuse, node->inputs[1 - i]);
		const struct onnx_tensor *b =
			product && product->input_count == 2 ? fuse_weight(fuse, product->inputs[1])
							     : NULL;

		if (!bias || !b || b->rank != 2 || bias->rank != 1 || bias->dims[0] != b->dims[1] ||
		    strcmp(product->inputs[0], product->inputs[1]) == 0 ||
		    strcmp(product->inputs[0], node->inputs[1 - i]) == 0)
			continue;
		ret_parts[PRODUCT] = product;
		ret_parts[ADD] = node;
		return PART_COUNT;
	}
	return 0;
}

static int run(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *a = native_input(call, 0), *b = native_input(call, 1);
	const struct engine_value *bias = native_input(call, 2);

	if (!a || !b || !bias || a->kind != ONNX_TENSOR || b->kind != ONNX_TENSOR ||
	    bias->kind != ONNX_TENSOR || a->dtype != ONNX_FLOAT || b->dtype != ONNX_FLOAT ||
	    bias->dtype != ONNX_FLOAT || a->rank < 1 || b->rank != 2 || bias->rank != 1 ||
	    bias->dims[0] != b->dims[1])
		return native_fused_apart(call, err);
	const struct gemm_finish finish = { .scale = 1, .bias = bias->data };

	return native_matmul(call, &finish, err);
}

const struct native_fusion native_fusion_matmul_add = { "MatMulAdd", match, { "MatMulAdd", run } };
