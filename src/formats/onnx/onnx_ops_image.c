/* Operators that sample: Resize and Upsample, grids, regions of interest. */
#include "formats/onnx/onnx_infer.h"

#include <math.h>
#include <string.h>

/* ---- Resize ---- */

/* An axis times its scale, in the precision that the format has for scales. */
static int64_t scaled(int64_t n, double scale)
{
	double extent = floor((float)n * (float)scale);

	if (n < 0)
		return scale == 1 ? n : -1;
	return extent >= 0 && extent < 9e18 ? (int64_t)extent : -1;
}

static int resize_by(struct onnx_call *call, const double *scales, size_t count,
		     struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	const struct onnx_attribute *axes = onnx_call_attribute(call, "axes", ONNX_ATTR_INTS);
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis;

	if (count != (axes ? axes->count : from->rank))
		return onnx_clash(call, err, "%zu scales for %zu dimensions", count, from->rank);
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	for (size_t i = 0; i < count; i++) {
		if (!onnx_axis(axes ? axes->integers[i] : (int64_t)i, from->rank, &axis))
			return onnx_clash(call, err, "there is no such axis");
		to->dims[axis] = scaled(from->dims[axis], scales[i]);
	}
	return 0;
}

/* The larger or smaller of all scales, for sizes that keep the proportions; false: it is not known. */
static bool kept_scale(const struct onnx_value *from, const struct onnx_value *sizes,
		       const size_t *axes, size_t count, const char *policy, double *ret_scale)
{
	double chosen = 0;

	for (size_t i = 0; i < count; i++) {
		double scale = (double)onnx_element_dim(sizes, i) / (double)from->dims[axes[i]];
		bool better = strcmp(policy, "not_larger") == 0 ? scale < chosen : scale > chosen;

		if (from->dims[axes[i]] < 1 || onnx_element_dim(sizes, i) < 0)
			return false;
		if (i == 0 || better)
			chosen = scale;
	}
	*ret_scale = chosen;
	return true;
}

static int resize_to(struct onnx_call *call, const struct onnx_value *sizes,
		     struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	const struct onnx_attribute *given = onnx_call_attribute(call, "axes", ONNX_ATTR_INTS);
	const char *policy = onnx_call_text(call, "keep_aspect_ratio_policy", "stretch");
	struct onnx_value *to = onnx_output(call, 0);
	size_t count = given ? given->count : from->rank, axes[STRATA_TENSOR_RANK_MAX];

	if (onnx_elements(sizes) != (int64_t)count || count > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "%lld sizes for %zu dimensions",
				  (long long)onnx_elements(sizes), count);
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	for (size_t i = 0; i < count; i++)
		if (!onnx_axis(given ? given->integers[i] : (int64_t)i, from->rank, &axes[i]))
			return onnx_clash(call, err, "there is no such axis");
	bool stretched = strcmp(policy, "stretch") == 0;
	double scale = 0;
	bool known = !stretched && kept_scale(from, sizes, axes, count, policy, &scale);

	for (size_t i = 0; i < count; i++) {
		double extent = nearbyint((double)from->dims[axes[i]] * scale);

		if (stretched || (known && scale == 0))
			to->dims[axes[i]] = onnx_element_dim(sizes, i);
		else
			to->dims[axes[i]] = known && extent < 9e18 ? (int64_t)extent : -1;
	}
	return 0;
}

static int shape_resize(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *sizes = onnx_input(call, 3);
	/* opset 10: X, scales; from 11 on: X, roi, scales, sizes */
	const struct onnx_value *scales = onnx_input(call, call->input_count == 2 ? 1 : 2);
	struct onnx_value *to = onnx_output(call, 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked)
		return 0;
	onnx_set_rank(to, from->dtype, from->rank);
	if (sizes && sizes->integers)
		return resize_to(call, sizes, err);
	if (!sizes && scales && scales->reals && onnx_elements(scales) > 0)
		return resize_by(call, scales->reals, (size_t)onnx_elements(scales), err);
	return 0;
}

static int shape_upsample(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *attribute =
		onnx_call_attribute(call, "scales", ONNX_ATTR_FLOATS);
	const struct onnx_value *from = onnx_input(call, 0), *scales = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked)
		return 0;
	onnx_set_rank(to, from->dtype, from->rank);
	if (attribute)
		return resize_by(call, attribute->reals, attribute->count, err);
	if (scales && scales->reals)
		return resize_by(call, scales->reals, (size_t)onnx_elements(scales), err);
	return 0;
}

/* ---- grids and regions ---- */

static int shape_grid_sample(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *grid = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked || !grid || !grid->ranked)
		return 0;
	if (from->rank < 3 || grid->rank != from->rank)
		return onnx_clash(call, err, "a grid of %zu dimensions for %zu", grid->rank,
				  from->rank);
	onnx_set_shape(to, from->dtype, from->rank, from->dims);
	memcpy(to->dims + 2, grid->dims + 1, (from->rank - 2) * sizeof(*to->dims));
	return 0;
}

static int shape_affine_grid(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *theta = onnx_input(call, 0), *size = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_type(to, theta ? theta->dtype : ONNX_NONE);
	if (!size || !size->integers || onnx_elements(size) < 3 ||
	    onnx_elements(size) > STRATA_TENSOR_RANK_MAX)
		return 0;
	onnx_set_rank(to, to->dtype, (size_t)onnx_elements(size));
	to->dims[0] = onnx_element_dim(size, 0);
	for (size_t i = 2; i < to->rank; i++)
		to->dims[i - 1] = onnx_element_dim(size, i);
	to->dims[to->rank - 1] = (int64_t)to->rank - 2;
	return 0;
}

static int shape_roi_align(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *regions = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_rank(to, from->dtype, 4);
	to->dims[0] = regions && regions->ranked && regions->rank ? regions->dims[0] : -1;
	to->dims[1] = from->ranked && from->rank == 4 ? from->dims[1] : -1;
	int64_t height = onnx_call_int(call, "output_height", 1);
	int64_t width = onnx_call_int(call, "output_width", 1);

	to->dims[2] = height < 0 ? -1 : height;
	to->dims[3] = width < 0 ? -1 : width;
	return 0;
}

static int shape_max_roi_pool(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *pooled =
		onnx_call_attribute(call, "pooled_shape", ONNX_ATTR_INTS);
	const struct onnx_value *from = onnx_input(call, 0), *regions = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_rank(to, from->dtype, 4);
	to->dims[0] = regions && regions->ranked && regions->rank ? regions->dims[0] : -1;
	to->dims[1] = from->ranked && from->rank == 4 ? from->dims[1] : -1;
	for (size_t i = 0; pooled && i < 2 && i < pooled->count; i++)
		to->dims[2 + i] = pooled->integers[i] < 0 ? -1 : pooled->integers[i];
	return 0;
}

static int shape_center_crop_pad(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *axes = onnx_call_attribute(call, "axes", ONNX_ATTR_INTS);
	const struct onnx_value *from = onnx_input(call, 0), *shape = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis;

	onnx_set_like(to, from);
	if (!from || !from->ranked)
		return 0;
	for (size_t i = 0; i < (axes ? axes->count : from->rank); i++) {
		if (!onnx_axis(axes ? axes->integers[i] : (int64_t)i, from->rank, &axis))
			return onnx_clash(call, err, "there is no such axis");
		to->dims[axis] = shape && shape->integers && (int64_t)i < onnx_elements(shape)
					 ? onnx_element_dim(shape, i)
					 : -1;
	}
	return 0;
}

static int shape_col2im(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *image = onnx_input(call, 1),
				*block = onnx_input(call, 2);
	struct onnx_value *to = onnx_output(call, 0);
	int64_t window = 1;

	(void)err;
	onnx_set_type(to, from ? from->dtype : ONNX_NONE);
	if (!from || !from->ranked || from->rank != 3 || !image || !image->integers || !block ||
	    !block->integers || onnx_elements(image) > STRATA_TENSOR_RANK_MAX - 2)
		return 0;
	for (int64_t i = 0; i < onnx_elements(block); i++)
		if (block->integers[i] < 1 ||
		    __builtin_mul_overflow(window, block->integers[i], &window))
			return 0;
	onnx_set_rank(to, from->dtype, 2 + (size_t)onnx_elements(image));
	to->dims[0] = from->dims[0];
	to->dims[1] = from->dims[1] >= 0 ? from->dims[1] / window : -1;
	for (size_t i = 2; i < to->rank; i++)
		to->dims[i] = onnx_element_dim(image, i - 2);
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "AffineGrid", shape_affine_grid },
	{ "CenterCropPad", shape_center_crop_pad },
	{ "Col2Im", shape_col2im },
	{ "GridSample", shape_grid_sample },
	{ "MaxRoiPool", shape_max_roi_pool },
	{ "Resize", shape_resize },
	{ "RoiAlign", shape_roi_align },
	{ "Upsample", shape_upsample },
};
/* clang-format on */

const struct onnx_family onnx_family_image = { "sampling", "", ops, sizeof(ops) / sizeof(ops[0]) };
