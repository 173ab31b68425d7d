/*
 * Products and convolutions of small integers: MatMulInteger, ConvInteger and their forms with scales, QLinearMatMul and QLinearConv. Operands are widened
 * to int32 with their zero points taken off first; sums are exact, so no order matters.
 */
#include "engine/native/native.h"

#include "engine/native/window.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- operands ---- */

/* A tensor of (u)int8 as int32 without its zero point, which is one number or one for each of `count` rows of `inner` elements. */
static int widen(struct native_call *call, size_t input, size_t zero_input, int64_t count,
		 int64_t inner, struct engine_value *ret_wide, struct strata_error *err)
{
	const struct engine_value *x, *zero = native_input(call, zero_input);
	struct engine_value zeros = { 0 };
	int rc = native_tensor(call, input, &x, err);

	if (rc == 0 && x->dtype != ONNX_UINT8 && x->dtype != ONNX_INT8)
		rc = native_refuse(call, err, "input %zu is %s; expected int8 or uint8", input + 1,
				   engine_dtype_name(x->dtype));
	if (rc == 0 && zero)
		rc = native_typed(call, zero_input, x->dtype, &zero, err);
	if (rc)
		return rc;
	int64_t zero_count = zero ? engine_value_elements(zero) : 1;

	if (zero_count != 1 && zero_count != count)
		return native_refuse(call, err, "input %zu has %lld zero points; expected %lld",
				     zero_input + 1, (long long)zero_count, (long long)count);
	rc = engine_value_cast(call->heap, x, ONNX_INT32, ret_wide, err);
	if (rc == 0 && zero)
		rc = engine_value_cast(call->heap, zero, ONNX_INT32, &zeros, err);
	if (rc) {
		engine_value_drop(ret_wide);
		return rc;
	}
	int32_t *to = ret_wide->data;
	int64_t elements = engine_value_elements(x);

	for (int64_t i = 0; zero && i < elements; i++)
		to[i] -= ((const int32_t *)zeros.data)[zero_count == 1 ? 0 : i / inner % count];
	engine_value_drop(&zeros);
	return 0;
}

/* What turns sums into the result's type. */
struct requantize {
	const float *a_scales, *b_scales; /* one each, or one for each row, column or channel */
	int64_t a_count, b_count;
	float y_scale;
	int32_t zero, low, high;
	int dtype;
};

static int read_requantize(struct native_call *call, struct requantize *how, size_t a, size_t b,
			   size_t y, struct strata_error *err)
{
	const struct engine_value *left, *right, *scale, *zero;
	int rc = native_typed(call, a, ONNX_FLOAT, &left, err);

	if (rc == 0)
		rc = native_typed(call, b, ONNX_FLOAT, &right, err);
	if (rc == 0)
		rc = native_typed(call, y, ONNX_FLOAT, &scale, err);
	if (rc == 0)
		rc = native_tensor(call, y + 1, &zero, err);
	if (rc)
		return rc;
	if ((zero->dtype != ONNX_INT8 && zero->dtype != ONNX_UINT8) ||
	    engine_value_elements(zero) != 1 || engine_value_elements(scale) != 1)
		return native_lacks(call, err, "several scales of the result are not built");
	how->a_scales = left->data;
	how->b_scales = right->data;
	how->a_count = engine_value_elements(left);
	how->b_count = engine_value_elements(right);
	how->y_scale = *(const float *)scale->data;
	how->dtype = zero->dtype;
	how->zero = zero->dtype == ONNX_INT8 ? *(const int8_t *)zero->data
					     : *(const uint8_t *)zero->data;
	how->low = zero->dtype == ONNX_INT8 ? -128 : 0;
	how->high = zero->dtype == ONNX_INT8 ? 127 : 255;
	return 0;
}

static uint8_t requantized(const struct requantize *how, int32_t sum, int64_t row, int64_t column)
{
	float scale = how->a_scales[how->a_count == 1 ? 0 : row] *
		      how->b_scales[how->b_count == 1 ? 0 : column] / how->y_scale;
	double q = rint((double)((float)sum * scale)) + how->zero;

	return (uint8_t)(q >= how->high ? how->high : q > how->low ? (int32_t)q : how->low);
}

/* ---- matrices ---- */

struct product {
	const int32_t *a, *b;
	int32_t *c;
	int64_t m, n, k, a_step, b_step; /* steps between matrices: 0 for one that serves all */
};

static void product_rows(void *arg, int64_t first, int64_t past)
{
	const struct product *work = arg;

	for (int64_t r = first; r < past; r++) {
		int64_t batch = r / work->m;
		const int32_t *a = work->a + batch * work->a_step + r % work->m * work->k;
		uint32_t *c = (uint32_t *)work->c + r * work->n;

		memset(c, 0, (size_t)work->n * sizeof(*c));
		for (int64_t k = 0; k < work->k; k++) {
			const uint32_t *b = (const uint32_t *)work->b + batch * work->b_step +
					    k * work->n;
			uint32_t factor = (uint32_t)a[k];

			for (int64_t j = 0; j < work->n; j++)
				c[j] += factor * b[j];
		}
	}
}

struct shape {
	int64_t m, n, k, count, a_count, b_count;
	size_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
};

static int product_shape(struct native_call *call, const struct engine_value *a,
			 const struct engine_value *b, struct shape *ret, struct strata_error *err)
{
	if (a->rank < 2 || b->rank < 2 || a->dims[a->rank - 1] != b->dims[b->rank - 2])
		return native_refuse(call, err, "the matrices do not fit together");
	struct shape shape = { .m = a->dims[a->rank - 2],
			       .k = a->dims[a->rank - 1],
			       .n = b->dims[b->rank - 1],
			       .a_count = 1,
			       .b_count = 1 };
	const struct engine_value *wide = a->rank >= b->rank ? a : b;

	for (size_t i = 0; i + 2 < a->rank; i++)
		shape.a_count *= a->dims[i];
	for (size_t i = 0; i + 2 < b->rank; i++)
		shape.b_count *= b->dims[i];
	if (shape.a_count != shape.b_count && shape.a_count != 1 && shape.b_count != 1)
		return native_lacks(call, err, "matrices stretched to each other are not built");
	wide = shape.a_count < shape.b_count ? b : shape.a_count > shape.b_count ? a : wide;
	shape.count = shape.a_count > shape.b_count ? shape.a_count : shape.b_count;
	shape.rank = wide->rank;
	memcpy(shape.dims, wide->dims, sizeof(shape.dims));
	shape.dims[shape.rank - 2] = shape.m;
	shape.dims[shape.rank - 1] = shape.n;
	*ret = shape;
	return 0;
}

/* The sums; inputs a and b with their zero points. */
static int multiply(struct native_call *call, size_t a, size_t a_zero, size_t b, size_t b_zero,
		    struct shape *shape, struct engine_value *ret_sums, struct strata_error *err)
{
	const struct engine_value *left, *right;
	struct engine_value wide_a = { 0 }, wide_b = { 0 };
	int rc = native_tensor(call, a, &left, err);

	if (rc == 0)
		rc = native_tensor(call, b, &right, err);
	if (rc == 0)
		rc = product_shape(call, left, right, shape, err);
	if (rc == 0)
		rc = widen(call, a, a_zero, shape->m, shape->k, &wide_a, err);
	if (rc == 0)
		rc = widen(call, b, b_zero, shape->n, 1, &wide_b, err);
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_INT32, shape->rank, shape->dims, ret_sums,
				       err);
	if (rc == 0 && engine_value_elements(ret_sums) > 0) {
		struct product work = { wide_a.data,
					wide_b.data,
					ret_sums->data,
					shape->m,
					shape->n,
					shape->k,
					shape->a_count == 1 ? 0 : shape->m * shape->k,
					shape->b_count == 1 ? 0 : shape->k * shape->n };

		engine_team_run(call->team, shape->count * shape->m,
				1 + 16384 / (shape->n * shape->k + 1), product_rows, &work);
	}
	engine_value_drop(&wide_a);
	engine_value_drop(&wide_b);
	return rc;
}

static int run_matmul_integer(struct native_call *call, struct strata_error *err)
{
	struct shape shape;

	return multiply(call, 0, 2, 1, 3, &shape, &call->outputs[0], err);
}

static int run_qlinear_matmul(struct native_call *call, struct strata_error *err)
{
	struct engine_value sums = { 0 };
	struct requantize how;
	struct shape shape;
	int rc = read_requantize(call, &how, 1, 4, 6, err);

	if (rc == 0)
		rc = multiply(call, 0, 2, 3, 5, &shape, &sums, err);
	if (rc == 0 && ((how.a_count != 1 && how.a_count != shape.m) ||
			(how.b_count != 1 && how.b_count != shape.n)))
		rc = native_refuse(call, err, "scales do not fit to the matrices");
	if (rc == 0)
		rc = native_make(call, 0, how.dtype, shape.rank, shape.dims, err);
	int64_t count = rc ? 0 : engine_value_elements(&sums);

	for (int64_t i = 0; i < count; i++)
		((uint8_t *)call->outputs[0].data)[i] = requantized(
			&how, ((const int32_t *)sums.data)[i], i / shape.n % shape.m, i % shape.n);
	engine_value_drop(&sums);
	return rc;
}

/* ---- convolutions ---- */

struct conv {
	struct window window;
	const int32_t *x, *w, *bias; /* bias: NULL for none */
	int32_t *to;
	int64_t channels, out_channels, groups, in_area, out_area;
};

static uint32_t conv_at(const struct conv *work, const int32_t *x, const int32_t *w,
			const int64_t *begin)
{
	const struct window *win = &work->window;
	int64_t first[WINDOW_SPATIAL_MAX], past[WINDOW_SPATIAL_MAX];
	int64_t kernel = win->kernel[0] * win->kernel[1] * win->kernel[2];
	uint32_t sum = 0;

	for (size_t i = 0; i < WINDOW_SPATIAL_MAX; i++)
		window_clip(win, i, begin[i], &first[i], &past[i]);
	for (int64_t c = 0; c < work->channels / work->groups; c++)
		for (int64_t k0 = first[0]; k0 < past[0]; k0++)
			for (int64_t k1 = first[1]; k1 < past[1]; k1++) {
				const int32_t *row =
					x + c * work->in_area +
					((begin[0] + k0 * win->dilations[0]) * win->in[1] +
					 begin[1] + k1 * win->dilations[1]) *
						win->in[2] +
					begin[2];
				const int32_t *weights = w + c * kernel +
							 (k0 * win->kernel[1] + k1) *
								 win->kernel[2];

				for (int64_t k2 = first[2]; k2 < past[2]; k2++)
					sum += (uint32_t)row[k2 * win->dilations[2]] *
					       (uint32_t)weights[k2];
			}
	return sum;
}

static void conv_planes(void *arg, int64_t first, int64_t past)
{
	const struct conv *work = arg;
	const struct window *win = &work->window;
	int64_t width = work->channels / work->groups;
	int64_t kernel = win->kernel[0] * win->kernel[1] * win->kernel[2];

	for (int64_t plane = first; plane < past; plane++) {
		int64_t out = plane % work->out_channels;
		int64_t group = out / (work->out_channels / work->groups);
		const int32_t *x = work->x +
				   (plane / work->out_channels * work->channels + group * width) *
					   work->in_area;
		const int32_t *w = work->w + out * width * kernel;
		uint32_t bias = work->bias ? (uint32_t)work->bias[out] : 0;

		for (int64_t i = 0; i < work->out_area; i++) {
			int64_t at[WINDOW_SPATIAL_MAX] = { i / win->out[2] / win->out[1],
							   i / win->out[2] % win->out[1],
							   i % win->out[2] };

			for (size_t k = 0; k < WINDOW_SPATIAL_MAX; k++)
				at[k] = at[k] * win->strides[k] - win->before[k];
			work->to[plane * work->out_area + i] =
				(int32_t)(conv_at(work, x, w, at) + bias);
		}
	}
}

static int conv_shape(struct native_call *call, const struct engine_value *x,
		      const struct engine_value *w, struct conv *conv, int64_t *dims,
		      struct strata_error *err)
{
	conv->groups = native_int(call, "group", 1);
	if (x->rank < 3 || w->rank != x->rank || conv->groups < 1 || conv->groups > INT32_MAX ||
	    w->dims[1] * conv->groups != x->dims[1] || w->dims[0] % conv->groups)
		return native_refuse(call, err, "weights do not fit to the input");
	int rc = window_read(call, x, w->dims + 2, &conv->window, err);

	if (rc)
		return rc;
	conv->channels = x->dims[1];
	conv->out_channels = w->dims[0];
	conv->in_area = window_in_area(&conv->window);
	conv->out_area = window_out_area(&conv->window);
	dims[0] = x->dims[0];
	dims[1] = w->dims[0];
	memcpy(dims + 2, conv->window.out + (WINDOW_SPATIAL_MAX - conv->window.spatial),
	       conv->window.spatial * sizeof(*dims));
	return 0;
}

/* The sums of a convolution; x, w and their zero points by input. */
static int convolve(struct native_call *call, size_t x_at, size_t x_zero, size_t w_at,
		    size_t w_zero, const int32_t *bias, struct engine_value *ret_sums,
		    struct strata_error *err)
{
	const struct engine_value *x, *w;
	struct engine_value wide_x = { 0 }, wide_w = { 0 };
	struct conv conv = { .bias = bias };
	int64_t dims[2 + WINDOW_SPATIAL_MAX];
	int rc = native_tensor(call, x_at, &x, err);

	if (rc == 0)
		rc = native_tensor(call, w_at, &w, err);
	if (rc == 0)
		rc = conv_shape(call, x, w, &conv, dims, err);
	if (rc == 0)
		rc = widen(call, x_at, x_zero, 1, 1, &wide_x, err);
	if (rc == 0)
		rc = widen(call, w_at, w_zero, w->dims[0],
			   w->dims[0] ? engine_value_elements(w) / w->dims[0] : 1, &wide_w, err);
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_INT32, x->rank, dims, ret_sums, err);
	if (rc == 0 && engine_value_elements(ret_sums) > 0) {
		conv.x = wide_x.data;
		conv.w = wide_w.data;
		conv.to = ret_sums->data;
		engine_team_run(call->team, dims[0] * dims[1], 1, conv_planes, &conv);
	}
	engine_value_drop(&wide_x);
	engine_value_drop(&wide_w);
	return rc;
}

static int run_conv_integer(struct native_call *call, struct strata_error *err)
{
	return convolve(call, 0, 2, 1, 3, NULL, &call->outputs[0], err);
}

static int run_qlinear_conv(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *w, *bias = native_input(call, 8);
	struct engine_value sums = { 0 };
	struct requantize how;
	int rc = read_requantize(call, &how, 1, 4, 6, err);

	if (rc == 0)
		rc = native_tensor(call, 3, &w, err);
	if (rc == 0 && bias)
		rc = native_typed(call, 8, ONNX_INT32, &bias, err);
	if (rc)
		return rc;
	int64_t channels = w->rank ? w->dims[0] : 0;

	if ((bias && engine_value_elements(bias) != channels) || how.a_count != 1 ||
	    (how.b_count != 1 && how.b_count != channels))
		return native_refuse(call, err, "scales or bias do not fit to %lld channels",
				     (long long)channels);
	rc = convolve(call, 0, 2, 3, 5, bias ? bias->data : NULL, &sums, err);
	if (rc == 0)
		rc = native_make(call, 0, how.dtype, sums.rank, sums.dims, err);
	int64_t count = rc ? 0 : engine_value_elements(&sums), area = 1;

	for (size_t i = 2; i < sums.rank; i++)
		area *= sums.dims[i];
	for (int64_t i = 0; i < count; i++)
		((uint8_t *)call->outputs[0].data)[i] =
			requantized(&how, ((const int32_t *)sums.data)[i], 0, i / area % channels);
	engine_value_drop(&sums);
	return rc;
}

static const struct native_op ops[] = {
	{ "ConvInteger", run_conv_integer },
	{ "MatMulInteger", run_matmul_integer },
	{ "QLinearConv", run_qlinear_conv },
	{ "QLinearMatMul", run_qlinear_matmul },
};

const struct native_family native_family_integer = { "products of small integers", "", ops,
						     sizeof(ops) / sizeof(ops[0]) };
