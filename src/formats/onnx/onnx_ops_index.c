/* Operators that pick elements by index, or say where they are: Gather and Scatter, Slice, Pad, the largest, those that are not 0. */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

/* ---- Gather ---- */

static int shape_gather(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *at = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked || !at || !at->ranked)
		return 0;
	if (!onnx_axis(onnx_call_int(call, "axis", 0), from->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	if (from->rank - 1 + at->rank > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "the result has too many dimensions");
	onnx_set_rank(to, from->dtype, from->rank - 1 + at->rank);
	memcpy(to->dims, from->dims, axis * sizeof(*to->dims));
	memcpy(to->dims + axis, at->dims, at->rank * sizeof(*to->dims));
	memcpy(to->dims + axis + at->rank, from->dims + axis + 1,
	       (from->rank - axis - 1) * sizeof(*to->dims));
	return 0;
}

static int fold_gather(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0], *at = onnx_input(call, 1);
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (from->rank != 1 || !at || !at->integers || at->open)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++) {
		size_t index;

		if (!onnx_axis(at->integers[i], (size_t)from->dims[0], &index))
			return onnx_clash(call, err, "there is no element %lld",
					  (long long)at->integers[i]);
		onnx_copy_element(to, (size_t)i, from, index);
	}
	return rc;
}

static int shape_gather_elements(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_like(to, onnx_input(call, 1));
	if (from)
		to->dtype = from->dtype;
	return 0;
}

static int shape_gather_nd(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *at = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);
	int64_t batch = onnx_call_int(call, "batch_dims", 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked || !at || !at->ranked || at->rank < 1 || at->dims[at->rank - 1] < 0)
		return 0;
	int64_t parts = at->dims[at->rank - 1], all = (int64_t)from->rank;
	int64_t taken = parts <= all && batch <= all ? batch + parts : all + 1;

	if (batch < 0 || batch > (int64_t)from->rank || taken > (int64_t)from->rank ||
	    at->rank - 1 + from->rank - (size_t)taken > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "the indices have too many parts");
	onnx_set_rank(to, from->dtype, at->rank - 1 + from->rank - (size_t)taken);
	memcpy(to->dims, at->dims, (at->rank - 1) * sizeof(*to->dims));
	memcpy(to->dims + at->rank - 1, from->dims + taken,
	       (from->rank - (size_t)taken) * sizeof(*to->dims));
	return 0;
}

/* Scatter writes into a copy of its first input. */
static int shape_scatter(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), onnx_input(call, 0));
	return 0;
}

/* ---- Slice ---- */

struct cut {
	int64_t start, end, step;
};

/* A cut with its ends brought inside, of n elements; how many it takes. */
static int64_t clamp_cut(struct cut *cut, int64_t n)
{
	bool down = cut->step < 0;
	int64_t low = down ? -1 : 0, high = down ? n - 1 : n;

	if (cut->start < 0)
		cut->start = cut->start < -n ? low : cut->start + n;
	if (cut->end < 0)
		cut->end = cut->end < -n ? low : cut->end + n;
	cut->start = cut->start < (down ? 0 : low) ? (down ? 0 : low)
		     : cut->start > high           ? high
						   : cut->start;
	cut->end = cut->end < low                 ? low
		   : cut->end > (down ? n : high) ? (down ? n : high)
						  : cut->end;
	int64_t way = down ? cut->start - cut->end : cut->end - cut->start;
	uint64_t stride = down ? -(uint64_t)cut->step : (uint64_t)cut->step;

	if (n == 0 || way <= 0)
		return 0;
	return (int64_t)(((uint64_t)way - 1) / stride + 1);
}

/* The cut of one axis by its place in the lists; false when the lists do not have it. */
static bool cut_at(const int64_t *starts, const int64_t *ends, const int64_t *steps,
		   size_t step_count, size_t i, struct cut *ret_cut)
{
	*ret_cut = (struct cut){ starts[i], ends[i], steps && i < step_count ? steps[i] : 1 };
	return ret_cut->step != 0;
}

struct cuts {
	const int64_t *starts, *ends, *axes, *steps;
	size_t start_count, end_count, axis_count, step_count;
	bool axes_given, steps_given;
};

static bool read_cuts(const struct onnx_call *call, struct cuts *cuts)
{
	bool given;

	cuts->starts = onnx_call_ints(call, "starts", 1, &cuts->start_count, &given);
	cuts->ends = onnx_call_ints(call, "ends", 2, &cuts->end_count, &given);
	cuts->axes = onnx_call_ints(call, "axes", 3, &cuts->axis_count, &cuts->axes_given);
	cuts->steps = onnx_call_ints(call, NULL, 4, &cuts->step_count, &cuts->steps_given);
	return cuts->starts && cuts->ends && cuts->start_count == cuts->end_count &&
	       (!cuts->axes_given || (cuts->axes && cuts->axis_count == cuts->start_count)) &&
	       (!cuts->steps_given || cuts->steps);
}

/* Ends that are not known leave alone the axes that are not cut, when those are known. */
static void slice_unknown(const struct onnx_value *from, const struct cuts *cuts,
			  struct onnx_value *to)
{
	size_t axis;

	onnx_set_rank(to, from->dtype, from->rank);
	if (!cuts->axes)
		return;
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	for (size_t i = 0; i < cuts->axis_count; i++)
		if (onnx_axis(cuts->axes[i], from->rank, &axis))
			to->dims[axis] = -1;
}

static int shape_slice(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	struct cuts cuts;
	struct cut cut;
	size_t axis;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked)
		return 0;
	if (!read_cuts(call, &cuts)) {
		slice_unknown(from, &cuts, to);
		return 0;
	}
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	for (size_t i = 0; i < cuts.start_count; i++) {
		if (!onnx_axis(cuts.axes ? cuts.axes[i] : (int64_t)i, from->rank, &axis))
			return onnx_clash(call, err, "there is no such axis");
		if (!cut_at(cuts.starts, cuts.ends, cuts.steps, cuts.step_count, i, &cut))
			return onnx_clash(call, err, "a step is 0");
		bool all = cut.start == 0 && cut.end >= INT32_MAX && cut.step == 1;

		if (from->dims[axis] >= 0)
			to->dims[axis] = clamp_cut(&cut, from->dims[axis]);
		else if (!all)
			to->dims[axis] = -1;
	}
	return 0;
}

static int fold_slice(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);
	struct cuts cuts;
	struct cut cut;

	if (from->rank != 1 || !read_cuts(call, &cuts) || cuts.start_count != 1 ||
	    !cut_at(cuts.starts, cuts.ends, cuts.steps, cuts.step_count, 0, &cut))
		return 0;
	clamp_cut(&cut, from->dims[0]);
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++)
		onnx_copy_element(to, (size_t)i, from, (size_t)(cut.start + i * cut.step));
	return rc;
}

/* ---- Pad ---- */

static int shape_pad(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	size_t count, axis_count, axis;
	bool given, axes_given;
	const int64_t *pads = onnx_call_ints(call, "pads", 1, &count, &given);
	const int64_t *axes = onnx_call_ints(call, NULL, 3, &axis_count, &axes_given);

	if (!pads) /* opset 1 had another name */
		pads = onnx_call_ints(call, "paddings", 1, &count, &given);
	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked)
		return 0;
	onnx_set_rank(to, from->dtype, from->rank);
	if (!pads || (axes_given && !axes))
		return 0;
	size_t padded = axes_given ? axis_count : from->rank;

	if (count != 2 * padded)
		return onnx_clash(call, err, "%zu pads for %zu axes", count, padded);
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	for (size_t i = 0; i < padded; i++) {
		int64_t more;

		if (!onnx_axis(axes_given ? axes[i] : (int64_t)i, from->rank, &axis))
			return onnx_clash(call, err, "there is no such axis");
		if (__builtin_add_overflow(pads[i], pads[i + padded], &more) ||
		    (more && (from->dims[axis] < 0 ||
			      __builtin_add_overflow(from->dims[axis], more, &to->dims[axis]) ||
			      to->dims[axis] < 0)))
			to->dims[axis] = -1;
	}
	return 0;
}

/* ---- which ones ---- */

static int shape_one_hot(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *at = onnx_input(call, 0), *depth = onnx_input(call, 1);
	const struct onnx_value *values = onnx_input(call, 2);
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis;

	onnx_set_type(to, values ? values->dtype : ONNX_NONE);
	if (!at || !at->ranked || at->rank == STRATA_TENSOR_RANK_MAX)
		return 0;
	if (!onnx_axis(onnx_call_int(call, "axis", -1), at->rank + 1, &axis))
		return onnx_clash(call, err, "there is no such axis");
	onnx_set_rank(to, to->dtype, at->rank + 1);
	for (size_t i = 0, k = 0; i < to->rank; i++)
		if (i != axis)
			to->dims[i] = at->dims[k++];
	if (depth && onnx_elements(depth) == 1 && depth->integers)
		to->dims[axis] = onnx_element_dim(depth, 0);
	else if (depth && onnx_elements(depth) == 1 && depth->reals && depth->reals[0] >= 0 &&
		 depth->reals[0] < 1e15)
		to->dims[axis] = (int64_t)depth->reals[0];
	return 0;
}

static int shape_top_k(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *k = onnx_input(call, 1);
	int64_t most = onnx_call_int(call, "k", -1);
	size_t axis;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_like(onnx_output(call, 0), from);
	onnx_set_like(onnx_output(call, 1), from);
	onnx_output(call, 1)->dtype = ONNX_INT64;
	if (!from->ranked)
		return 0;
	if (!onnx_axis(onnx_call_int(call, "axis", -1), from->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	if (k && k->integers && onnx_elements(k) == 1)
		most = onnx_element_dim(k, 0);
	onnx_output(call, 0)->dims[axis] = most < 0 ? -1 : most;
	onnx_output(call, 1)->dims[axis] = most < 0 ? -1 : most;
	return 0;
}

/* How many there are depends on the numbers. */
static int non_zero_rank(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_rank(to, ONNX_INT64, 2);
	if (from && from->ranked)
		to->dims[0] = (int64_t)from->rank;
	return 0;
}

static int64_t count_set(const struct onnx_value *value)
{
	int64_t count = 0, elements = onnx_elements(value);

	for (int64_t i = 0; i < elements; i++)
		count += onnx_element_real(value, (size_t)i) != 0;
	return count;
}

/* Constants that are known say how many. */
static int shape_non_zero(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	int rc = non_zero_rank(call, err);

	if (rc == 0 && from && onnx_has_elements(from) && !from->open)
		to->dims[1] = count_set(from);
	return rc;
}

static int shape_compress(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *which = onnx_input(call, 1);
	const struct onnx_attribute *attribute = onnx_call_attribute(call, "axis", ONNX_ATTR_INT);
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis = 0;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!attribute)
		onnx_set_rank(to, from->dtype, 1);
	else if (!from->ranked)
		return 0;
	else if (!onnx_axis(attribute->integer, from->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	else
		onnx_set_shape(to, from->dtype, from->rank, from->dims);
	to->dims[axis] = which && which->integers && !which->open ? count_set(which) : -1;
	return 0;
}

static int shape_unique(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	const struct onnx_attribute *attribute = onnx_call_attribute(call, "axis", ONNX_ATTR_INT);
	size_t axis = 0;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(onnx_output(call, 0), from->dtype);
	for (size_t i = 1; i < 4; i++)
		onnx_set_rank(onnx_output(call, i), ONNX_INT64, 1);
	if (!attribute) {
		onnx_set_rank(onnx_output(call, 0), from->dtype, 1);
		onnx_set_rank(onnx_output(call, 2), ONNX_INT64, 1);
		onnx_output(call, 2)->dims[0] = onnx_elements(from);
		return 0;
	}
	if (!from->ranked)
		return 0;
	if (!onnx_axis(attribute->integer, from->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	onnx_set_shape(onnx_output(call, 0), from->dtype, from->rank, from->dims);
	onnx_output(call, 0)->dims[axis] = -1;
	onnx_set_rank(onnx_output(call, 2), ONNX_INT64, 1);
	onnx_output(call, 2)->dims[0] = from->dims[axis];
	return 0;
}

static int shape_non_max_suppression(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_rank(onnx_output(call, 0), ONNX_INT64, 2);
	onnx_output(call, 0)->dims[1] = 3;
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "Compress", shape_compress },
	{ "Gather", shape_gather, fold_gather },
	{ "GatherElements", shape_gather_elements },
	{ "GatherND", shape_gather_nd },
	{ "NonMaxSuppression", shape_non_max_suppression },
	{ "NonZero", shape_non_zero },
	{ "OneHot", shape_one_hot },
	{ "Pad", shape_pad },
	{ "Scatter", shape_scatter },
	{ "ScatterElements", shape_scatter },
	{ "ScatterND", shape_scatter },
	{ "Slice", shape_slice, fold_slice },
	{ "TopK", shape_top_k },
	{ "Unique", shape_unique },
};
/* clang-format on */

const struct onnx_family onnx_family_index = { "indices", "", ops, sizeof(ops) / sizeof(ops[0]) };
