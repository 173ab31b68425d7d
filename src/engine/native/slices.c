/* Slices: see slices.h. */
#include "engine/native/slices.h"

#include <errno.h>
#include <string.h>

/* Texts that are copied must be the copy's own. */
static int finish(struct engine_heap *heap, struct engine_value *made,
		  struct engine_value *ret_value, struct strata_error *err)
{
	int rc = engine_value_own_texts(heap, made, err);

	if (rc)
		engine_value_drop(made);
	else
		*ret_value = *made;
	return rc;
}

int slice_take(struct engine_heap *heap, const struct engine_value *value, size_t axis,
	       int64_t first, int64_t count, bool squeeze, struct engine_value *ret_value,
	       struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer = 1, inner = 1;
	struct engine_value made = { 0 };
	size_t rank = 0;

	for (size_t i = 0; i < value->rank; i++) {
		if (i != axis)
			*(i < axis ? &outer : &inner) *= value->dims[i];
		if (i != axis || !squeeze)
			dims[rank++] = i == axis ? count : value->dims[i];
	}
	int rc = engine_value_make(heap, value->dtype, rank, dims, &made, err);

	if (rc)
		return rc;
	size_t row = (size_t)inner * engine_dtype_bytes(value->dtype), part = (size_t)count * row;

	for (int64_t o = 0; part && o < outer; o++)
		memcpy((char *)made.data + (size_t)o * part,
		       (const char *)value->data + (size_t)(o * value->dims[axis] + first) * row,
		       part);
	return finish(heap, &made, ret_value, err);
}

static bool alike(const struct engine_value *a, const struct engine_value *b)
{
	return a->kind == ONNX_TENSOR && b->kind == ONNX_TENSOR && a->dtype == b->dtype &&
	       a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof(a->dims[0])) == 0;
}

int slice_stack(struct engine_heap *heap, const struct engine_value *values, size_t count,
		size_t axis, bool backwards, struct engine_value *ret_value,
		struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer = 1, inner = 1;
	struct engine_value made = { 0 };
	size_t rank = values[0].rank + 1;

	for (size_t i = 0; i < count; i++)
		if (!alike(&values[0], &values[i]))
			return strata_fail(err, -EINVAL,
					   "results of unlike shapes cannot be joined");
	if (rank > STRATA_TENSOR_RANK_MAX || axis >= rank)
		return strata_fail(err, -EINVAL, "there is no dimension %zu to join along", axis);
	for (size_t i = 0; i < rank; i++) {
		dims[i] = i == axis ? (int64_t)count : values[0].dims[i > axis ? i - 1 : i];
		if (i != axis)
			*(i < axis ? &outer : &inner) *= dims[i];
	}
	int rc = engine_value_make(heap, values[0].dtype, rank, dims, &made, err);

	if (rc)
		return rc;
	size_t row = (size_t)inner * engine_dtype_bytes(made.dtype);

	for (int64_t o = 0; row && o < outer; o++)
		for (size_t i = 0; i < count; i++)
			memcpy((char *)made.data + ((size_t)o * count + i) * row,
			       (const char *)values[backwards ? count - 1 - i : i].data +
				       (size_t)o * row,
			       row);
	return finish(heap, &made, ret_value, err);
}
