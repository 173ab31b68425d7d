/* MatMul with something done to its sums while they are at hand. */
#ifndef ENGINE_NATIVE_PRODUCT_H
#define ENGINE_NATIVE_PRODUCT_H

#include "engine/native/gemm.h"
#include "engine/native/native.h"

/* MatMul of the call's first two inputs; of float32 with a finish, which may be NULL. Packed weights are kept in the call's state. */
int native_matmul(struct native_call *call, const struct gemm_finish *finish,
		  struct strata_error *err);

#endif
