/* The operators we know, by family. A family's table is sorted, so a kind is found by halving. */
#include "formats/onnx/onnx_infer.h"

#include <strata/onnx.h>

#include <stdlib.h>
#include <string.h>

extern const struct onnx_family onnx_family_control;
extern const struct onnx_family onnx_family_conv;
extern const struct onnx_family onnx_family_fused;
extern const struct onnx_family onnx_family_image;
extern const struct onnx_family onnx_family_index;
extern const struct onnx_family onnx_family_join;
extern const struct onnx_family onnx_family_make;
extern const struct onnx_family onnx_family_math;
extern const struct onnx_family onnx_family_matrix;
extern const struct onnx_family onnx_family_move;
extern const struct onnx_family onnx_family_norm;
extern const struct onnx_family onnx_family_reduce;
extern const struct onnx_family onnx_family_runtime;
extern const struct onnx_family onnx_family_sequence;
extern const struct onnx_family onnx_family_training;

/* clang-format off */
static const struct onnx_family *const families[] = {
	&onnx_family_math, /* the most frequent first */
	&onnx_family_move,
	&onnx_family_join,
	&onnx_family_make,
	&onnx_family_matrix,
	&onnx_family_index,
	&onnx_family_reduce,
	&onnx_family_norm,
	&onnx_family_conv,
	&onnx_family_image,
	&onnx_family_fused,
	&onnx_family_control,
	&onnx_family_sequence,
	&onnx_family_runtime,
	&onnx_family_training,
};
/* clang-format on */

const struct onnx_family *onnx_family_at(size_t index)
{
	return index < sizeof(families) / sizeof(families[0]) ? families[index] : NULL;
}

static int by_kind(const void *kind, const void *op)
{
	return strcmp(kind, ((const struct onnx_op *)op)->kind);
}

const struct onnx_op *onnx_op_find(const char *domain, const char *kind)
{
	const struct onnx_family *family;
	const struct onnx_op *op = NULL;

	for (size_t i = 0; !op && (family = onnx_family_at(i)); i++)
		if (strcmp(family->domain, domain) == 0)
			op = bsearch(kind, family->ops, family->op_count, sizeof(*op), by_kind);
	return op;
}

bool strata_onnx_op_at(size_t index, struct strata_onnx_op *ret_op)
{
	const struct onnx_family *family;

	for (size_t i = 0; (family = onnx_family_at(i)); i++) {
		if (index < family->op_count) {
			const struct onnx_op *op = &family->ops[index];

			*ret_op = (struct strata_onnx_op){ family->domain, op->kind, family->name,
							   op->fold, op->flops };
			return true;
		}
		index -= family->op_count;
	}
	return false;
}
