/*
 * Elements in other places: transposing, joining, cutting, repeating, picking. All of them are copies of elements of one width, whatever their type; texts
 * are pointers that stay valid as long as their buffer, so they are refused where a copy would outlive it.
 */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <string.h>

/* Copies elements `step` elements apart to a row. */
static void gather_row(const char *from, int64_t step, char *to, int64_t count, size_t width)
{
	switch (width) {
	case 4:
		for (int64_t i = 0; i < count; i++)
			((uint32_t *)to)[i] = ((const uint32_t *)from)[i * step];
		return;
	case 8:
		for (int64_t i = 0; i < count; i++)
			((uint64_t *)to)[i] = ((const uint64_t *)from)[i * step];
		return;
	case 2:
		for (int64_t i = 0; i < count; i++)
			((uint16_t *)to)[i] = ((const uint16_t *)from)[i * step];
		return;
	default:
		for (int64_t i = 0; i < count; i++)
			to[i] = from[i * step];
	}
}

/* A result whose element at (i0, i1, …) is the input's at base + Σ i·stride: every copy with fixed strides is one of these. */
struct strided {
	size_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX], strides[STRATA_TENSOR_RANK_MAX], base;
	const char *from;
	char *to;
	size_t width;
};

static void strided_rows(void *arg, int64_t first, int64_t past)
{
	const struct strided *work = arg;
	int64_t row = work->dims[work->rank - 1], step = work->strides[work->rank - 1];

	for (int64_t r = first; r < past; r++) {
		int64_t at = work->base, rest = r;

		for (size_t i = work->rank - 1; i-- > 0; rest /= work->dims[i])
			at += rest % work->dims[i] * work->strides[i];
		const char *from = work->from + at * (int64_t)work->width;
		char *to = work->to + (size_t)(r * row) * work->width;

		if (step == 1)
			memcpy(to, from, (size_t)row * work->width);
		else
			gather_row(from, step, to, row, work->width);
	}
}

/* Joins dimensions that are stepped through as one, then copies. */
static void strided_copy(struct engine_team *team, struct strided *work)
{
	size_t rank = 0;
	int64_t rows = 1;

	for (size_t i = 0; i < work->rank; i++) {
		if (work->dims[i] == 0)
			return;
		if (work->dims[i] == 1)
			continue;
		if (rank > 0 && work->strides[rank - 1] == work->strides[i] * work->dims[i]) {
			work->dims[rank - 1] *= work->dims[i];
			work->strides[rank - 1] = work->strides[i];
			continue;
		}
		work->dims[rank] = work->dims[i];
		work->strides[rank++] = work->strides[i];
	}
	if (rank == 0) {
		work->dims[0] = work->strides[0] = 1;
		rank = 1;
	}
	work->rank = rank;
	for (size_t i = 0; i + 1 < rank; i++)
		rows *= work->dims[i];
	engine_team_run(team, rows, 1 + 8192 / (work->dims[rank - 1] + 1), strided_rows, work);
}

static void plain_strides(const struct engine_value *x, int64_t *ret_strides)
{
	int64_t stride = 1;

	for (size_t i = x->rank; i-- > 0; stride *= x->dims[i])
		ret_strides[i] = stride;
}

/* ---- Transpose ---- */

static int run_transpose(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t own[STRATA_TENSOR_RANK_MAX];
	bool seen[STRATA_TENSOR_RANK_MAX] = { 0 };
	struct strided work = { 0 };
	size_t count;
	const int64_t *order = native_ints(call, "perm", &count);
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (order && count != x->rank)
		return native_refuse(call, err, "perm has %zu numbers; the input has %u dimensions",
				     count, x->rank);
	plain_strides(x, own);
	work.rank = x->rank;
	for (size_t i = 0; i < x->rank; i++) {
		int64_t axis = order ? order[i] : (int64_t)(x->rank - 1 - i);

		if (axis < 0 || axis >= x->rank || seen[axis])
			return native_refuse(call, err, "perm is not an order of the dimensions");
		seen[axis] = true;
		work.dims[i] = x->dims[axis];
		work.strides[i] = own[axis];
	}
	rc = native_make(call, 0, x->dtype, x->rank, work.dims, err);
	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.width = engine_dtype_bytes(x->dtype);
	strided_copy(call->team, &work);
	return 0;
}

/* ---- DepthToSpace, SpaceToDepth: [members blocks… channels height width] in another order ---- */

static int run_blocks(struct native_call *call, bool to_space, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t block = native_int(call, "blocksize", 0);
	bool columns = strcmp(native_text(call, "mode", "DCR"), "CRD") == 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	if (x->rank != 4 || block < 1 || block > INT32_MAX ||
	    (to_space ? x->dims[1] % (block * block) : x->dims[2] % block || x->dims[3] % block))
		return native_refuse(call, err, "blocks of %lld do not fit to the input",
				     (long long)block);
	int64_t n = x->dims[0], c = to_space ? x->dims[1] / (block * block) : x->dims[1];
	int64_t h = to_space ? x->dims[2] : x->dims[2] / block;
	int64_t w = to_space ? x->dims[3] : x->dims[3] / block;
	/* Strides of the block's row and column, and of what remains of channel, row and column. */
	int64_t area = h * w, whole = to_space ? c * block * block * area : c * area * block * block;
	int64_t block_row = !to_space ? w * block : columns ? block * area : block * c * area;
	int64_t block_column = !to_space ? 1 : columns ? area : c * area;
	int64_t channel = !to_space ? area * block * block : columns ? block * block * area : area;
	int64_t row = to_space ? w : w * block * block, column = to_space ? 1 : block;
	struct strided work = { .rank = 6, .from = x->data, .width = engine_dtype_bytes(x->dtype) };
	const int64_t space[6] = { n, c, h, block, w, block };
	const int64_t space_steps[6] = { whole, channel, row, block_row, column, block_column };
	const int64_t depth[6] = { n, block, block, c, h, w };
	const int64_t depth_steps[6] = { whole, block_row, block_column, channel, row, column };

	memcpy(work.dims, to_space ? space : depth, sizeof(space));
	memcpy(work.strides, to_space ? space_steps : depth_steps, sizeof(space_steps));
	const int64_t dims[4] = { n, to_space ? c : c * block * block, to_space ? h * block : h,
				  to_space ? w * block : w };

	rc = native_make(call, 0, x->dtype, 4, dims, err);
	if (rc)
		return rc;
	work.to = call->outputs[0].data;
	strided_copy(call->team, &work);
	return 0;
}

static int run_depth_to_space(struct native_call *call, struct strata_error *err)
{
	return run_blocks(call, true, err);
}
static int run_space_to_depth(struct native_call *call, struct strata_error *err)
{
	return run_blocks(call, false, err);
}

/* ---- Expand, Tile ---- */

static int run_expand(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *values[2];
	struct engine_value shape = { .kind = ONNX_TENSOR };
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	struct strided work = { 0 };
	size_t rank;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_input_ints(call, 1, shape.dims, STRATA_TENSOR_RANK_MAX, &rank, err);
	if (rc)
		return rc;
	shape.rank = (uint32_t)rank;
	values[0] = x;
	values[1] = &shape;
	rc = native_broadcast(call, values, 2, &rank, dims, err);
	if (rc)
		return rc;
	plain_strides(x, work.strides);
	memmove(work.strides + (rank - x->rank), work.strides, x->rank * sizeof(int64_t));
	work.rank = rank;
	for (size_t i = 0; i < rank; i++) {
		work.dims[i] = dims[i];
		if (i < rank - x->rank || x->dims[i - (rank - x->rank)] == 1)
			work.strides[i] = 0;
	}
	rc = native_make(call, 0, x->dtype, rank, dims, err);
	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.width = engine_dtype_bytes(x->dtype);
	strided_copy(call->team, &work);
	return 0;
}

static int run_tile(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t repeats[STRATA_TENSOR_RANK_MAX], dims[STRATA_TENSOR_RANK_MAX];
	size_t count;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_input_ints(call, 1, repeats, STRATA_TENSOR_RANK_MAX, &count, err);
	if (rc)
		return rc;
	if (count != x->rank || 2 * x->rank > STRATA_TENSOR_RANK_MAX)
		return native_refuse(call, err, "repeats has %zu numbers; expected %u", count,
				     x->rank);
	/* (repeat, dim) pairs: the first of each is stepped through without moving. */
	struct strided work = { .rank = 2 * x->rank };
	int64_t own[STRATA_TENSOR_RANK_MAX];

	plain_strides(x, own);
	for (size_t i = 0; i < x->rank; i++) {
		if (repeats[i] < 0 || __builtin_mul_overflow(x->dims[i], repeats[i], &dims[i]))
			return native_refuse(call, err, "repeats has %lld", (long long)repeats[i]);
		work.dims[2 * i] = repeats[i];
		work.dims[2 * i + 1] = x->dims[i];
		work.strides[2 * i + 1] = own[i];
	}
	rc = native_make(call, 0, x->dtype, x->rank, dims, err);
	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.width = engine_dtype_bytes(x->dtype);
	strided_copy(call->team, &work);
	return 0;
}

/* ---- Slice ---- */

struct slice {
	int64_t start, step, count;
};

/* What ONNX says of bounds: below 0 from the end, beyond the ends cut. */
static struct slice cut(int64_t dim, int64_t start, int64_t end, int64_t step)
{
	struct slice slice = { .step = step };
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

	if (start < 0)
		start += dim;
	if (end < 0)
		end = end < -dim ? -1 : end + dim;
	start = start < 0 ? 0 : start > high ? high : start;
	end = end < low ? low : end > dim ? dim : end;
	int64_t room = step > 0 ? end - start : start - end;
	uint64_t pace = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;

	slice.start = start;
	slice.count = room > 0 ? (int64_t)(((uint64_t)room + pace - 1) / pace) : 0;
	return slice;
}

struct slice_lists {
	int64_t starts[STRATA_TENSOR_RANK_MAX], ends[STRATA_TENSOR_RANK_MAX];
	int64_t axes[STRATA_TENSOR_RANK_MAX], steps[STRATA_TENSOR_RANK_MAX];
	size_t count;
};

static int read_slices(struct native_call *call, struct slice_lists *lists, struct strata_error *err)
{
	size_t ends, axes, steps;
	bool given, has_axes, has_steps;
	int rc = native_ints_either(call, "starts", 1, lists->starts, STRATA_TENSOR_RANK_MAX,
				    &lists->count, &given, err);

	if (rc == 0)
		rc = native_ints_either(call, "ends", 2, lists->ends, STRATA_TENSOR_RANK_MAX, &ends,
					&given, err);
	if (rc == 0)
		rc = native_ints_either(call, "axes", 3, lists->axes, STRATA_TENSOR_RANK_MAX, &axes,
					&has_axes, err);
	if (rc == 0)
		rc = native_ints_either(call, "steps", 4, lists->steps, STRATA_TENSOR_RANK_MAX,
					&steps, &has_steps, err);
	if (rc)
		return rc;
	if (ends != lists->count || (has_axes && axes != lists->count) ||
	    (has_steps && steps != lists->count))
		return native_refuse(call, err, "starts, ends, axes and steps have unlike lengths");
	for (size_t i = 0; i < lists->count; i++) {
		lists->axes[i] = has_axes ? lists->axes[i] : (int64_t)i;
		lists->steps[i] = has_steps ? lists->steps[i] : 1;
	}
	return 0;
}

static int run_slice(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct slice_lists lists;
	struct strided work = { 0 };
	size_t axis;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_slices(call, &lists, err);
	if (rc)
		return rc;
	work.rank = x->rank;
	plain_strides(x, work.strides);
	memcpy(work.dims, x->dims, x->rank * sizeof(int64_t));
	for (size_t i = 0; i < lists.count; i++) {
		rc = native_axis(call, lists.axes[i], x->rank, &axis, err);
		if (rc == 0 && lists.steps[i] == 0)
			rc = native_refuse(call, err, "a step is 0");
		if (rc)
			return rc;
		struct slice slice =
			cut(x->dims[axis], lists.starts[i], lists.ends[i], lists.steps[i]);

		work.base += slice.count ? slice.start * work.strides[axis] : 0;
		work.dims[axis] = slice.count;
		work.strides[axis] *= slice.count > 1 ? slice.step : 1;
	}
	rc = native_make(call, 0, x->dtype, x->rank, work.dims, err);
	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.width = engine_dtype_bytes(x->dtype);
	strided_copy(call->team, &work);
	return 0;
}

/* ---- Concat, Split ---- */

/* Elements around an axis: outer blocks of dims[axis] rows of inner elements. */
static void around(const struct engine_value *x, size_t axis, int64_t *outer, int64_t *inner)
{
	*outer = *inner = 1;
	for (size_t i = 0; i < x->rank; i++)
		if (i != axis)
			*(i < axis ? outer : inner) *= x->dims[i];
}

static int run_concat(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *first, *x;
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer, inner, at = 0;
	size_t axis;
	int rc = native_tensor(call, 0, &first, err);

	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", 0), first->rank, &axis, err);
	if (rc)
		return rc;
	memcpy(dims, first->dims, sizeof(dims));
	for (size_t i = 1; i < call->input_count; i++) {
		rc = native_typed(call, i, first->dtype, &x, err);
		if (rc)
			return rc;
		for (size_t k = 0; k < first->rank; k++)
			if (x->rank != first->rank || (k != axis && x->dims[k] != dims[k]))
				return native_refuse(call, err, "input %zu does not fit", i + 1);
		dims[axis] += x->dims[axis];
	}
	rc = native_make(call, 0, first->dtype, first->rank, dims, err);
	if (rc)
		return rc;
	around(&call->outputs[0], axis, &outer, &inner);
	size_t width = engine_dtype_bytes(first->dtype);
	size_t whole = (size_t)(dims[axis] * inner) * width;

	for (size_t i = 0; i < call->input_count; i++) {
		x = call->inputs[i];
		size_t part = (size_t)(x->dims[axis] * inner) * width;

		for (int64_t o = 0; o < outer && part; o++)
			memcpy((char *)call->outputs[0].data + (size_t)o * whole + at,
			       (const char *)x->data + (size_t)o * part, part);
		at += (int64_t)part;
	}
	return 0;
}

/* Sizes of the parts: given, or as equal as they can be. */
static int split_sizes(struct native_call *call, int64_t dim, int64_t *sizes,
		       struct strata_error *err)
{
	size_t count = call->output_count, given_count;
	int64_t sum = 0, each = count ? (dim + (int64_t)count - 1) / (int64_t)count : 0;
	bool given;
	int rc = native_ints_either(call, "split", 1, sizes, count, &given_count, &given, err);

	if (rc)
		return rc;
	if (given && given_count != count)
		return native_refuse(call, err, "split has %zu numbers for %zu outputs",
				     given_count, count);
	for (size_t i = 0; i < count; i++) {
		if (!given)
			sizes[i] = each < dim - sum ? each : dim - sum;
		if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum))
			return native_refuse(call, err, "split has %lld", (long long)sizes[i]);
	}
	if (sum != dim)
		return native_refuse(call, err, "the parts have %lld; the input has %lld",
				     (long long)sum, (long long)dim);
	return 0;
}

static int split_parts(struct native_call *call, const struct engine_value *x, size_t axis,
		       const int64_t *sizes, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer, inner, at = 0;
	size_t width = engine_dtype_bytes(x->dtype);
	int rc = 0;

	around(x, axis, &outer, &inner);
	memcpy(dims, x->dims, sizeof(dims));
	for (size_t i = 0; rc == 0 && i < call->output_count; at += sizes[i++]) {
		if (!native_wants(call, i))
			continue;
		dims[axis] = sizes[i];
		rc = native_make(call, i, x->dtype, x->rank, dims, err);
		size_t part = (size_t)(sizes[i] * inner) * width;

		for (int64_t o = 0; rc == 0 && o < outer && part; o++)
			memcpy((char *)call->outputs[i].data + (size_t)o * part,
			       (const char *)x->data +
				       (size_t)((o * x->dims[axis] + at) * inner) * width,
			       part);
	}
	return rc;
}

static int run_split(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	size_t axis;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &axis, err);
	if (rc)
		return rc;
	size_t bytes = (call->output_count + 1) * sizeof(int64_t);
	int64_t *sizes = native_scratch(call, bytes, err);

	if (!sizes)
		return -ENOMEM;
	rc = split_sizes(call, x->dims[axis], sizes, err);
	if (rc == 0)
		rc = split_parts(call, x, axis, sizes, err);
	engine_heap_put(call->heap, sizes, bytes);
	return rc;
}

/* ---- Gather ---- */

static int gather_shape(struct native_call *call, const struct engine_value *x,
			const struct engine_value *where, size_t axis, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	size_t rank = 0;

	if (x->rank + where->rank - 1 > STRATA_TENSOR_RANK_MAX)
		return native_refuse(call, err, "the result would have %u dimensions",
				     x->rank + where->rank - 1);
	for (size_t i = 0; i < axis; i++)
		dims[rank++] = x->dims[i];
	for (size_t i = 0; i < where->rank; i++)
		dims[rank++] = where->dims[i];
	for (size_t i = axis + 1; i < x->rank; i++)
		dims[rank++] = x->dims[i];
	return native_make(call, 0, x->dtype, rank, dims, err);
}

static int run_gather(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *where;
	int64_t outer, inner;
	size_t axis;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_tensor(call, 1, &where, err);
	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &axis, err);
	if (rc == 0 && where->dtype != ONNX_INT64 && where->dtype != ONNX_INT32)
		rc = native_refuse(call, err, "input 2 is %s; expected int64",
				   engine_dtype_name(where->dtype));
	if (rc == 0)
		rc = gather_shape(call, x, where, axis, err);
	if (rc)
		return rc;
	around(x, axis, &outer, &inner);
	int64_t count = engine_value_elements(where), dim = x->dims[axis];
	size_t row = (size_t)inner * engine_dtype_bytes(x->dtype);

	for (int64_t k = 0; k < count; k++) {
		int64_t index = where->dtype == ONNX_INT64 ? ((const int64_t *)where->data)[k]
							   : ((const int32_t *)where->data)[k];

		if (index < -dim || index >= dim)
			return native_refuse(call, err, "index %lld is outside of 0 to %lld",
					     (long long)index, (long long)dim - 1);
		index += index < 0 ? dim : 0;
		for (int64_t o = 0; o < outer; o++)
			memcpy((char *)call->outputs[0].data + (size_t)(o * count + k) * row,
			       (const char *)x->data + (size_t)(o * dim + index) * row, row);
	}
	return 0;
}

/* ---- Where ---- */

static int run_where(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *values[3];
	int64_t dims[STRATA_TENSOR_RANK_MAX], offsets[NATIVE_WALK_MAX];
	struct native_walk walk;
	size_t rank;
	int rc = native_typed(call, 0, ONNX_BOOL, &values[0], err);

	if (rc == 0)
		rc = native_tensor(call, 1, &values[1], err);
	if (rc == 0)
		rc = native_typed(call, 2, values[1]->dtype, &values[2], err);
	if (rc == 0)
		rc = native_broadcast(call, values, 3, &rank, dims, err);
	if (rc == 0)
		rc = native_make(call, 0, values[1]->dtype, rank, dims, err);
	if (rc)
		return rc;
	size_t width = engine_dtype_bytes(values[1]->dtype);
	int64_t count = engine_value_elements(&call->outputs[0]);

	native_walk_init(&walk, rank, dims, values, 3);
	for (int64_t r = 0; count > 0 && r < walk.runs; r++) {
		native_walk_at(&walk, r, offsets);
		char *to = (char *)call->outputs[0].data + (size_t)(r * walk.run) * width;

		for (int64_t i = 0; i < walk.run; i++) {
			int64_t step = walk.rank ? i : 0;
			bool chosen = ((const uint8_t *)values[0]->data)
				[offsets[0] + step * (walk.rank ? walk.strides[0][0] : 0)];
			size_t which = chosen ? 1 : 2;
			int64_t at = offsets[which] +
				     step * (walk.rank ? walk.strides[which][0] : 0);

			memcpy(to + (size_t)i * width,
			       (const char *)values[which]->data + (size_t)at * width, width);
		}
	}
	return 0;
}

static const struct native_op ops[] = {
	{ "Concat", run_concat },
	{ "DepthToSpace", run_depth_to_space },
	{ "Expand", run_expand },
	{ "Gather", run_gather },
	{ "Slice", run_slice },
	{ "SpaceToDepth", run_space_to_depth },
	{ "Split", run_split },
	{ "Tile", run_tile },
	{ "Transpose", run_transpose },
	{ "Where", run_where },
};

const struct native_family native_family_move = { "moving elements", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
