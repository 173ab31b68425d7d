/*
 * What the activations of a call will take at the most, known before it runs: the shapes that the inputs lead to, the lifetimes within each subgraph (the
 * backend's plan), and what goes from one subgraph to another.
 */
#ifndef ENGINE_ACTIVATIONS_H
#define ENGINE_ACTIVATIONS_H

#include "engine/instance.h"

#include "formats/onnx/onnx_infer.h"

/* Of an instance that is prepared; dims: by names of dimensions. *ret_bytes is -1 when a shape or the backend's plan is not known. -ENOMEM. */
int engine_activations_plan(const struct engine_instance *instance, const struct onnx_dim *dims,
			    size_t dim_count, int64_t *ret_bytes, struct strata_error *err);

#endif
