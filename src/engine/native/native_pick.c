/*
 * Elements at places that another tensor names: gathering, scattering, choosing by a condition. Indices are checked and counted from the front before
 * anything is moved, so the loops that move have nothing to ask.
 */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <string.h>

/* ---- indices ---- */

/* Input `index` as int64, a copy of its own. */
static int own_indices(struct native_call *call, size_t index, struct engine_value *ret_indices,
		       struct strata_error *err)
{
	const struct engine_value *value;
	int rc = native_tensor(call, index, &value, err);

	if (rc)
		return rc;
	if (value->dtype != ONNX_INT64 && value->dtype != ONNX_INT32)
		return native_refuse(call, err, "input %zu is %s; expected int64", index + 1,
				     engine_dtype_name(value->dtype));
	if (value->dtype == ONNX_INT32)
		return engine_value_cast(call->heap, value, ONNX_INT64, ret_indices, err);
	rc = engine_value_make(call->heap, ONNX_INT64, value->rank, value->dims, ret_indices, err);
	if (rc == 0)
		memcpy(ret_indices->data, value->data, engine_value_bytes(value));
	return rc;
}

/* From the front, or refused. */
static int settle(const struct native_call *call, int64_t *index, int64_t dim,
		  struct strata_error *err)
{
	if (*index < -dim || *index >= dim)
		return native_refuse(call, err, "index %lld is outside of 0 to %lld",
				     (long long)*index, (long long)dim - 1);
	*index += *index < 0 ? dim : 0;
	return 0;
}

static void plain_strides(const struct engine_value *x, int64_t *ret_strides)
{
	int64_t stride = 1;

	for (size_t i = x->rank; i-- > 0; stride *= x->dims[i])
		ret_strides[i] = stride;
}

/* ---- along an axis: GatherElements, ScatterElements ---- */

struct along {
	size_t axis;
	struct engine_value indices;
	int64_t strides[STRATA_TENSOR_RANK_MAX]; /* of the data */
	int64_t row, step,
		apart; /* of a row of indices: elements; data steps per index and per element */
};

static int along_new(struct native_call *call, const struct engine_value *x, struct along *along,
		     struct strata_error *err)
{
	int rc = own_indices(call, 1, &along->indices, err);

	if (rc == 0 && (along->indices.rank != x->rank || x->rank == 0))
		rc = native_refuse(call, err, "indices have %u dimensions; the input has %u",
				   along->indices.rank, x->rank);
	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &along->axis, err);
	for (size_t i = 0; rc == 0 && i < x->rank; i++)
		if (i != along->axis && along->indices.dims[i] > x->dims[i])
			rc = native_refuse(call, err, "indices have %lld in dimension %zu of %lld",
					   (long long)along->indices.dims[i], i,
					   (long long)x->dims[i]);
	int64_t count = rc ? 0 : engine_value_elements(&along->indices);
	int64_t *list = along->indices.data;

	for (int64_t i = 0; rc == 0 && i < count; i++)
		rc = settle(call, &list[i], x->dims[along->axis], err);
	if (rc)
		return rc;
	plain_strides(x, along->strides);
	along->row = along->indices.dims[x->rank - 1];
	along->step = along->strides[along->axis];
	along->apart = along->axis == x->rank - 1 ? 0 : 1;
	return 0;
}

/* Where a row of indices begins in the data, the axis left out. */
static int64_t along_base(const struct along *along, int64_t row)
{
	const struct engine_value *indices = &along->indices;
	int64_t at = 0;

	for (size_t i = indices->rank - 1; i-- > 0; row /= indices->dims[i])
		if (i != along->axis)
			at += row % indices->dims[i] * along->strides[i];
	return at;
}

struct gather_work {
	const struct along *along;
	const char *from;
	char *to;
	size_t width;
};

#define GATHER(type)                             \
	for (int64_t i = 0; i < along->row; i++) \
	((type *)to)[i] = ((const type *)from)[list[i] * along->step + i * along->apart]

static void gather_rows(void *arg, int64_t first, int64_t past)
{
	const struct gather_work *work = arg;
	const struct along *along = work->along;

	for (int64_t r = first; r < past; r++) {
		const int64_t *list = (const int64_t *)along->indices.data + r * along->row;
		const char *from = work->from + (size_t)along_base(along, r) * work->width;
		char *to = work->to + (size_t)(r * along->row) * work->width;

		switch (work->width) {
		case 1:
			GATHER(uint8_t);
			break;
		case 2:
			GATHER(uint16_t);
			break;
		case 4:
			GATHER(uint32_t);
			break;
		default:
			GATHER(uint64_t);
		}
	}
}

static int run_gather_elements(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct along along = { 0 };
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = along_new(call, x, &along, err);
	if (rc == 0)
		rc = native_make(call, 0, x->dtype, x->rank, along.indices.dims, err);
	if (rc == 0 && engine_value_elements(&along.indices) > 0) {
		struct gather_work work = { &along, x->data, call->outputs[0].data,
					    engine_dtype_bytes(x->dtype) };

		engine_team_run(call->team, engine_value_elements(&along.indices) / along.row,
				1 + 8192 / (along.row + 1), gather_rows, &work);
	}
	engine_value_drop(&along.indices);
	return rc;
}

/* ---- what a scattered element does to the one that is there ---- */

typedef void (*combine)(void *to, const void *from, int64_t count);

#define COMBINE(name, type, expression)                                              \
	static void name##_##type(void *to_any, const void *from_any, int64_t count) \
	{                                                                            \
		type *to = to_any;                                                   \
		const type *from = from_any;                                         \
		for (int64_t i = 0; i < count; i++) {                                \
			type a = to[i], b = from[i];                                 \
			to[i] = (type)(expression);                                  \
		}                                                                    \
	}
#define COMBINE_ALL(name, real_expression, whole_expression) \
	COMBINE(name, float, real_expression)                \
	COMBINE(name, double, real_expression)               \
	COMBINE(name, int32_t, whole_expression)             \
	COMBINE(name, int64_t, whole_expression)
COMBINE_ALL(add, a + b, (uint64_t)a + (uint64_t)b)
COMBINE_ALL(mul, a *b, (uint64_t)a *(uint64_t)b)
COMBINE_ALL(max, a > b || a != a ? a : b, a > b ? a : b)
COMBINE_ALL(min, a < b || a != a ? a : b, a < b ? a : b)

/* NULL with rc 0: the element replaces the one that is there. */
static int read_reduction(struct native_call *call, int dtype, combine *ret_combine,
			  struct strata_error *err)
{
	static const struct {
		const char *name;
		combine by_type[4];
	} known[] = {
		{ "add", { add_float, add_double, add_int32_t, add_int64_t } },
		{ "max", { max_float, max_double, max_int32_t, max_int64_t } },
		{ "min", { min_float, min_double, min_int32_t, min_int64_t } },
		{ "mul", { mul_float, mul_double, mul_int32_t, mul_int64_t } },
	};
	const char *text = native_text(call, "reduction", "none");
	int type = dtype == ONNX_FLOAT    ? 0
		   : dtype == ONNX_DOUBLE ? 1
		   : dtype == ONNX_INT32  ? 2
		   : dtype == ONNX_INT64  ? 3
					  : -1;

	*ret_combine = NULL;
	if (strcmp(text, "none") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(text, known[i].name) == 0 && type >= 0) {
			*ret_combine = known[i].by_type[type];
			return 0;
		}
	return native_lacks(call, err, "reduction '%.40s' is not built for %s", text,
			    engine_dtype_name(dtype));
}

/* The output begins as the input. */
static int copy_input(struct native_call *call, const struct engine_value *x,
		      struct strata_error *err)
{
	int rc = native_make_like(call, 0, 0, err);

	if (rc == 0 && call->outputs[0].data != x->data)
		memcpy(call->outputs[0].data, x->data, engine_value_bytes(x));
	return rc;
}

static int run_scatter_elements(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *updates;
	struct along along = { 0 };
	combine how = NULL;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_typed(call, 2, x->dtype, &updates, err);
	if (rc == 0)
		rc = read_reduction(call, x->dtype, &how, err);
	if (rc == 0)
		rc = along_new(call, x, &along, err);
	if (rc == 0 && engine_value_elements(updates) != engine_value_elements(&along.indices))
		rc = native_refuse(call, err, "there are not as many updates as indices");
	if (rc == 0)
		rc = copy_input(call, x, err);
	int64_t count = rc ? 0 : engine_value_elements(&along.indices);
	size_t width = rc ? 0 : engine_dtype_bytes(x->dtype);

	for (int64_t k = 0; k < count; k++) { /* in order: where two meet, the last one holds */
		int64_t i = k % along.row;
		int64_t at = along_base(&along, k / along.row) +
			     ((const int64_t *)along.indices.data)[k] * along.step +
			     i * along.apart;
		char *to = (char *)call->outputs[0].data + (size_t)at * width;
		const char *from = (const char *)updates->data + (size_t)k * width;

		if (how)
			how(to, from, 1);
		else
			memcpy(to, from, width);
	}
	engine_value_drop(&along.indices);
	return rc;
}

/* ---- by whole coordinates: GatherND, ScatterND ---- */

struct spots {
	struct engine_value indices;
	int64_t count, depth; /* coordinates of `depth` numbers */
	int64_t slice;        /* elements at each */
	int64_t *offsets;     /* in elements; in the place of the indices */
};

/* Turns each coordinate into an offset. `skip` leading dimensions are stepped through alike (batch_dims). */
static int spots_new(struct native_call *call, const struct engine_value *x, size_t skip,
		     struct spots *spots, struct strata_error *err)
{
	int64_t strides[STRATA_TENSOR_RANK_MAX], batch = 1, per_batch = 1;
	int rc = own_indices(call, 1, &spots->indices, err);
	const struct engine_value *indices = &spots->indices;

	if (rc)
		return rc;
	spots->depth = indices->rank ? indices->dims[indices->rank - 1] : 0;
	if (indices->rank < 1 + skip || spots->depth < 1 || (size_t)spots->depth + skip > x->rank)
		return native_refuse(call, err,
				     "indices of %lld numbers do not fit to %u dimensions",
				     (long long)spots->depth, x->rank);
	plain_strides(x, strides);
	for (size_t i = 0; i < skip; i++) {
		if (indices->dims[i] != x->dims[i])
			return native_refuse(call, err, "dimension %zu is %lld and %lld", i,
					     (long long)indices->dims[i], (long long)x->dims[i]);
		batch *= x->dims[i];
	}
	spots->count = engine_value_elements(indices) / spots->depth;
	spots->slice = strides[skip + (size_t)spots->depth - 1];
	per_batch = batch ? spots->count / batch : 1;
	spots->offsets = indices->data;
	int64_t *list = indices->data, batch_step = skip ? strides[skip - 1] : 0;

	for (int64_t k = 0; k < spots->count; k++) {
		int64_t at = skip ? k / per_batch * batch_step : 0;

		for (int64_t d = 0; rc == 0 && d < spots->depth; d++) {
			int64_t index = list[k * spots->depth + d];

			rc = settle(call, &index, x->dims[skip + (size_t)d], err);
			at += index * strides[skip + (size_t)d];
		}
		if (rc)
			return rc;
		list[k] = at; /* what is overwritten has been read */
	}
	return 0;
}

static int run_gather_nd(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct spots spots = { 0 };
	int64_t dims[STRATA_TENSOR_RANK_MAX], skip = native_int(call, "batch_dims", 0);
	size_t rank = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && (skip < 0 || skip > x->rank))
		rc = native_refuse(call, err, "batch_dims is %lld", (long long)skip);
	if (rc == 0)
		rc = spots_new(call, x, (size_t)skip, &spots, err);
	if (rc == 0 && spots.indices.rank - 1 + x->rank > STRATA_TENSOR_RANK_MAX)
		rc = native_refuse(call, err, "the result would have too many dimensions");
	for (size_t i = 0; rc == 0 && i + 1 < spots.indices.rank; i++)
		dims[rank++] = spots.indices.dims[i];
	for (size_t i = (size_t)(skip + spots.depth); rc == 0 && i < x->rank; i++)
		dims[rank++] = x->dims[i];
	if (rc == 0)
		rc = native_make(call, 0, x->dtype, rank, dims, err);
	size_t width = rc ? 0 : engine_dtype_bytes(x->dtype), part = (size_t)spots.slice * width;

	for (int64_t k = 0; rc == 0 && part && k < spots.count; k++)
		memcpy((char *)call->outputs[0].data + (size_t)k * part,
		       (const char *)x->data + (size_t)spots.offsets[k] * width, part);
	engine_value_drop(&spots.indices);
	return rc;
}

static int run_scatter_nd(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *updates;
	struct spots spots = { 0 };
	combine how = NULL;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_typed(call, 2, x->dtype, &updates, err);
	if (rc == 0)
		rc = read_reduction(call, x->dtype, &how, err);
	if (rc == 0)
		rc = spots_new(call, x, 0, &spots, err);
	if (rc == 0 && engine_value_elements(updates) != spots.count * spots.slice)
		rc = native_refuse(call, err, "there are %lld updates; expected %lld",
				   (long long)engine_value_elements(updates),
				   (long long)(spots.count * spots.slice));
	if (rc == 0)
		rc = copy_input(call, x, err);
	size_t width = rc ? 0 : engine_dtype_bytes(x->dtype), part = (size_t)spots.slice * width;

	for (int64_t k = 0; rc == 0 && part && k < spots.count; k++) {
		char *to = (char *)call->outputs[0].data + (size_t)spots.offsets[k] * width;
		const char *from = (const char *)updates->data + (size_t)k * part;

		if (how)
			how(to, from, spots.slice);
		else
			memcpy(to, from, part);
	}
	engine_value_drop(&spots.indices);
	return rc;
}

/* ---- by a condition: Compress, NonZero ---- */

static int run_compress(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *condition;
	bool flat = !onnx_attribute_find(call->node, "axis");
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer = 1, inner = 1, kept = 0;
	size_t axis = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_BOOL, &condition, err);
	if (rc == 0 && !flat)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &axis, err);
	if (rc)
		return rc;
	int64_t length = flat ? engine_value_elements(x) : x->dims[axis];
	int64_t asked = engine_value_elements(condition);
	const uint8_t *chosen = condition->data;

	asked = asked < length ? asked : length;
	for (int64_t i = 0; i < asked; i++)
		kept += chosen[i] != 0;
	for (size_t i = 0; i < x->rank && !flat; i++) {
		dims[i] = i == axis ? kept : x->dims[i];
		*(i < axis ? &outer : &inner) *= i == axis ? 1 : x->dims[i];
	}
	rc = flat ? native_make(call, 0, x->dtype, 1, &kept, err)
		  : native_make(call, 0, x->dtype, x->rank, dims, err);
	size_t row = (size_t)inner * engine_dtype_bytes(x->dtype);

	if (rc || row == 0 || kept == 0)
		return rc;
	char *to = call->outputs[0].data;

	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < asked; i++)
			if (chosen[i]) {
				memcpy(to, (const char *)x->data + (size_t)(o * length + i) * row,
				       row);
				to += row;
			}
	return 0;
}

static int run_non_zero(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value flags = { 0 };
	int64_t found = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && x->dtype == ONNX_STRING)
		rc = native_refuse(call, err, "it does not take texts");
	if (rc == 0)
		rc = engine_value_cast(call->heap, x, ONNX_BOOL, &flags, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x);

	for (int64_t i = 0; i < count; i++)
		found += ((const uint8_t *)flags.data)[i] != 0;
	rc = native_make(call, 0, ONNX_INT64, 2, (int64_t[]){ x->rank, found }, err);
	for (int64_t i = 0, at = 0; rc == 0 && i < count; i++) {
		int64_t rest = i;

		if (!((const uint8_t *)flags.data)[i])
			continue;
		for (size_t d = x->rank; d-- > 0; rest /= x->dims[d])
			((int64_t *)call->outputs[0].data)[(int64_t)d * found + at] = rest %
										      x->dims[d];
		at++;
	}
	engine_value_drop(&flags);
	return rc;
}

/* ---- OneHot ---- */

static int one_hot_shape(struct native_call *call, const struct engine_value *indices,
			 int64_t depth, const struct engine_value *values, size_t *ret_axis,
			 struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	size_t rank = indices->rank + 1;

	if (rank > STRATA_TENSOR_RANK_MAX || depth < 0 || engine_value_elements(values) != 2)
		return native_refuse(call, err,
				     "depth is %lld and there are %lld values; expected 2",
				     (long long)depth, (long long)engine_value_elements(values));
	int rc = native_axis(call, native_int(call, "axis", -1), rank, ret_axis, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < rank; i++)
		dims[i] = i == *ret_axis ? depth : indices->dims[i > *ret_axis ? i - 1 : i];
	return native_make(call, 0, values->dtype, rank, dims, err);
}

static int run_one_hot(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *indices, *values;
	struct engine_value wide = { 0 };
	double depth_real = 0;
	size_t axis = 0;
	int rc = native_tensor(call, 0, &indices, err);

	if (rc == 0)
		rc = native_input_real(call, 1, &depth_real, err);
	if (rc == 0)
		rc = native_tensor(call, 2, &values, err);
	if (rc == 0 && (indices->dtype == ONNX_STRING || !(depth_real < 1e15)))
		rc = native_refuse(call, err, "depth is %g", depth_real);
	int64_t depth = (int64_t)depth_real, inner = 1;

	if (rc == 0)
		rc = one_hot_shape(call, indices, depth, values, &axis, err);
	if (rc == 0)
		rc = engine_value_cast(call->heap, indices, ONNX_INT64, &wide, err);
	if (rc)
		return rc;
	size_t width = engine_dtype_bytes(values->dtype);
	int64_t count = engine_value_elements(indices), total = count * depth;
	char *to = call->outputs[0].data;

	for (size_t i = axis; i < indices->rank; i++)
		inner *= indices->dims[i];
	for (int64_t i = 0; i < total; i++)
		memcpy(to + (size_t)i * width, values->data, width);
	for (int64_t i = 0; i < count; i++) { /* indices that are none leave the row off */
		int64_t index = ((const int64_t *)wide.data)[i];

		index += index < 0 ? depth : 0;
		if (index >= 0 && index < depth)
			memcpy(to + (size_t)((i / inner * depth + index) * inner + i % inner) *
					       width,
			       (const char *)values->data + width, width);
	}
	engine_value_drop(&wide);
	return 0;
}

static const struct native_op ops[] = {
	{ "Compress", run_compress },
	{ "GatherElements", run_gather_elements },
	{ "GatherND", run_gather_nd },
	{ "NonZero", run_non_zero },
	{ "OneHot", run_one_hot },
	{ "Scatter", run_scatter_elements },
	{ "ScatterElements", run_scatter_elements },
	{ "ScatterND", run_scatter_nd },
};

const struct native_family native_family_pick = { "picking elements", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
