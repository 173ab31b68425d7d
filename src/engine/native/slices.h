/* Parts of tensors along an axis as tensors of their own, and tensors joined along one: what loops, scans and sequences are made of. */
#ifndef ENGINE_NATIVE_SLICES_H
#define ENGINE_NATIVE_SLICES_H

#include "engine/value.h"

/* Elements first … first + count − 1 of an axis, copied. With `squeeze` (count is 1) the axis is left out. */
int slice_take(struct engine_heap *heap, const struct engine_value *value, size_t axis,
	       int64_t first, int64_t count, bool squeeze, struct engine_value *ret_value,
	       struct strata_error *err);

/* Values of one shape and type, each at its place of a new axis. count is at least 1. `backwards`: the first at the end. */
int slice_stack(struct engine_heap *heap, const struct engine_value *values, size_t count,
		size_t axis, bool backwards, struct engine_value *ret_value,
		struct strata_error *err);

#endif
