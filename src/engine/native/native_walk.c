/* Broadcasting: the common shape of several values, and a walk over it in long runs. */
#include "engine/native/native.h"

#include <string.h>

/* Dimension `axis` of a value that is stretched to `rank` dimensions. */
static int64_t dim_at(const struct engine_value *value, size_t rank, size_t axis)
{
	size_t before = rank - value->rank;

	return axis < before ? 1 : value->dims[axis - before];
}

int native_broadcast(const struct native_call *call, const struct engine_value *const *values,
		     size_t count, size_t *ret_rank, int64_t *ret_dims, struct strata_error *err)
{
	size_t rank = 0;

	for (size_t i = 0; i < count; i++)
		if (values[i]->rank > rank)
			rank = values[i]->rank;
	for (size_t axis = 0; axis < rank; axis++) {
		ret_dims[axis] = 1;
		for (size_t i = 0; i < count; i++) {
			int64_t dim = dim_at(values[i], rank, axis);

			if (dim == 1 || dim == ret_dims[axis])
				continue;
			if (ret_dims[axis] != 1)
				return native_refuse(
					call, err, "dimensions %lld and %lld do not fit together",
					(long long)ret_dims[axis], (long long)dim);
			ret_dims[axis] = dim;
		}
	}
	*ret_rank = rank;
	return 0;
}

/* Can dimension `axis` be joined to the one inside it: do all values step through both as through one? */
static bool joins(const struct native_walk *walk, const int64_t (*strides)[STRATA_TENSOR_RANK_MAX],
		  int64_t inner_dim, size_t axis)
{
	for (size_t i = 0; i < walk->count; i++)
		if (strides[i][axis] != walk->strides[i][0] * inner_dim)
			return false;
	return true;
}

void native_walk_init(struct native_walk *walk, size_t rank, const int64_t *dims,
		      const struct engine_value *const *values, size_t count)
{
	int64_t strides[NATIVE_WALK_MAX][STRATA_TENSOR_RANK_MAX];

	*walk = (struct native_walk){ .count = count, .run = 1, .runs = 1 };
	for (size_t i = 0; i < count; i++) {
		int64_t step = 1;

		for (size_t axis = rank; axis-- > 0;) {
			int64_t dim = dim_at(values[i], rank, axis);

			strides[i][axis] = dim == 1 && dims[axis] != 1 ? 0 : step;
			step *= dim;
		}
	}
	/* From the innermost dimension outwards; walk->dims is kept innermost first. */
	for (size_t axis = rank; axis-- > 0;) {
		if (dims[axis] == 1)
			continue;
		if (walk->rank > 0) {
			struct native_walk inner = *walk;

			for (size_t i = 0; i < count; i++)
				inner.strides[i][0] = walk->strides[i][walk->rank - 1];
			if (joins(&inner, (const int64_t(*)[STRATA_TENSOR_RANK_MAX])strides,
				  walk->dims[walk->rank - 1], axis)) {
				walk->dims[walk->rank - 1] *= dims[axis];
				continue;
			}
		}
		walk->dims[walk->rank] = dims[axis];
		for (size_t i = 0; i < count; i++)
			walk->strides[i][walk->rank] = strides[i][axis];
		walk->rank++;
	}
	if (walk->rank > 0)
		walk->run = walk->dims[0];
	for (size_t axis = 1; axis < walk->rank; axis++)
		walk->runs *= walk->dims[axis];
}

void native_walk_at(const struct native_walk *walk, int64_t run, int64_t *ret_offsets)
{
	memset(ret_offsets, 0, walk->count * sizeof(*ret_offsets));
	for (size_t axis = 1; axis < walk->rank; axis++) {
		int64_t at = run % walk->dims[axis];

		run /= walk->dims[axis];
		for (size_t i = 0; i < walk->count; i++)
			ret_offsets[i] += at * walk->strides[i][axis];
	}
}
