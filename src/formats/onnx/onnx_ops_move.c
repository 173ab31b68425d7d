/*
 * Operators that move elements without changing them: shapes are read from attributes in old files and from inputs in newer ones, and
 * most of the constants that shapes are computed with go through these.
 */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

/* ---- Reshape and its relatives ---- */

/* The dimension given as -1 is what is left; with dimensions not known it is known only when they cancel out. */
static int64_t left_over(const struct onnx_value *from, const struct onnx_value *to, size_t hole)
{
	int64_t product = 1, rest = 1;
	bool used[STRATA_TENSOR_RANK_MAX] = { false };

	for (size_t i = 0; i < to->rank; i++) {
		size_t k = 0;

		if (i == hole)
			continue;
		if (to->dims[i] >= 0) {
			if (__builtin_mul_overflow(rest, to->dims[i], &rest))
				return -1;
			continue;
		}
		while (k < from->rank &&
		       (used[k] || from->dims[k] != to->dims[i] || to->dims[i] == -1))
			k++;
		if (k == from->rank)
			return -1;
		used[k] = true;
	}
	for (size_t k = 0; k < from->rank; k++)
		if (!used[k] &&
		    (from->dims[k] < 0 || __builtin_mul_overflow(product, from->dims[k], &product)))
			return -1;
	return rest > 0 && product % rest == 0 ? product / rest : -1;
}

/* A single dimension not known can be what is left, as if it had been given as -1. */
static void fill_single(const struct onnx_value *from, struct onnx_value *to)
{
	size_t holes = 0, hole = 0;

	for (size_t i = 0; i < to->rank; i++)
		if (to->dims[i] == -1) {
			holes++;
			hole = i;
		}
	if (holes == 1 && from->ranked)
		to->dims[hole] = left_over(from, to, hole);
}

static int reshape_to(struct onnx_call *call, const int64_t *shape, const bool *open, size_t rank,
		      struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	bool zeros = onnx_call_int(call, "allowzero", 0) != 0;
	size_t holes = 0;

	onnx_set_rank(to, from->dtype, rank);
	if (!to->ranked)
		return onnx_clash(call, err, "the new shape has %zu dimensions", rank);
	for (size_t i = 0; i < rank; i++) {
		bool known = !open || !open[i];

		to->dims[i] = shape[i];
		if (known && shape[i] < -1)
			return onnx_clash(call, err, "a dimension is %lld", (long long)shape[i]);
		if (known && shape[i] == -1 && holes++)
			return onnx_clash(call, err, "two dimensions are -1");
		if (known && shape[i] == 0 && !zeros)
			to->dims[i] = !from->ranked ? -1 : i < from->rank ? from->dims[i] : -1;
	}
	fill_single(from, to);
	int64_t before = onnx_elements(from), after = onnx_elements(to);

	if (before >= 0 && after >= 0 && before != after)
		return onnx_clash(call, err, "%lld elements do not become %lld", (long long)before,
				  (long long)after);
	return 0;
}

static int shape_reshape(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *shape = onnx_input(call, 1);
	const struct onnx_attribute *attribute = onnx_call_attribute(call, "shape", ONNX_ATTR_INTS);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	if (attribute)
		return reshape_to(call, attribute->integers, NULL, attribute->count, err);
	if (shape && shape->integers)
		return reshape_to(call, shape->integers, shape->open, (size_t)onnx_elements(shape),
				  err);
	onnx_set_type(onnx_output(call, 0), from->dtype);
	if (shape && shape->ranked && shape->rank == 1 && shape->dims[0] >= 0 &&
	    shape->dims[0] <= STRATA_TENSOR_RANK_MAX)
		onnx_set_rank(onnx_output(call, 0), from->dtype, (size_t)shape->dims[0]);
	return 0;
}

static int shape_flatten(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	int64_t axis = onnx_call_int(call, "axis", 1);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_rank(onnx_output(call, 0), from->dtype, 2);
	if (!from->ranked)
		return 0;
	if (axis < 0)
		axis += (int64_t)from->rank;
	if (axis < 0 || axis > (int64_t)from->rank)
		return onnx_clash(call, err, "there is no axis %lld", (long long)axis);
	size_t at = (size_t)axis;
	int64_t *dims = onnx_output(call, 0)->dims;

	/* a lone dimension keeps its name */
	dims[0] = at == 1 ? from->dims[0] : onnx_dim_product(from->dims, at);
	dims[1] = from->rank - at == 1 ? from->dims[at]
				       : onnx_dim_product(from->dims + at, from->rank - at);
	return 0;
}

static int mark_axes(struct onnx_call *call, const int64_t *axes, size_t count, size_t rank,
		     bool *marks, struct strata_error *err)
{
	size_t axis;

	for (size_t i = 0; i < count; i++) {
		if (!onnx_axis(axes[i], rank, &axis))
			return onnx_clash(call, err, "there is no axis %lld", (long long)axes[i]);
		if (marks[axis])
			return onnx_clash(call, err, "axis %lld is there twice",
					  (long long)axes[i]);
		marks[axis] = true;
	}
	return 0;
}

static int shape_squeeze(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	bool marks[STRATA_TENSOR_RANK_MAX] = { false }, given;
	size_t count, rank = 0;
	const int64_t *axes = onnx_call_ints(call, "axes", 1, &count, &given);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked || (given && !axes))
		return 0;
	int rc = mark_axes(call, axes, count, from->rank, marks, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < from->rank; i++) {
		if (!given && from->dims[i] < 0)
			return 0; /* it may be 1 or not: not even the rank is known */
		if (marks[i] && from->dims[i] > 1)
			return onnx_clash(call, err, "axis %zu has %lld elements", i,
					  (long long)from->dims[i]);
	}
	onnx_set_rank(to, from->dtype, from->rank);
	for (size_t i = 0; i < from->rank; i++)
		if (given ? !marks[i] : from->dims[i] != 1)
			to->dims[rank++] = from->dims[i];
	to->rank = rank;
	return 0;
}

static int shape_unsqueeze(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	bool marks[STRATA_TENSOR_RANK_MAX] = { false }, given;
	size_t count, k = 0;
	const int64_t *axes = onnx_call_ints(call, "axes", 1, &count, &given);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked || !axes)
		return 0;
	if (from->rank + count > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "%zu dimensions are too many", from->rank + count);
	int rc = mark_axes(call, axes, count, from->rank + count, marks, err);

	if (rc)
		return rc;
	onnx_set_rank(to, from->dtype, from->rank + count);
	for (size_t i = 0; i < to->rank; i++)
		to->dims[i] = marks[i] ? 1 : from->dims[k++];
	return 0;
}

static int shape_identity(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_like(to, from);
	if (from && (from->tensor || from->same_as))
		to->same_as = from->same_as ? from->same_as : from;
	return 0;
}

/* ---- Shape, Size ---- */

static int shape_shape(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	onnx_set_rank(to, ONNX_INT64, 1);
	if (!from || !from->ranked)
		return 0;
	int64_t rank = (int64_t)from->rank, start = onnx_call_int(call, "start", 0);
	int64_t end = onnx_call_int(call, "end", rank);

	start = start < 0 ? start + rank : start;
	end = end < 0 ? end + rank : end;
	start = start < 0 ? 0 : start > rank ? rank : start;
	end = end < start ? start : end > rank ? rank : end;
	to->dims[0] = end - start;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = start; rc == 0 && i < end; i++) {
		to->integers[i - start] = from->dims[i];
		to->open[i - start] = from->dims[i] < 0;
	}
	return rc;
}

static int shape_size(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	int64_t elements = from ? onnx_elements(from) : -1;

	onnx_set_scalar(to, ONNX_INT64);
	int rc = elements >= 0 ? onnx_make_elements(call, to, err) : 0;

	if (rc == 0 && to->integers)
		to->integers[0] = elements;
	return rc;
}

/* ---- Transpose ---- */

static int shape_transpose(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *perm = onnx_call_attribute(call, "perm", ONNX_ATTR_INTS);
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	bool marks[STRATA_TENSOR_RANK_MAX] = { false };

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked)
		return 0;
	if (perm && perm->count != from->rank)
		return onnx_clash(call, err, "%zu axes for %zu dimensions", perm->count,
				  from->rank);
	int rc = perm ? mark_axes(call, perm->integers, perm->count, from->rank, marks, err) : 0;

	if (rc)
		return rc;
	onnx_set_rank(to, from->dtype, from->rank);
	for (size_t i = 0; i < from->rank; i++) {
		size_t axis = from->rank - 1 - i;

		if (perm)
			onnx_axis(perm->integers[i], from->rank, &axis);
		to->dims[i] = from->dims[axis];
	}
	return 0;
}

static int shape_like_first(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), onnx_input(call, 0));
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "Flatten", shape_flatten, onnx_fold_same },
	{ "Identity", shape_identity, onnx_fold_same },
	{ "Reshape", shape_reshape, onnx_fold_same },
	{ "ReverseSequence", shape_like_first },
	{ "Shape", shape_shape },
	{ "Size", shape_size },
	{ "Squeeze", shape_squeeze, onnx_fold_same },
	{ "Transpose", shape_transpose },
	{ "Unsqueeze", shape_unsqueeze, onnx_fold_same },
};
/* clang-format on */

const struct onnx_family onnx_family_move = { "moving elements", "", ops,
					      sizeof(ops) / sizeof(ops[0]) };
