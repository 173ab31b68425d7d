/*
 * Pictures of another size: Resize and Upsample. Nearest neighbours are picked by tables (lookup.h). Linear and cubic interpolation go dimension by
 * dimension: each output position has a few taps, indices and weights that depend on the position alone.
 */
#include "engine/native/native.h"

#include "engine/native/lookup.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum mode { NEAREST, LINEAR, CUBIC };
enum coordinates {
	HALF_PIXEL,
	HALF_PIXEL_SYMMETRIC,
	PYTORCH_HALF_PIXEL,
	ALIGN_CORNERS,
	ASYMMETRIC,
	TF_HALF_PIXEL,
	TF_CROP,
};
enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };

static const char *const mode_names[] = { "nearest", "linear", "cubic" };
static const char *const coordinate_names[] = {
	"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
	"asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize",
};
static const char *const rounding_names[] = { "round_prefer_floor", "round_prefer_ceil", "floor",
					      "ceil" };

struct resize {
	enum mode mode;
	enum coordinates coordinates;
	enum rounding rounding;
	bool exclude_outside, antialias;
	double cubic;  /* coefficient a */
	float outside; /* what is beyond the picture, for tf_crop_and_resize */
	size_t rank;
	int64_t in[STRATA_TENSOR_RANK_MAX], out[STRATA_TENSOR_RANK_MAX];
	double scales[STRATA_TENSOR_RANK_MAX];
	double roi_begin[STRATA_TENSOR_RANK_MAX], roi_end[STRATA_TENSOR_RANK_MAX];
	bool changes[STRATA_TENSOR_RANK_MAX]; /* dimensions that are resized at all */
};

/* ---- reading the node ---- */

static int choose(struct native_call *call, const char *name, const char *missing,
		  const char *const *names, size_t count, int *ret_choice, struct strata_error *err)
{
	const char *text = native_text(call, name, missing);

	for (size_t i = 0; i < count; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_choice = (int)i;
			return 0;
		}
	return native_lacks(call, err, "%s '%.40s' is not known", name, text);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
static int read_forms(struct native_call *call, struct resize *how, struct strata_error *err)
{
	bool old = strcmp(call->node->kind, "Upsample") == 0 || call->opset < 11;
	bool bilinear = strcmp(native_text(call, "mode", "nearest"), "bilinear") == 0;
	int mode = LINEAR, coordinates = ASYMMETRIC, rounding = FLOOR, rc = 0;

	if (!bilinear) /* as very old files have it */
		rc = choose(call, "mode", "nearest", mode_names, COUNT(mode_names), &mode, err);
	if (rc == 0 && !old)
		rc = choose(call, "coordinate_transformation_mode", "half_pixel", coordinate_names,
			    COUNT(coordinate_names), &coordinates, err);
	if (rc == 0 && !old)
		rc = choose(call, "nearest_mode", "round_prefer_floor", rounding_names,
			    COUNT(rounding_names), &rounding, err);
	how->mode = (enum mode)mode;
	how->coordinates = (enum coordinates)coordinates;
	how->rounding = (enum rounding)rounding;
	how->exclude_outside = native_int(call, "exclude_outside", 0);
	how->antialias = native_int(call, "antialias", 0);
	how->cubic = native_real(call, "cubic_coeff_a", -0.75);
	how->outside = (float)native_real(call, "extrapolation_value", 0);
	return rc;
}

/* Dimensions that scales, sizes and roi speak of: all, or those that axes names. */
static int read_axes(struct native_call *call, size_t rank, size_t *axes, size_t *ret_count,
		     struct strata_error *err)
{
	size_t given;
	const int64_t *list = native_ints(call, "axes", &given);
	int rc = 0;

	if (given > rank)
		return native_refuse(call, err, "axes has %zu numbers for %zu dimensions", given,
				     rank);
	for (size_t i = 0; rc == 0 && i < (list ? given : rank); i++)
		rc = native_axis(call, list ? list[i] : (int64_t)i, rank, &axes[i], err);
	*ret_count = list ? given : rank;
	return rc;
}

/* Numbers of an input of any real type. */
static int read_reals(struct native_call *call, size_t input, double *ret, size_t room,
		      size_t *ret_count, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, input);
	struct engine_value wide;

	*ret_count = 0;
	if (!value)
		return 0;
	if (value->kind != ONNX_TENSOR || value->dtype == ONNX_STRING ||
	    engine_value_elements(value) > (int64_t)room)
		return native_refuse(call, err, "input %zu is not a list of numbers", input + 1);
	int rc = engine_value_cast(call->heap, value, ONNX_DOUBLE, &wide, err);

	if (rc)
		return rc;
	*ret_count = (size_t)engine_value_elements(&wide);
	memcpy(ret, wide.data, *ret_count * sizeof(double));
	engine_value_drop(&wide);
	return 0;
}

static int apply_scales(struct native_call *call, struct resize *how, const size_t *axes,
			size_t axis_count, const double *scales, size_t count,
			struct strata_error *err)
{
	if (count != axis_count)
		return native_refuse(call, err, "there are %zu scales for %zu dimensions", count,
				     axis_count);
	for (size_t i = 0; i < count; i++) {
		double size = floor((double)how->in[axes[i]] * scales[i]);

		if (!(scales[i] > 0) || !(size < 1e15))
			return native_refuse(call, err, "a scale is %g", scales[i]);
		how->scales[axes[i]] = scales[i];
		how->out[axes[i]] = (int64_t)size;
		how->changes[axes[i]] = scales[i] != 1 || how->coordinates == TF_CROP;
	}
	return 0;
}

static int apply_sizes(struct native_call *call, struct resize *how, const size_t *axes,
		       size_t axis_count, const double *sizes, size_t count,
		       struct strata_error *err)
{
	const char *policy = native_text(call, "keep_aspect_ratio_policy", "stretch");
	bool smaller = strcmp(policy, "not_larger") == 0,
	     larger = strcmp(policy, "not_smaller") == 0;
	double common = smaller ? INFINITY : 0;

	if (count != axis_count)
		return native_refuse(call, err, "there are %zu sizes for %zu dimensions", count,
				     axis_count);
	for (size_t i = 0; i < count; i++) {
		double scale = sizes[i] / (double)how->in[axes[i]];

		if (!(sizes[i] >= 0) || !(sizes[i] < 1e15) || how->in[axes[i]] == 0)
			return native_refuse(call, err, "a size is %g", sizes[i]);
		common = smaller ? fmin(common, scale) : fmax(common, scale);
	}
	for (size_t i = 0; i < count; i++) {
		size_t axis = axes[i];
		bool keeps = smaller || larger;

		how->scales[axis] = keeps ? common : sizes[i] / (double)how->in[axis];
		how->out[axis] =
			(int64_t)(keeps ? floor(common * (double)how->in[axis] + 0.5) : sizes[i]);
		how->changes[axis] = how->scales[axis] != 1 || how->coordinates == TF_CROP;
	}
	return 0;
}

/* Where scales and sizes are: Upsample has scales only, Resize had them alone before opset 11. */
static int read_sizes(struct native_call *call, struct resize *how, struct strata_error *err)
{
	bool plain = strcmp(call->node->kind, "Upsample") == 0 || call->opset < 11;
	double numbers[2 * STRATA_TENSOR_RANK_MAX], roi[2 * STRATA_TENSOR_RANK_MAX];
	size_t axes[STRATA_TENSOR_RANK_MAX], axis_count = 0, count, roi_count = 0, given;
	const double *listed = native_reals(call, "scales", &given);
	int rc = read_axes(call, how->rank, axes, &axis_count, err);

	if (rc == 0 && plain && listed)
		return apply_scales(call, how, axes, axis_count, listed, given, err);
	if (rc == 0 && !plain)
		rc = read_reals(call, 1, roi, COUNT(roi), &roi_count, err);
	if (rc == 0 && how->coordinates == TF_CROP && roi_count != 2 * axis_count)
		rc = native_refuse(call, err, "roi has %zu numbers; expected %zu", roi_count,
				   2 * axis_count);
	for (size_t i = 0; rc == 0 && how->coordinates == TF_CROP && i < axis_count; i++) {
		how->roi_begin[axes[i]] = roi[i];
		how->roi_end[axes[i]] = roi[axis_count + i];
	}
	if (rc == 0)
		rc = read_reals(call, plain ? 1 : 2, numbers, COUNT(numbers), &count, err);
	if (rc || count > 0)
		return rc ? rc : apply_scales(call, how, axes, axis_count, numbers, count, err);
	rc = read_reals(call, 3, numbers, COUNT(numbers), &count, err);
	return rc ? rc : apply_sizes(call, how, axes, axis_count, numbers, count, err);
}

/* ---- where an output position lies in the input ---- */

static double position(const struct resize *how, size_t axis, int64_t at)
{
	double in = (double)how->in[axis], out = (double)how->out[axis], x = (double)at;
	double scale = how->scales[axis], shift;

	switch (how->coordinates) {
	case ALIGN_CORNERS: /* by the size that the scale asks for, which may be between two */
		return out > 1 && scale * in > 1 ? x * (in - 1) / (scale * in - 1) : 0;
	case ASYMMETRIC:
		return x / scale;
	case TF_HALF_PIXEL:
		return (x + 0.5) / scale;
	case PYTORCH_HALF_PIXEL:
		return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
	case HALF_PIXEL_SYMMETRIC:
		shift = in / 2 * (1 - out / (scale * in));
		return shift + (x + 0.5) / scale - 0.5;
	case TF_CROP:
		return out > 1 ? how->roi_begin[axis] * (in - 1) +
					 x * (how->roi_end[axis] - how->roi_begin[axis]) *
						 (in - 1) / (out - 1)
			       : 0.5 * (how->roi_begin[axis] + how->roi_end[axis]) * (in - 1);
	default:
		return (x + 0.5) / scale - 0.5;
	}
}

static int64_t clamp(double at, int64_t count)
{
	return at > 0 ? at < (double)count ? (int64_t)at : count - 1 : 0;
}

static int64_t nearest(const struct resize *how, size_t axis, int64_t at)
{
	double x = position(how, axis, at);

	switch (how->rounding) {
	case PREFER_FLOOR:
		x = ceil(x - 0.5);
		break;
	case PREFER_CEIL:
		x = floor(x + 0.5);
		break;
	case FLOOR:
		x = floor(x);
		break;
	case CEIL:
		x = ceil(x);
	}
	return clamp(x, how->in[axis]);
}

static bool is_outside(const struct resize *how, size_t axis, int64_t at)
{
	double x = position(how, axis, at);

	return how->coordinates == TF_CROP && (x < 0 || x > (double)(how->in[axis] - 1));
}

static int run_nearest(struct native_call *call, const struct resize *how,
		       const struct engine_value *x, struct strata_error *err)
{
	const int64_t *tables[STRATA_TENSOR_RANK_MAX];
	int64_t total = 0;

	for (size_t i = 0; i < how->rank; i++)
		total += how->out[i];
	size_t bytes = (size_t)total * sizeof(int64_t);
	int64_t *room = native_scratch(call, bytes, err), *at = room;

	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < how->rank; i++) {
		tables[i] = at;
		for (int64_t k = 0; k < how->out[i]; k++)
			*at++ = !how->changes[i]        ? k
				: is_outside(how, i, k) ? -1
							: nearest(how, i, k);
	}
	const struct lookup lookup = { how->rank,
				       how->in,
				       how->out,
				       tables,
				       x->data,
				       call->outputs[0].data,
				       engine_dtype_bytes(x->dtype),
				       &how->outside };

	lookup_run(call->team, &lookup);
	engine_heap_put(call->heap, room, bytes);
	return 0;
}

/* ---- taps ---- */

/* count taps for each output position: indices and weights. */
struct taps {
	int64_t count;
	int64_t *indices;
	float *weights;
};

static double cubic_weight(double a, double x)
{
	x = fabs(x);
	return x <= 1  ? ((a + 2) * x - (a + 3)) * x * x + 1
	       : x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
		       : 0;
}

static double weight(const struct resize *how, double x)
{
	return how->mode == CUBIC ? cubic_weight(how->cubic, x) : fmax(0, 1 - fabs(x));
}

/* How far the taps reach to the left of a position, and how much they are stretched when the picture shrinks. */
static int64_t taps_of(const struct resize *how, size_t axis, double *ret_stretch)
{
	double stretch = how->antialias && how->scales[axis] < 1 ? how->scales[axis] : 1;

	*ret_stretch = stretch;
	double reach = (how->mode == CUBIC ? 2 : 1) / stretch;

	return reach > 1e6 ? -1 : -(int64_t)(floor(-reach) + 1);
}

static void fill_taps(const struct resize *how, size_t axis, int64_t left, double stretch,
		      struct taps *taps)
{
	for (int64_t o = 0; o < how->out[axis]; o++) {
		double x = position(how, axis, o), low = floor(x), ratio = x - low, sum = 0;
		int64_t *indices = taps->indices + o * taps->count;
		float *weights = taps->weights + o * taps->count;

		for (int pass = 0; pass < 2; pass++)
			for (int64_t k = 0; k < taps->count; k++) {
				double place = low + (double)(k - left), w;
				bool beyond = place < 0 || place >= (double)how->in[axis];

				w = weight(how, ((double)(k - left) - ratio) * stretch);
				if (beyond && how->exclude_outside)
					w = 0;
				if (pass == 0)
					sum += w;
				indices[k] = clamp(place, how->in[axis]);
				weights[k] = (float)(how->exclude_outside || how->antialias
							     ? sum != 0 ? w / sum : 0
							     : w);
			}
	}
}

struct axis_work {
	const float *from;
	float *to;
	const struct taps *taps;
	int64_t in, out, inner;
};

/* Rows (outer × out) of `inner` elements; with single elements, rows of `out`. */
static void axis_rows(void *arg, int64_t first, int64_t past)
{
	const struct axis_work *work = arg;
	int64_t taps = work->taps->count, inner = work->inner;

	for (int64_t r = first; r < past; r++) {
		int64_t o = r % work->out;
		const float *from = work->from + r / work->out * work->in * inner;
		const float *weights = work->taps->weights + o * taps;
		const int64_t *indices = work->taps->indices + o * taps;
		float *to = work->to + r * inner;

		for (int64_t j = 0; j < inner; j++)
			to[j] = from[indices[0] * inner + j] * weights[0];
		for (int64_t k = 1; k < taps; k++) {
			const float *at = from + indices[k] * inner;
			float w = weights[k];

			for (int64_t j = 0; j < inner; j++)
				to[j] += at[j] * w;
		}
	}
}

static void axis_points(void *arg, int64_t first, int64_t past)
{
	const struct axis_work *work = arg;
	int64_t taps = work->taps->count;

	for (int64_t r = first; r < past; r++) {
		const float *from = work->from + r * work->in, *weights = work->taps->weights;
		const int64_t *indices = work->taps->indices;
		float *to = work->to + r * work->out;

		for (int64_t o = 0; o < work->out; o++, indices += taps, weights += taps) {
			float sum = from[indices[0]] * weights[0];

			for (int64_t k = 1; k < taps; k++)
				sum += from[indices[k]] * weights[k];
			to[o] = sum;
		}
	}
}

/* One dimension: from `value` to a new one of the size wanted there. */
static int resize_axis(struct native_call *call, const struct resize *how, size_t axis,
		       const struct engine_value *value, struct engine_value *ret_value,
		       struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], outer = 1;
	struct taps taps;
	double stretch;
	int64_t left = taps_of(how, axis, &stretch);

	if (left < 0)
		return native_refuse(call, err, "a scale is %g", how->scales[axis]);
	taps.count = 2 * left + 2;
	size_t bytes = (size_t)(how->out[axis] * taps.count) * (sizeof(int64_t) + sizeof(float));

	taps.indices = native_scratch(call, bytes, err);
	if (!taps.indices)
		return -ENOMEM;
	taps.weights = (float *)(taps.indices + how->out[axis] * taps.count);
	fill_taps(how, axis, left, stretch, &taps);
	memcpy(dims, value->dims, sizeof(dims));
	dims[axis] = how->out[axis];
	int rc = engine_value_make(call->heap, ONNX_FLOAT, how->rank, dims, ret_value, err);

	if (rc == 0) {
		struct axis_work work = { value->data,   ret_value->data, &taps,
					  how->in[axis], how->out[axis],  1 };

		for (size_t i = 0; i < how->rank; i++)
			*(i <= axis ? &outer : &work.inner) *= dims[i];
		if (work.inner == 1)
			engine_team_run(call->team, outer / work.out, 1 + 4096 / (work.out + 1),
					axis_points, &work);
		else
			engine_team_run(call->team, outer, 1 + 4096 / (work.inner + 1), axis_rows,
					&work);
	}
	engine_heap_put(call->heap, taps.indices, bytes);
	return rc;
}

/* What lies beyond the picture gets the value for that. */
static void mark_outside(const struct resize *how, struct engine_value *y)
{
	int64_t count = engine_value_elements(y), inner = 1;

	for (size_t axis = how->rank; axis-- > 0; inner *= how->out[axis])
		for (int64_t o = 0; o < how->out[axis]; o++) {
			if (!how->changes[axis] || !is_outside(how, axis, o))
				continue;
			for (int64_t at = o * inner; at < count; at += how->out[axis] * inner)
				for (int64_t k = 0; k < inner; k++)
					((float *)y->data)[at + k] = how->outside;
		}
}

static int run_smooth(struct native_call *call, const struct resize *how,
		      const struct engine_value *x, struct strata_error *err)
{
	struct engine_value now = engine_value_share(x), next;
	int rc = 0;

	for (size_t axis = how->rank; rc == 0 && axis-- > 0;) {
		if (!how->changes[axis])
			continue;
		rc = resize_axis(call, how, axis, &now, &next, err);
		if (rc == 0) {
			engine_value_drop(&now);
			now = next;
		}
	}
	if (rc) {
		engine_value_drop(&now);
		return rc;
	}
	if (how->coordinates == TF_CROP && now.data != x->data)
		mark_outside(how, &now);
	call->outputs[0] = now;
	return 0;
}

static int run_resize(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct resize how = { 0 };
	int rc = native_tensor(call, 0, &x, err);

	if (rc)
		return rc;
	how.rank = x->rank;
	for (size_t i = 0; i < x->rank; i++) {
		how.in[i] = how.out[i] = x->dims[i];
		how.scales[i] = 1;
	}
	rc = read_forms(call, &how, err);
	if (rc == 0)
		rc = read_sizes(call, &how, err);
	if (rc)
		return rc;
	bool outside = how.coordinates == TF_CROP;

	if (x->dtype != ONNX_FLOAT && (how.mode != NEAREST || outside || x->dtype == ONNX_STRING))
		return native_lacks(call, err, "this form is built for float32, not for %s",
				    engine_dtype_name(x->dtype));
	if (engine_value_elements(x) == 0)
		return native_refuse(call, err, "input 1 has no elements");
	bool empty = false;

	for (size_t i = 0; i < how.rank; i++)
		empty |= how.out[i] == 0;
	if (how.mode != NEAREST && !empty)
		return run_smooth(call, &how, x, err);
	rc = native_make(call, 0, x->dtype, x->rank, how.out, err);
	return rc ? rc : run_nearest(call, &how, x, err);
}

static const struct native_op ops[] = {
	{ "Resize", run_resize },
	{ "Upsample", run_resize },
};

const struct native_family native_family_resize = { "resized pictures", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
