/*
 * Pooling: the largest, the mean or the norm of what a window covers, and MaxUnpool, which puts the largest back. A channel of a member is one
 * piece of work; windows are cut to the input first, so that the loops inside have nothing to ask.
 */
#include "engine/native/native.h"

#include "engine/native/window.h"
#include "engine/team.h"

#include <math.h>
#include <string.h>

enum pool { POOL_MAX, POOL_MEAN, POOL_NORM };

struct pool_work {
	struct window window;
	const void *from;
	void *to;
	int64_t *indices; /* of the largest; NULL: not wanted */
	int64_t in_area, out_area;
	bool count_pads;    /* the mean is of padding too */
	bool columns_first; /* order in which indices are counted */
	double power;       /* of the norm */
	void (*plane)(const struct pool_work *work, const void *from, void *to, int64_t plane);
};

/* Where a window stands, cut to the input. */
struct spot {
	int64_t begin[WINDOW_SPATIAL_MAX], first[WINDOW_SPATIAL_MAX], past[WINDOW_SPATIAL_MAX];
};

static void spot_at(const struct window *window, size_t axis, int64_t at, struct spot *spot)
{
	spot->begin[axis] = at * window->strides[axis] - window->before[axis];
	window_clip(window, axis, spot->begin[axis], &spot->first[axis], &spot->past[axis]);
}

#define EACH_WINDOW(w, spot)                                                                       \
	for (int64_t o0 = 0; o0 < (w)->out[0] && (spot_at(w, 0, o0, &(spot)), true); o0++)         \
		for (int64_t o1 = 0; o1 < (w)->out[1] && (spot_at(w, 1, o1, &(spot)), true); o1++) \
			for (int64_t o2 = 0;                                                       \
			     o2 < (w)->out[2] && (spot_at(w, 2, o2, &(spot)), true); o2++)

/* The rows of a window: `row` is where its element 0 of the last dimension would be. */
#define EACH_ROW(w, spot, row)                                                                \
	for (int64_t k0 = (spot).first[0]; k0 < (spot).past[0]; k0++)                         \
		for (int64_t k1 = (spot).first[1],                                            \
			     row = (((spot).begin[0] + k0 * (w)->dilations[0]) * (w)->in[1] + \
				    (spot).begin[1] + k1 * (w)->dilations[1]) *               \
					   (w)->in[2] +                                       \
				   (spot).begin[2];                                           \
		     k1 < (spot).past[1]; k1++, row += (w)->dilations[1] * (w)->in[2])

/* An index as it is counted: rows first, or columns first within the channel. */
static int64_t index_of(const struct pool_work *work, int64_t plane, int64_t at)
{
	const struct window *w = &work->window;

	if (work->columns_first) {
		int64_t i2 = at % w->in[2], i1 = at / w->in[2] % w->in[1],
			i0 = at / w->in[2] / w->in[1];

		at = (i2 * w->in[1] + i1) * w->in[0] + i0;
	}
	return plane * work->in_area + at;
}

#define MAX_PLANE(type, lowest)                                                                   \
	static void max_##type(const struct pool_work *work, const void *from_any, void *to_any,  \
			       int64_t plane)                                                     \
	{                                                                                         \
		const struct window *w = &work->window;                                           \
		const type *from = from_any;                                                      \
		type *to = to_any;                                                                \
		int64_t *indices = work->indices ? work->indices + plane * work->out_area : NULL; \
		struct spot spot;                                                                 \
		EACH_WINDOW(w, spot)                                                              \
		{                                                                                 \
			type most = lowest;                                                       \
			int64_t where = -1;                                                       \
			EACH_ROW(w, spot, row)                                                    \
			for (int64_t k = spot.first[2]; k < spot.past[2]; k++) {                  \
				int64_t at = row + k * w->dilations[2];                           \
				if (from[at] > most || where < 0 || from[at] != from[at]) {       \
					most = from[at];                                          \
					where = at;                                               \
				}                                                                 \
			}                                                                         \
			*to++ = most;                                                             \
			if (indices)                                                              \
				*indices++ = index_of(work, plane, where < 0 ? 0 : where);        \
		}                                                                                 \
	}
MAX_PLANE(float, -INFINITY)
MAX_PLANE(double, -INFINITY)
MAX_PLANE(int8_t, INT8_MIN)
MAX_PLANE(uint8_t, 0)

/* The columns of a row of results whose element `k` of the window is inside the input: first … past − 1. */
static void columns_inside(const struct window *w, int64_t k, int64_t *ret_first, int64_t *ret_past)
{
	int64_t offset = k * w->dilations[2] - w->before[2], stride = w->strides[2];
	int64_t room = w->in[2] - 1 - offset;
	int64_t past = room < 0 ? 0 : room / stride + 1;

	*ret_first = offset < 0 ? (-offset + stride - 1) / stride : 0;
	*ret_past = past < w->out[2] ? past : w->out[2];
}

/* to = the larger of `to` and x, as max_float compares. The stride is a constant where it is called: then it is done in vectors. */
static inline void keep_larger(const float *from, int64_t stride, int64_t first, int64_t past,
			       float *restrict to)
{
	for (int64_t i = first; i < past; i++) {
		float x = from[i * stride];

		to[i] = x > to[i] || x != x ? x : to[i];
	}
}

/* One element of the kernel for a row of results at a time; for each result in the order of max_float. */
static void max_rows(const struct pool_work *work, const void *from_any, void *to_any, int64_t plane)
{
	const struct window *w = &work->window;
	float *to = to_any;
	struct spot spot = { 0 };

	(void)plane;
	spot.begin[2] = -w->before[2];
	for (int64_t o = 0; o < w->out[0] * w->out[1]; o++, to += w->out[2]) {
		spot_at(w, 0, o / w->out[1], &spot);
		spot_at(w, 1, o % w->out[1], &spot);
		for (int64_t i = 0; i < w->out[2]; i++)
			to[i] = -INFINITY;
		EACH_ROW(w, spot, row)
		for (int64_t k = 0; k < w->kernel[2]; k++) {
			const float *from = (const float *)from_any + row + k * w->dilations[2];
			int64_t first, past;

			columns_inside(w, k, &first, &past);
			if (w->strides[2] == 1)
				keep_larger(from, 1, first, past, to);
			else if (w->strides[2] == 2)
				keep_larger(from, 2, first, past, to);
			else
				keep_larger(from, w->strides[2], first, past, to);
		}
	}
}

/* How many elements a mean is of: those of the window that are inside the input, or inside the padded one. */
static int64_t mean_count(const struct pool_work *work, const struct spot *spot)
{
	int64_t count = 1;

	for (size_t i = 0; i < WINDOW_SPATIAL_MAX; i++) {
		const struct window *w = &work->window;
		int64_t room = w->in[i] + w->after[i] - spot->begin[i], step = w->dilations[i];
		int64_t padded = (room + step - 1) / step;

		count *= !work->count_pads       ? spot->past[i] - spot->first[i]
			 : padded < w->kernel[i] ? padded
						 : w->kernel[i];
	}
	return count;
}

#define MEAN_PLANE(type)                                                                          \
	static void mean_##type(const struct pool_work *work, const void *from_any, void *to_any, \
				int64_t plane)                                                    \
	{                                                                                         \
		const struct window *w = &work->window;                                           \
		const type *from = from_any;                                                      \
		type *to = to_any;                                                                \
		struct spot spot;                                                                 \
		EACH_WINDOW(w, spot)                                                              \
		{                                                                                 \
			type sum = 0;                                                             \
			EACH_ROW(w, spot, row)                                                    \
			for (int64_t k = spot.first[2]; k < spot.past[2]; k++)                    \
				sum += from[row + k * w->dilations[2]];                           \
			int64_t count = mean_count(work, &spot);                                  \
			*to++ = count > 0 ? sum / (type)count : 0;                                \
		}                                                                                 \
		(void)plane;                                                                      \
	}
MEAN_PLANE(float)
MEAN_PLANE(double)

static void norm_float(const struct pool_work *work, const void *from_any, void *to_any,
		       int64_t plane)
{
	const struct window *w = &work->window;
	const float *from = from_any;
	float *to = to_any;
	struct spot spot;

	(void)plane;
	EACH_WINDOW(w, spot)
	{
		double sum = 0;

		EACH_ROW(w, spot, row)
		for (int64_t k = spot.first[2]; k < spot.past[2]; k++) {
			double x = fabs(from[row + k * w->dilations[2]]);

			sum += work->power == 2   ? x * x
			       : work->power == 1 ? x
						  : pow(x, work->power);
		}
		*to++ = (float)(work->power == 2   ? sqrt(sum)
				: work->power == 1 ? sum
						   : pow(sum, 1 / work->power));
	}
}

static void planes(void *arg, int64_t first, int64_t past)
{
	const struct pool_work *work = arg;
	size_t width = work->plane == max_double || work->plane == mean_double   ? 8
		       : work->plane == max_int8_t || work->plane == max_uint8_t ? 1
										 : 4;

	for (int64_t plane = first; plane < past; plane++)
		work->plane(work,
			    (const char *)work->from + (size_t)(plane * work->in_area) * width,
			    (char *)work->to + (size_t)(plane * work->out_area) * width, plane);
}

static bool choose_plane(struct pool_work *work, enum pool form, int dtype, bool indices)
{
	switch (form) {
	case POOL_MAX:
		work->plane = dtype == ONNX_FLOAT    ? (indices ? max_float : max_rows)
			      : dtype == ONNX_DOUBLE ? max_double
			      : dtype == ONNX_INT8   ? max_int8_t
			      : dtype == ONNX_UINT8  ? max_uint8_t
						     : NULL;
		break;
	case POOL_MEAN:
		work->plane = dtype == ONNX_FLOAT    ? mean_float
			      : dtype == ONNX_DOUBLE ? mean_double
						     : NULL;
		break;
	case POOL_NORM:
		work->plane = dtype == ONNX_FLOAT ? norm_float : NULL;
		break;
	}
	return work->plane;
}

static int run_windows(struct native_call *call, enum pool form, struct strata_error *err)
{
	const struct engine_value *x;
	struct pool_work work = { .power = (double)native_int(call, "p", 2) };
	int64_t dims[2 + WINDOW_SPATIAL_MAX];
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = window_read(call, x, NULL, &work.window, err);
	if (rc)
		return rc;
	if (!choose_plane(&work, form, x->dtype, native_wants(call, 1)))
		return native_lacks(call, err, "it is not built for %s",
				    engine_dtype_name(x->dtype));
	memcpy(dims, x->dims, 2 * sizeof(*dims));
	memcpy(dims + 2, work.window.out + (WINDOW_SPATIAL_MAX - work.window.spatial),
	       work.window.spatial * sizeof(*dims));
	rc = native_make(call, 0, x->dtype, x->rank, dims, err);
	if (rc == 0 && form == POOL_MAX && native_wants(call, 1))
		rc = native_make(call, 1, ONNX_INT64, x->rank, dims, err);
	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.indices = form == POOL_MAX && native_wants(call, 1) ? call->outputs[1].data : NULL;
	work.in_area = window_in_area(&work.window);
	work.out_area = window_out_area(&work.window);
	work.count_pads = native_int(call, "count_include_pad", 0);
	work.columns_first = native_int(call, "storage_order", 0);
	if (engine_value_elements(&call->outputs[0]) > 0)
		engine_team_run(call->team, dims[0] * dims[1], 1 + 8192 / (work.in_area + 1),
				planes, &work);
	return 0;
}

static int run_max_pool(struct native_call *call, struct strata_error *err)
{
	return run_windows(call, POOL_MAX, err);
}
static int run_average_pool(struct native_call *call, struct strata_error *err)
{
	return run_windows(call, POOL_MEAN, err);
}
static int run_lp_pool(struct native_call *call, struct strata_error *err)
{
	return run_windows(call, POOL_NORM, err);
}

/* ---- over everything ---- */

struct global_work {
	enum pool form;
	const float *from;
	float *to;
	int64_t area;
	double power;
};

/* Eight running sums in double, added up in order: what a sum comes to depends on the channel alone. */
static double global_sum(const struct global_work *work, const float *from)
{
	double sums[8] = { 0 }, sum = 0;
	int64_t i = 0;

	if (work->form == POOL_NORM) {
		for (; i < work->area; i++)
			sum += pow(fabs(from[i]), work->power);
		return pow(sum, 1 / work->power);
	}
	for (; i + 8 <= work->area; i += 8)
		for (int k = 0; k < 8; k++)
			sums[k] += from[i + k];
	for (int k = 0; k < 8; k++)
		sum += sums[k];
	for (; i < work->area; i++)
		sum += from[i];
	return sum / (double)work->area;
}

static void global_planes(void *arg, int64_t first, int64_t past)
{
	const struct global_work *work = arg;

	for (int64_t plane = first; plane < past; plane++) {
		const float *from = work->from + plane * work->area;

		if (work->form != POOL_MAX) {
			work->to[plane] = (float)global_sum(work, from);
			continue;
		}
		float most = -INFINITY;

		for (int64_t i = 0; i < work->area; i++)
			most = from[i] > most || isnan(from[i]) ? from[i] : most;
		work->to[plane] = most;
	}
}

static int run_global(struct native_call *call, enum pool form, struct strata_error *err)
{
	const struct engine_value *x;
	struct global_work work = { .form = form, .area = 1 };
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc)
		return rc;
	if (x->rank < 2)
		return native_refuse(call, err, "input 1 has %u dimensions; expected 2 or more",
				     x->rank);
	for (size_t i = 0; i < x->rank; i++) {
		dims[i] = i < 2 ? x->dims[i] : 1;
		work.area *= i < 2 ? 1 : x->dims[i];
	}
	rc = native_make(call, 0, ONNX_FLOAT, x->rank, dims, err);
	if (rc)
		return rc;
	work.power = (double)native_int(call, "p", 2);
	work.from = x->data;
	work.to = call->outputs[0].data;
	engine_team_run(call->team, dims[0] * dims[1], 1 + 8192 / (work.area + 1), global_planes,
			&work);
	return 0;
}

static int run_global_average(struct native_call *call, struct strata_error *err)
{
	return run_global(call, POOL_MEAN, err);
}
static int run_global_max(struct native_call *call, struct strata_error *err)
{
	return run_global(call, POOL_MAX, err);
}
static int run_global_lp(struct native_call *call, struct strata_error *err)
{
	return run_global(call, POOL_NORM, err);
}

/* ---- MaxUnpool ---- */

/* An index into a tensor of one shape as one into a tensor of another, at the same coordinates; -1 when there is none. */
static int64_t moved_index(int64_t index, size_t rank, const int64_t *from, const int64_t *to)
{
	int64_t at = 0, step = 1;

	if (index < 0)
		return -1;
	for (size_t i = rank; i-- > 0; index /= from[i]) {
		if (from[i] == 0 || index % from[i] >= to[i])
			return -1;
		at += index % from[i] * step;
		step *= to[i];
	}
	return index ? -1 : at;
}

static int run_max_unpool(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *where;
	int64_t plain[STRATA_TENSOR_RANK_MAX], dims[STRATA_TENSOR_RANK_MAX];
	struct window window;
	size_t rank;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_INT64, &where, err);
	if (rc == 0)
		rc = window_read_attributes(call, x, NULL, &window, err);
	if (rc)
		return rc;
	size_t lack = WINDOW_SPATIAL_MAX - window.spatial;

	for (size_t i = 0; i < x->rank; i++)
		plain[i] = i < 2 ? x->dims[i]
				 : (x->dims[i] - 1) * window.strides[i - 2 + lack] -
					   window.before[i - 2 + lack] -
					   window.after[i - 2 + lack] + window.kernel[i - 2 + lack];
	memcpy(dims, plain, sizeof(dims));
	if (native_input(call, 2)) {
		rc = native_input_ints(call, 2, dims, STRATA_TENSOR_RANK_MAX, &rank, err);
		if (rc == 0 && rank != x->rank)
			rc = native_refuse(call, err, "output_shape has %zu numbers; expected %u",
					   rank, x->rank);
	}
	int64_t count = engine_value_elements(x);

	if (rc == 0 && engine_value_elements(where) != count)
		rc = native_refuse(call, err, "there are not as many indices as elements");
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, dims, err);
	if (rc)
		return rc;
	memset(call->outputs[0].data, 0, engine_value_bytes(&call->outputs[0]));
	for (int64_t i = 0; i < count; i++) {
		int64_t at = moved_index(((const int64_t *)where->data)[i], x->rank, plain, dims);

		if (at < 0)
			return native_refuse(call, err, "index %lld is outside of the output",
					     (long long)((const int64_t *)where->data)[i]);
		((float *)call->outputs[0].data)[at] = ((const float *)x->data)[i];
	}
	return 0;
}

static const struct native_op ops[] = {
	{ "AveragePool", run_average_pool }, { "GlobalAveragePool", run_global_average },
	{ "GlobalLpPool", run_global_lp },   { "GlobalMaxPool", run_global_max },
	{ "LpPool", run_lp_pool },           { "MaxPool", run_max_pool },
	{ "MaxUnpool", run_max_unpool },
};

const struct native_family native_family_pool = { "pooling", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
