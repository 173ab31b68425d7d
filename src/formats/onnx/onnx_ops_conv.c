/*
 * Operators with a window that slides over the axes behind batch and channels: convolutions and pools. One function works out the extent
 * of an output axis from kernel, stride, dilation and padding; what differs is where these come from.
 */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

struct window {
	size_t axes; /* spatial ones */
	int64_t kernel[STRATA_TENSOR_RANK_MAX], stride[STRATA_TENSOR_RANK_MAX];
	int64_t dilation[STRATA_TENSOR_RANK_MAX];
	int64_t begin[STRATA_TENSOR_RANK_MAX], end[STRATA_TENSOR_RANK_MAX]; /* padding */
	bool same, valid; /* padding that follows from the rest */
	bool ceil;
};

enum { EXTENT_MAX = 1 << 30 };  /* of a kernel, a stride …: nothing overflows */
#define DIM_MAX (INT64_MAX / 4) /* of the axis it slides over */

/* The integers of an attribute, one per axis, or `missing` for each. */
static int per_axis(struct onnx_call *call, const char *name, size_t axes, int64_t missing,
		    int64_t min, int64_t *ret, struct strata_error *err)
{
	const struct onnx_attribute *attribute = onnx_call_attribute(call, name, ONNX_ATTR_INTS);

	if (attribute && attribute->count != axes)
		return onnx_clash(call, err, "%s has %zu numbers for %zu axes", name,
				  attribute->count, axes);
	for (size_t i = 0; i < axes; i++) {
		ret[i] = attribute ? attribute->integers[i] : missing;
		if (ret[i] < min || ret[i] > EXTENT_MAX)
			return onnx_clash(call, err, "%s is %lld", name, (long long)ret[i]);
	}
	return 0;
}

static int read_window(struct onnx_call *call, size_t axes, struct window *window,
		       struct strata_error *err)
{
	int64_t pads[2 * STRATA_TENSOR_RANK_MAX];
	const char *automatic = onnx_call_text(call, "auto_pad", "NOTSET");

	*window = (struct window){ .axes = axes };
	window->same = strncmp(automatic, "SAME_", 5) == 0;
	window->valid = strcmp(automatic, "VALID") == 0;
	window->ceil = onnx_call_int(call, "ceil_mode", 0) != 0;
	int rc = per_axis(call, "strides", axes, 1, 1, window->stride, err);

	if (rc == 0)
		rc = per_axis(call, "dilations", axes, 1, 1, window->dilation, err);
	if (rc == 0)
		rc = per_axis(call, "pads", 2 * axes, 0, -EXTENT_MAX, pads, err);
	for (size_t i = 0; rc == 0 && i < axes; i++) {
		window->begin[i] = window->valid ? 0 : pads[i];
		window->end[i] = window->valid ? 0 : pads[i + axes];
	}
	return rc;
}

/* How often the window fits on axis i of n elements. */
static int64_t window_count(const struct window *window, size_t i, int64_t n)
{
	if (n < 0 || n > DIM_MAX || window->kernel[i] < 0)
		return -1;
	if (window->same)
		return n / window->stride[i] + (n % window->stride[i] != 0);
	int64_t span = (window->kernel[i] - 1) * window->dilation[i] + 1, room;

	if (__builtin_add_overflow(n, window->begin[i] + window->end[i], &room) || room < span)
		return -1;
	int64_t count = (room - span) / window->stride[i] + 1;

	if (window->ceil && (room - span) % window->stride[i] != 0 &&
	    count * window->stride[i] < n + window->begin[i])
		count++; /* one more that begins inside */
	return count;
}

/* ---- convolutions ---- */

static int conv_shape(struct onnx_call *call, const struct onnx_value *x,
		      const struct onnx_value *w, int dtype, struct strata_error *err)
{
	struct onnx_value *to = onnx_output(call, 0);
	struct window window;

	onnx_set_type(to, dtype);
	if (!x || !x->ranked)
		return 0;
	if (x->rank < 3 || (w && w->ranked && w->rank != x->rank))
		return onnx_clash(call, err, "%zu dimensions, a kernel of %zu", x->rank,
				  w ? w->rank : 0);
	int rc = read_window(call, x->rank - 2, &window, err);

	for (size_t i = 0; i < x->rank - 2; i++) /* the weights say it better than kernel_shape */
		window.kernel[i] = w && w->ranked && w->dims[2 + i] <= EXTENT_MAX ? w->dims[2 + i]
										  : -1;
	if (rc)
		return rc;
	onnx_set_rank(to, dtype, x->rank);
	to->dims[0] = x->dims[0];
	to->dims[1] = w && w->ranked ? w->dims[0] : -1;
	for (size_t i = 0; i < window.axes; i++)
		to->dims[2 + i] = window_count(&window, i, x->dims[2 + i]);
	return 0;
}

static int shape_conv(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0);

	return conv_shape(call, x, onnx_input(call, 1), x ? x->dtype : ONNX_NONE, err);
}

static int shape_conv_integer(struct onnx_call *call, struct strata_error *err)
{
	return conv_shape(call, onnx_input(call, 0), onnx_input(call, 1), ONNX_INT32, err);
}

static int shape_qlinear_conv(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *zero = onnx_input(call, 7);

	return conv_shape(call, onnx_input(call, 0), onnx_input(call, 3),
			  zero ? zero->dtype : ONNX_NONE, err);
}

/* A weight's dimensions but the first are what one output element sums over; groups are in them already. */
static double conv_flops_with(const struct onnx_call *call, const struct onnx_value *w)
{
	if (!w || w->rank < 1)
		return 0;
	return 2.0 * (double)onnx_elements(&call->outputs[0]) *
	       (double)onnx_dim_product(w->dims + 1, w->rank - 1);
}

static double conv_flops(const struct onnx_call *call)
{
	return conv_flops_with(call, onnx_input(call, 1));
}

static double qlinear_conv_flops(const struct onnx_call *call)
{
	return conv_flops_with(call, onnx_input(call, 3));
}

static int64_t transposed_extent(const struct window *window, size_t i, int64_t n, int64_t more)
{
	int64_t span = (window->kernel[i] - 1) * window->dilation[i] + 1, reach, extent;

	if (n < 0 || window->kernel[i] < 0)
		return -1;
	if (window->same)
		return __builtin_mul_overflow(n, window->stride[i], &extent) ? -1 : extent;
	if (__builtin_mul_overflow(n - 1, window->stride[i], &reach) ||
	    __builtin_add_overflow(reach, more + span - window->begin[i] - window->end[i], &extent))
		return -1;
	return extent < 0 ? -1 : extent;
}

static int shape_conv_transpose(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *fixed =
		onnx_call_attribute(call, "output_shape", ONNX_ATTR_INTS);
	const struct onnx_value *x = onnx_input(call, 0), *w = onnx_input(call, 1);
	int64_t more[STRATA_TENSOR_RANK_MAX], groups = onnx_call_int(call, "group", 1);
	struct onnx_value *to = onnx_output(call, 0);
	struct window window;

	if (!x || x->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, x->dtype);
	if (!x->ranked || !w || !w->ranked)
		return 0;
	if (x->rank < 3 || w->rank != x->rank)
		return onnx_clash(call, err, "%zu dimensions, a kernel of %zu", x->rank, w->rank);
	int rc = read_window(call, x->rank - 2, &window, err);

	if (rc == 0)
		rc = per_axis(call, "output_padding", window.axes, 0, 0, more, err);
	if (rc)
		return rc;
	onnx_set_rank(to, x->dtype, x->rank);
	to->dims[0] = x->dims[0];
	if (w->dims[1] < 0 || groups < 1 ||
	    __builtin_mul_overflow(w->dims[1], groups, &to->dims[1]))
		to->dims[1] = -1;
	for (size_t i = 0; i < window.axes; i++) {
		window.kernel[i] = w->dims[2 + i] <= EXTENT_MAX ? w->dims[2 + i] : -1;
		to->dims[2 + i] = transposed_extent(&window, i, x->dims[2 + i], more[i]);
		/* older files count batch and channels among them */
		if (fixed && fixed->count >= window.axes)
			to->dims[2 + i] = fixed->integers[fixed->count - window.axes + i] >= 0
						  ? fixed->integers[fixed->count - window.axes + i]
						  : -1;
	}
	return 0;
}

/* Each input element is spread over the kernel and the channels of its group. */
static double conv_transpose_flops(const struct onnx_call *call)
{
	const struct onnx_value *x = onnx_input(call, 0), *w = onnx_input(call, 1);

	return w && w->rank ? 2.0 * (double)onnx_elements(x) *
				      (double)onnx_dim_product(w->dims + 1, w->rank - 1)
			    : 0;
}

/* ---- pools ---- */

static int pool_shape(struct onnx_call *call, struct onnx_value *to, int dtype,
		      struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0);
	struct window window;

	if (!x || x->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, dtype);
	if (!x->ranked)
		return 0;
	if (x->rank < 3)
		return onnx_clash(call, err, "%zu dimensions leave nothing to pool", x->rank);
	int rc = read_window(call, x->rank - 2, &window, err);

	if (rc == 0)
		rc = per_axis(call, "kernel_shape", window.axes, -1, 1, window.kernel, err);
	if (rc)
		return rc;
	onnx_set_rank(to, dtype, x->rank);
	to->dims[0] = x->dims[0];
	to->dims[1] = x->dims[1];
	for (size_t i = 0; i < window.axes; i++)
		to->dims[2 + i] = window_count(&window, i, x->dims[2 + i]);
	return 0;
}

static int shape_pool(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0);
	int rc = pool_shape(call, onnx_output(call, 0), x ? x->dtype : ONNX_NONE, err);

	if (rc == 0 && call->output_count > 1) /* MaxPool: where the largest were */
		rc = pool_shape(call, onnx_output(call, 1), ONNX_INT64, err);
	return rc;
}

static int shape_global_pool(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_like(to, x);
	for (size_t i = 2; x && i < to->rank; i++)
		to->dims[i] = 1;
	return 0;
}

static int shape_max_unpool(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *x = onnx_input(call, 0), *fixed = onnx_input(call, 2);
	struct onnx_value *to = onnx_output(call, 0);
	struct window window;

	if (!x || x->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, x->dtype);
	if (!x->ranked)
		return 0;
	if (x->rank < 3)
		return onnx_clash(call, err, "%zu dimensions leave nothing to pool", x->rank);
	int rc = read_window(call, x->rank - 2, &window, err);

	if (rc == 0)
		rc = per_axis(call, "kernel_shape", window.axes, -1, 1, window.kernel, err);
	if (rc)
		return rc;
	onnx_set_rank(to, x->dtype, x->rank);
	if (fixed) {
		for (size_t i = 0;
		     fixed->integers && i < to->rank && (int64_t)i < onnx_elements(fixed); i++)
			to->dims[i] = onnx_element_dim(fixed, i);
		return 0;
	}
	to->dims[0] = x->dims[0];
	to->dims[1] = x->dims[1];
	for (size_t i = 0; i < window.axes; i++)
		to->dims[2 + i] = transposed_extent(&window, i, x->dims[2 + i], 0);
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "AveragePool", shape_pool },
	{ "Conv", shape_conv, .flops = conv_flops },
	{ "ConvInteger", shape_conv_integer, .flops = conv_flops },
	{ "ConvTranspose", shape_conv_transpose, .flops = conv_transpose_flops },
	{ "DeformConv", shape_conv, .flops = conv_flops },
	{ "GlobalAveragePool", shape_global_pool },
	{ "GlobalLpPool", shape_global_pool },
	{ "GlobalMaxPool", shape_global_pool },
	{ "LpPool", shape_pool },
	{ "MaxPool", shape_pool },
	{ "MaxUnpool", shape_max_unpool },
	{ "QLinearConv", shape_qlinear_conv, .flops = qlinear_conv_flops },
};
/* clang-format on */

const struct onnx_family onnx_family_conv = { "convolutions and pools", "", ops,
					      sizeof(ops) / sizeof(ops[0]) };
