/* Signals: windows, DFT, STFT, MelWeightMatrix. Transforms are sums over a table of roots, in double: lengths are those of audio frames, not of images. */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define TURN 6.283185307179586476925287

/* A single whole number of an input. */
static int read_whole(struct native_call *call, size_t index, int64_t missing, int64_t *ret,
		      struct strata_error *err)
{
	size_t count = 1;
	int rc = 0;

	*ret = missing;
	if (native_input(call, index))
		rc = native_input_ints(call, index, ret, 1, &count, err);
	if (rc == 0 && count != 1)
		rc = native_refuse(call, err, "input %zu is not a single number", index + 1);
	return rc;
}

/* A value of doubles as the output, in another type. */
static int give(struct native_call *call, struct engine_value *wide, int64_t dtype,
		struct strata_error *err)
{
	int rc;

	if (dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16)
		dtype = ONNX_FLOAT;
	if (dtype < 1 || dtype >= ONNX_DTYPE_COUNT || dtype == ONNX_STRING ||
	    engine_dtype_bytes((int)dtype) == 0)
		rc = native_refuse(call, err, "the type %lld is not known", (long long)dtype);
	else
		rc = engine_value_cast(call->heap, wide, (int)dtype, &call->outputs[0], err);
	engine_value_drop(wide);
	return rc;
}

/* ---- windows: a − b·cos(t) + c·cos(2t) ---- */

static int run_window(struct native_call *call, double a, double b, double c,
		      struct strata_error *err)
{
	struct engine_value wide = { 0 };
	int64_t size;
	int rc = read_whole(call, 0, 0, &size, err);

	if (rc == 0 && size < 0)
		rc = native_refuse(call, err, "size is %lld", (long long)size);
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_DOUBLE, 1, &size, &wide, err);
	if (rc)
		return rc;
	double period = (double)(native_int(call, "periodic", 1) ? size : size - 1);

	for (int64_t i = 0; i < size; i++) {
		double t = period > 0 ? TURN * (double)i / period : 0;

		((double *)wide.data)[i] = a - b * cos(t) + c * cos(2 * t);
	}
	return give(call, &wide, native_int(call, "output_datatype", ONNX_FLOAT), err);
}

static int run_hann(struct native_call *call, struct strata_error *err)
{
	return run_window(call, 0.5, 0.5, 0, err);
}
static int run_hamming(struct native_call *call, struct strata_error *err)
{
	return run_window(call, 25.0 / 46, 21.0 / 46, 0, err);
}
static int run_blackman(struct native_call *call, struct strata_error *err)
{
	return run_window(call, 0.42, 0.5, 0.08, err);
}

/* ---- transforms ---- */

/* Rows of complex or real doubles, `step` apart, transformed to `bins` of complex ones. */
struct transform {
	int64_t length, bins; /* of the transform; input beyond its own `in` is 0 */
	int64_t in, width;    /* width: 1 for real input, 2 for complex */
	bool inverse;
	const double *roots; /* cos and sin of each of `length` angles */
};

static void fill_roots(double *roots, int64_t length)
{
	for (int64_t i = 0; i < length; i++) {
		roots[2 * i] = cos(TURN * (double)i / (double)length);
		roots[2 * i + 1] = sin(TURN * (double)i / (double)length);
	}
}

static void transform_row(const struct transform *how, const double *from, int64_t step,
			  const double *window, double *to, int64_t to_step)
{
	int64_t count = how->in < how->length ? how->in : how->length;
	double scale = how->inverse ? 1 / (double)how->length : 1;

	for (int64_t k = 0; k < how->bins; k++) {
		double real = 0, imaginary = 0;

		for (int64_t n = 0, turn = 0; n < count; n++, turn = (turn + k) % how->length) {
			double c = how->roots[2 * turn], s = how->roots[2 * turn + 1];
			double w = window ? window[n] : 1;
			double a = from[n * step * how->width] * w;
			double b = how->width == 2 ? from[n * step * 2 + 1] * w : 0;

			s = how->inverse ? s : -s;
			real += a * c - b * s;
			imaginary += a * s + b * c;
		}
		to[k * to_step * 2] = real * scale;
		to[k * to_step * 2 + 1] = imaginary * scale;
	}
}

struct dft_work {
	struct transform how;
	const double *from;
	double *to;
	int64_t inner; /* elements between those of a row */
};

static void dft_rows(void *arg, int64_t first, int64_t past)
{
	const struct dft_work *work = arg;

	for (int64_t r = first; r < past; r++) {
		int64_t o = r / work->inner, i = r % work->inner;

		transform_row(&work->how,
			      work->from + (o * work->how.in * work->inner + i) * work->how.width,
			      work->inner, NULL,
			      work->to + (o * work->how.bins * work->inner + i) * 2, work->inner);
	}
}

static int dft_read(struct native_call *call, const struct engine_value *x, struct transform *how,
		    size_t *ret_axis, struct strata_error *err)
{
	bool half = native_int(call, "onesided", 0);
	int64_t axis = native_int(call, "axis", 1);
	int rc = call->opset >= 20 ? read_whole(call, 2, -2, &axis, err) : 0;

	if (rc == 0 && (x->rank < 2 || (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 1] != 2)))
		rc = native_refuse(call, err, "the last dimension is not 1 or 2");
	if (rc == 0)
		rc = native_axis(call, axis, x->rank, ret_axis, err);
	if (rc == 0 && *ret_axis == x->rank - 1)
		rc = native_refuse(call, err, "axis is the last one");
	if (rc)
		return rc;
	how->in = x->dims[*ret_axis];
	how->width = x->dims[x->rank - 1];
	how->inverse = native_int(call, "inverse", 0);
	rc = read_whole(call, 1, how->in, &how->length, err);
	if (rc == 0 && (how->length < 1 || how->length > INT32_MAX))
		rc = native_refuse(call, err, "dft_length is %lld", (long long)how->length);
	if (rc == 0 && half && (how->inverse || how->width == 2))
		rc = native_lacks(call, err, "one side of an inverse or complex one is not built");
	how->bins = half ? how->length / 2 + 1 : how->length;
	return rc;
}

static int run_dft(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value in = { 0 }, out = { 0 };
	struct dft_work work = { .inner = 1 };
	int64_t dims[STRATA_TENSOR_RANK_MAX], rows = 1;
	size_t axis = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE)
		rc = native_refuse(call, err, "input 1 is %s; expected float32",
				   engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = dft_read(call, x, &work.how, &axis, err);
	if (rc == 0)
		rc = engine_value_cast(call->heap, x, ONNX_DOUBLE, &in, err);
	if (rc)
		return rc;
	memcpy(dims, x->dims, sizeof(dims));
	dims[axis] = work.how.bins;
	dims[x->rank - 1] = 2;
	for (size_t i = 0; i + 1 < x->rank; i++) {
		rows *= i == axis ? 1 : x->dims[i];
		work.inner *= i > axis ? x->dims[i] : 1;
	}
	size_t bytes = (size_t)work.how.length * 2 * sizeof(double);
	double *roots = native_scratch(call, bytes, err);

	rc = roots ? engine_value_make(call->heap, ONNX_DOUBLE, x->rank, dims, &out, err) : -ENOMEM;
	if (rc == 0) {
		fill_roots(roots, work.how.length);
		work.how.roots = roots;
		work.from = in.data;
		work.to = out.data;
		engine_team_run(call->team, rows, 1, dft_rows, &work);
		rc = give(call, &out, x->dtype, err);
	}
	engine_heap_put(call->heap, roots, bytes);
	engine_value_drop(&in);
	return rc;
}

/* ---- STFT ---- */

struct stft {
	struct transform how;
	int64_t members, length, step, frames;
	struct engine_value signal, window; /* doubles */
};

static int stft_read(struct native_call *call, struct stft *stft, struct strata_error *err)
{
	const struct engine_value *x, *window = native_input(call, 2);
	bool half = native_int(call, "onesided", 1);
	int64_t size = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_whole(call, 1, 0, &stft->step, err);
	if (rc == 0 && window)
		rc = native_typed(call, 2, x->dtype, &window, err);
	if (rc == 0)
		rc = read_whole(call, 3, window ? engine_value_elements(window) : 0, &size, err);
	if (rc == 0 && (x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE))
		rc = native_refuse(call, err, "input 1 is %s; expected float32",
				   engine_dtype_name(x->dtype));
	if (rc)
		return rc;
	if (x->rank < 2 || x->rank > 3 || stft->step < 1 || size < 1 || x->dims[1] < size ||
	    (window && engine_value_elements(window) != size) ||
	    (x->rank == 3 && x->dims[2] != 1 && x->dims[2] != 2))
		return native_refuse(call, err,
				     "frames of %lld every %lld do not fit to the signal",
				     (long long)size, (long long)stft->step);
	stft->members = x->dims[0];
	stft->length = x->dims[1];
	stft->how.in = stft->how.length = size;
	stft->how.width = x->rank == 3 ? x->dims[2] : 1;
	if (half && stft->how.width == 2)
		return native_lacks(call, err, "one side of a complex signal is not built");
	stft->how.bins = half ? size / 2 + 1 : size;
	stft->frames = (stft->length - size) / stft->step + 1;
	rc = engine_value_cast(call->heap, x, ONNX_DOUBLE, &stft->signal, err);
	return rc || !window
		       ? rc
		       : engine_value_cast(call->heap, window, ONNX_DOUBLE, &stft->window, err);
}

static void stft_frames(void *arg, int64_t first, int64_t past)
{
	const struct stft *const *both = arg;
	const struct stft *stft = both[0];
	double *to = (double *)both[1];

	for (int64_t f = first; f < past; f++) {
		int64_t at = f / stft->frames * stft->length + f % stft->frames * stft->step;

		transform_row(&stft->how, (const double *)stft->signal.data + at * stft->how.width,
			      1, stft->window.data, to + f * stft->how.bins * 2, 1);
	}
}

static int run_stft(struct native_call *call, struct strata_error *err)
{
	struct stft stft = { 0 };
	struct engine_value out = { 0 };
	double *roots = NULL;
	size_t bytes = 0;
	int rc = stft_read(call, &stft, err);

	if (rc == 0) {
		bytes = (size_t)stft.how.length * 2 * sizeof(double);
		roots = native_scratch(call, bytes, err);
		rc = roots ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_DOUBLE, 4,
				       (int64_t[]){ stft.members, stft.frames, stft.how.bins, 2 },
				       &out, err);
	if (rc == 0) {
		const void *both[2] = { &stft, out.data };

		fill_roots(roots, stft.how.length);
		stft.how.roots = roots;
		engine_team_run(call->team, stft.members * stft.frames, 1, stft_frames, both);
		rc = give(call, &out, call->inputs[0]->dtype, err);
	}
	engine_heap_put(call->heap, roots, bytes);
	engine_value_drop(&stft.signal);
	engine_value_drop(&stft.window);
	return rc;
}

/* ---- MelWeightMatrix ---- */

struct mel {
	int64_t count, length, rate, bins;
	double low, high;
};

/* The bin of a mel edge, as the operator's definition rounds it. */
static int64_t mel_edge(const struct mel *mel, int64_t index)
{
	double low = 2595 * log10(1 + mel->low / 700), high = 2595 * log10(1 + mel->high / 700);
	double step = (high - low) / (double)(mel->count + 2);
	double hertz = 700 * (pow(10, ((double)index * step + low) / 2595) - 1);
	double bin = floor((double)(mel->length + 1) * hertz / (double)mel->rate);

	return bin < 0 ? 0 : bin < (double)mel->bins ? (int64_t)bin : mel->bins - 1;
}

static void mel_column(const struct mel *mel, int64_t i, double *to)
{
	int64_t low = mel_edge(mel, i), middle = mel_edge(mel, i + 1), high = mel_edge(mel, i + 2);

	if (middle == low)
		to[middle * mel->count + i] = 1;
	for (int64_t j = low; j <= middle && middle > low; j++)
		to[j * mel->count + i] = (double)(j - low) / (double)(middle - low);
	for (int64_t j = middle; j < high; j++)
		to[j * mel->count + i] = (double)(high - j) / (double)(high - middle);
}

static int run_mel(struct native_call *call, struct strata_error *err)
{
	struct engine_value wide = { 0 };
	struct mel mel;
	int rc = read_whole(call, 0, 0, &mel.count, err);

	if (rc == 0)
		rc = read_whole(call, 1, 0, &mel.length, err);
	if (rc == 0)
		rc = read_whole(call, 2, 0, &mel.rate, err);
	if (rc == 0)
		rc = native_input_real(call, 3, &mel.low, err);
	if (rc == 0)
		rc = native_input_real(call, 4, &mel.high, err);
	if (rc)
		return rc;
	if (mel.count < 1 || mel.length < 1 || mel.rate < 1 || mel.count > INT32_MAX ||
	    mel.length > INT32_MAX || !(mel.low >= 0) || !(mel.high > mel.low))
		return native_refuse(call, err, "%lld bins of %lld from %g to %g Hz",
				     (long long)mel.count, (long long)mel.length, mel.low,
				     mel.high);
	mel.bins = mel.length / 2 + 1;
	rc = engine_value_make(call->heap, ONNX_DOUBLE, 2, (int64_t[]){ mel.bins, mel.count },
			       &wide, err);
	if (rc)
		return rc;
	memset(wide.data, 0, engine_value_bytes(&wide));
	for (int64_t i = 0; i < mel.count; i++)
		mel_column(&mel, i, wide.data);
	return give(call, &wide, native_int(call, "output_datatype", ONNX_FLOAT), err);
}

static const struct native_op ops[] = {
	{ "BlackmanWindow", run_blackman }, { "DFT", run_dft },
	{ "HammingWindow", run_hamming },   { "HannWindow", run_hann },
	{ "MelWeightMatrix", run_mel },     { "STFT", run_stft },
};

const struct native_family native_family_signal = { "signals", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
