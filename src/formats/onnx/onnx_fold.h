/* Arithmetic on the elements of constants: what the table of onnx_ops_math.c names. Each is a `fold` of struct onnx_op. */
#ifndef FORMATS_ONNX_FOLD_H
#define FORMATS_ONNX_FOLD_H

#include "formats/onnx/onnx_infer.h"

int onnx_fold_add(struct onnx_call *call, struct strata_error *err);
int onnx_fold_and(struct onnx_call *call, struct strata_error *err);
int onnx_fold_cast(struct onnx_call *call, struct strata_error *err);
int onnx_fold_ceil(struct onnx_call *call, struct strata_error *err);
int onnx_fold_div(struct onnx_call *call, struct strata_error *err);
int onnx_fold_equal(struct onnx_call *call, struct strata_error *err);
int onnx_fold_floor(struct onnx_call *call, struct strata_error *err);
int onnx_fold_greater(struct onnx_call *call, struct strata_error *err);
int onnx_fold_greater_equal(struct onnx_call *call, struct strata_error *err);
int onnx_fold_less(struct onnx_call *call, struct strata_error *err);
int onnx_fold_less_equal(struct onnx_call *call, struct strata_error *err);
int onnx_fold_max(struct onnx_call *call, struct strata_error *err);
int onnx_fold_min(struct onnx_call *call, struct strata_error *err);
int onnx_fold_mod(struct onnx_call *call, struct strata_error *err);
int onnx_fold_mul(struct onnx_call *call, struct strata_error *err);
int onnx_fold_neg(struct onnx_call *call, struct strata_error *err);
int onnx_fold_not(struct onnx_call *call, struct strata_error *err);
int onnx_fold_or(struct onnx_call *call, struct strata_error *err);
int onnx_fold_round(struct onnx_call *call, struct strata_error *err);
int onnx_fold_sqrt(struct onnx_call *call, struct strata_error *err);
int onnx_fold_sub(struct onnx_call *call, struct strata_error *err);
int onnx_fold_where(struct onnx_call *call, struct strata_error *err);
int onnx_fold_xor(struct onnx_call *call, struct strata_error *err);

/* Before opset 7 the second operand was stretched to the first. */
bool onnx_one_sided(const struct onnx_call *call);

#endif
