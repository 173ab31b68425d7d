/* Reductions: axes from an attribute or, in newer files, an input; each axis goes or stays with one element. */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

static int reduce_axes(struct onnx_call *call, const struct onnx_value *from, const int64_t *axes,
		       size_t count, bool keep, int dtype, struct strata_error *err)
{
	struct onnx_value *to = onnx_output(call, 0);
	bool marks[STRATA_TENSOR_RANK_MAX] = { false };
	size_t axis, rank = 0;

	for (size_t i = 0; i < count; i++) {
		if (!onnx_axis(axes[i], from->rank, &axis))
			return onnx_clash(call, err, "there is no axis %lld", (long long)axes[i]);
		marks[axis] = true;
	}
	onnx_set_rank(to, dtype, from->rank);
	for (size_t i = 0; i < from->rank; i++)
		if (count == 0 || marks[i]) {
			if (keep)
				to->dims[rank++] = 1;
		} else {
			to->dims[rank++] = from->dims[i];
		}
	to->rank = rank;
	return 0;
}

static int shape_reduce(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *given_axes = onnx_input(call, 1);
	bool keep = onnx_call_int(call, "keepdims", 1) != 0, given;
	size_t count;
	const int64_t *axes = onnx_call_ints(call, "axes", 1, &count, &given);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(onnx_output(call, 0), from->dtype);
	if (!from->ranked)
		return 0;
	bool nothing = given_axes && onnx_elements(given_axes) == 0;

	if ((given && count == 0 && axes) || nothing || !given) {
		if (onnx_call_int(call, "noop_with_empty_axes", 0)) {
			onnx_set_like(onnx_output(call, 0), from);
			return 0;
		}
		return reduce_axes(call, from, NULL, 0, keep, from->dtype, err);
	}
	if (axes)
		return reduce_axes(call, from, axes, count, keep, from->dtype, err);
	/* which axes is not known: kept ones leave the rank, and a vector has but one */
	if (from->rank == 1 && keep)
		return reduce_axes(call, from, NULL, 0, keep, from->dtype, err);
	if (keep)
		onnx_set_rank(onnx_output(call, 0), from->dtype, from->rank);
	return 0;
}

static int shape_arg(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	int64_t axis = onnx_call_int(call, "axis", 0);

	onnx_set_type(onnx_output(call, 0), ONNX_INT64);
	if (!from || !from->ranked)
		return 0;
	return reduce_axes(call, from, &axis, 1, onnx_call_int(call, "keepdims", 1) != 0,
			   ONNX_INT64, err);
}

/* Over all elements of what shapes are made of. kind: 'p'roduct, 's'um, 'm'inimum, 'M'aximum */
static int fold_reduce(struct onnx_call *call, char kind, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(from), result = kind == 'p';

	if (onnx_elements(to) != 1 || !from->integers || from->open || to->dtype != from->dtype ||
	    count == 0)
		return 0;
	if (kind == 'm' || kind == 'M')
		result = from->integers[0];
	for (int64_t i = 0; i < count; i++) {
		int64_t next = from->integers[i];
		bool over = false;

		if (kind == 'p')
			over = __builtin_mul_overflow(result, next, &result);
		else if (kind == 's')
			over = __builtin_add_overflow(result, next, &result);
		else if (kind == 'm' ? next < result : next > result)
			result = next;
		if (over)
			return 0;
	}
	int rc = onnx_make_elements(call, to, err);

	if (rc == 0)
		to->integers[0] = result;
	return rc;
}

static int fold_prod(struct onnx_call *call, struct strata_error *err)
{
	return fold_reduce(call, 'p', err);
}

static int fold_sum(struct onnx_call *call, struct strata_error *err)
{
	return fold_reduce(call, 's', err);
}

static int fold_min(struct onnx_call *call, struct strata_error *err)
{
	return fold_reduce(call, 'm', err);
}

static int fold_max(struct onnx_call *call, struct strata_error *err)
{
	return fold_reduce(call, 'M', err);
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "ArgMax", shape_arg },
	{ "ArgMin", shape_arg },
	{ "ReduceL1", shape_reduce },
	{ "ReduceL2", shape_reduce },
	{ "ReduceLogSum", shape_reduce },
	{ "ReduceLogSumExp", shape_reduce },
	{ "ReduceMax", shape_reduce, fold_max },
	{ "ReduceMean", shape_reduce },
	{ "ReduceMin", shape_reduce, fold_min },
	{ "ReduceProd", shape_reduce, fold_prod },
	{ "ReduceSum", shape_reduce, fold_sum },
	{ "ReduceSumSquare", shape_reduce },
};
/* clang-format on */

const struct onnx_family onnx_family_reduce = { "reductions", "", ops,
						sizeof(ops) / sizeof(ops[0]) };
