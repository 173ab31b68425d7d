/* Other shapes of the same elements, which cost nothing, and shapes as numbers. */
#include "engine/native/native.h"

#include <string.h>

static int run_flatten(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t dims[2] = { 1, 1 }, axis = native_int(call, "axis", 1);
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (axis < -(int64_t)x->rank || axis > (int64_t)x->rank)
		return native_refuse(call, err, "axis is %lld; the input has %u dimensions",
				     (long long)axis, x->rank);
	if (axis < 0)
		axis += x->rank;
	for (size_t i = 0; i < x->rank; i++)
		dims[(int64_t)i >= axis] *= x->dims[i];
	native_share(call, 0, x, 2, dims);
	return 0;
}

static int run_reshape(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t dims[STRATA_TENSOR_RANK_MAX], known = 1, open = -1;
	bool given, zeros = native_int(call, "allowzero", 0);
	size_t rank;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_ints_either(call, "shape", 1, dims, STRATA_TENSOR_RANK_MAX, &rank,
					&given, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x);

	for (size_t i = 0; i < rank; i++) {
		if (dims[i] == 0 && !zeros)
			dims[i] = i < x->rank ? x->dims[i] : 0;
		if (dims[i] == -1 && open < 0)
			open = (int64_t)i;
		else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known))
			return native_refuse(call, err, "the shape has the dimension %lld",
					     (long long)dims[i]);
	}
	if (open >= 0)
		dims[open] = known ? count / known : 0;
	if ((open >= 0 ? dims[open] * known : known) != count)
		return native_refuse(call, err, "%lld elements do not fit into the shape",
				     (long long)count);
	native_share(call, 0, x, rank, dims);
	return 0;
}

/* Which axes: as numbers from the front of a tensor with `rank` dimensions. */
static int read_axes(struct native_call *call, size_t rank, bool *ret_axes, bool *ret_given,
		     struct strata_error *err)
{
	int64_t list[STRATA_TENSOR_RANK_MAX];
	size_t count, axis;
	int rc = native_ints_either(call, "axes", 1, list, STRATA_TENSOR_RANK_MAX, &count,
				    ret_given, err);

	memset(ret_axes, 0, STRATA_TENSOR_RANK_MAX * sizeof(*ret_axes));
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = native_axis(call, list[i], rank, &axis, err);
		if (rc == 0 && ret_axes[axis])
			rc = native_refuse(call, err, "axes has %zu twice", axis);
		if (rc == 0)
			ret_axes[axis] = true;
	}
	return rc;
}

static int run_squeeze(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	bool axes[STRATA_TENSOR_RANK_MAX], given;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	size_t rank = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_axes(call, x->rank, axes, &given, err);
	for (size_t i = 0; rc == 0 && i < x->rank; i++) {
		bool goes = given ? axes[i] : x->dims[i] == 1;

		if (goes && x->dims[i] != 1)
			rc = native_refuse(call, err, "dimension %zu is %lld; expected 1", i,
					   (long long)x->dims[i]);
		else if (!goes)
			dims[rank++] = x->dims[i];
	}
	if (rc == 0)
		native_share(call, 0, x, rank, dims);
	return rc;
}

static int run_unsqueeze(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	bool axes[STRATA_TENSOR_RANK_MAX], given;
	int64_t dims[STRATA_TENSOR_RANK_MAX], list[STRATA_TENSOR_RANK_MAX];
	size_t more, from = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_ints_either(call, "axes", 1, list, STRATA_TENSOR_RANK_MAX, &more,
					&given, err);
	if (rc == 0 && x->rank + more > STRATA_TENSOR_RANK_MAX)
		rc = native_refuse(call, err, "the result would have %zu dimensions",
				   x->rank + more);
	if (rc == 0)
		rc = read_axes(call, x->rank + more, axes, &given, err);
	for (size_t i = 0; rc == 0 && i < x->rank + more; i++)
		dims[i] = axes[i] ? 1 : x->dims[from++];
	if (rc == 0)
		native_share(call, 0, x, x->rank + more, dims);
	return rc;
}

/* Bounds of Shape's slice: below 0 counts from the end, beyond is cut. */
static int64_t bound(int64_t at, int64_t rank)
{
	if (at < 0)
		at += rank;
	return at < 0 ? 0 : at > rank ? rank : at;
}

static int run_shape(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	int64_t first = bound(native_int(call, "start", 0), x->rank);
	int64_t past = bound(native_int(call, "end", x->rank), x->rank);
	int64_t count = past > first ? past - first : 0;

	rc = native_make(call, 0, ONNX_INT64, 1, &count, err);
	if (rc == 0 && count)
		memcpy(call->outputs[0].data, x->dims + first, (size_t)count * sizeof(int64_t));
	return rc;
}

static int run_size(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_make(call, 0, ONNX_INT64, 0, NULL, err);
	if (rc == 0)
		*(int64_t *)call->outputs[0].data = engine_value_elements(x);
	return rc;
}

static const struct native_op ops[] = {
	{ "Flatten", run_flatten },     { "Reshape", run_reshape },
	{ "Shape", run_shape },         { "Size", run_size },
	{ "Squeeze", run_squeeze },     { "Unsqueeze", run_unsqueeze },
};

const struct native_family native_family_view = { "shapes", "", ops, sizeof(ops) / sizeof(ops[0]) };
