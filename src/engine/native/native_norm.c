/*
 * Normalisation and softmax. Sums run in double over float32, in order, so that they depend on the row alone and lose nothing; what is computed once per
 * element stays in float32.
 */
#include "engine/native/native.h"

#include "engine/native/sums.h"
#include "engine/native/vmath.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- layer normalisation ---- */

struct rows_work {
	const float *from, *scale, *bias;
	float *to, *means, *inverses;
	int64_t row; /* elements */
	double epsilon;
	bool centred; /* else the root of the mean square (RMS) */
};

static void layer_rows(void *arg, int64_t first, int64_t past)
{
	const struct rows_work *work = arg;

	for (int64_t r = first; r < past; r++) {
		const float *from = work->from + r * work->row;
		float *to = work->to + r * work->row;
		double mean, variance;

		sums_moments(from, work->row, &mean, &variance);
		if (!work->centred) {
			variance += mean * mean;
			mean = 0;
		}
		double inverse = 1 / sqrt(variance + work->epsilon);
		float shift = (float)mean, factor = (float)inverse;

		NATIVE_EACH for (int64_t i = 0; i < work->row; i++) {
			float normal = (from[i] - shift) * factor * work->scale[i];

			to[i] = work->bias ? normal + work->bias[i] : normal;
		}
		if (work->means)
			work->means[r] = shift;
		if (work->inverses)
			work->inverses[r] = factor;
	}
}

static int make_rows_output(struct native_call *call, size_t index, const struct engine_value *x,
			    size_t axis, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX];

	if (!native_wants(call, index))
		return 0;
	for (size_t i = 0; i < x->rank; i++)
		dims[i] = i < axis ? x->dims[i] : 1;
	return native_make(call, index, ONNX_FLOAT, x->rank, dims, err);
}

static int run_rows(struct native_call *call, bool centred, struct strata_error *err)
{
	const struct engine_value *x, *scale, *bias = centred ? native_input(call, 2) : NULL;
	size_t axis;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &scale, err);
	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", -1), x->rank, &axis, err);
	if (rc)
		return rc;
	struct rows_work work = { .row = 1, .centred = centred };
	int64_t rows = 1;

	for (size_t i = 0; i < x->rank; i++)
		*(i < axis ? &rows : &work.row) *= x->dims[i];
	if (engine_value_elements(scale) != work.row ||
	    (bias && (bias->dtype != ONNX_FLOAT || engine_value_elements(bias) != work.row)))
		return native_refuse(call, err, "scale and bias need %lld elements",
				     (long long)work.row);
	rc = native_make_like(call, 0, 0, err);
	if (rc == 0)
		rc = make_rows_output(call, 1, x, axis, err);
	if (rc == 0)
		rc = make_rows_output(call, 2, x, axis, err);
	if (rc)
		return rc;
	work.epsilon = native_real(call, "epsilon", 1e-5);
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.scale = scale->data;
	work.bias = bias ? bias->data : NULL;
	work.means = native_wants(call, 1) ? call->outputs[1].data : NULL;
	work.inverses = native_wants(call, 2) ? call->outputs[2].data : NULL;
	engine_team_run(call->team, rows, 1 + 8192 / (work.row + 1), layer_rows, &work);
	return 0;
}

static int run_layer(struct native_call *call, struct strata_error *err)
{
	return run_rows(call, true, err);
}

static int run_rms(struct native_call *call, struct strata_error *err)
{
	return run_rows(call, false, err);
}

/* ---- by channel: batch, instance and group normalisation ---- */

struct channel_work {
	const float *from, *scale, *bias, *mean, *variance; /* mean NULL: its own */
	float *to;
	int64_t channels, area, groups; /* groups: of channels that share mean and variance */
	double epsilon;
	bool scale_by_group;
};

static void channel_groups(void *arg, int64_t first, int64_t past)
{
	const struct channel_work *work = arg;
	int64_t width = work->channels / work->groups;

	for (int64_t g = first; g < past; g++) {
		int64_t group = g % work->groups;
		const float *from = work->from + g * width * work->area;
		float *to = work->to + g * width * work->area;
		double mean, variance;

		if (work->mean) {
			mean = work->mean[group];
			variance = work->variance[group];
		} else {
			sums_moments(from, width * work->area, &mean, &variance);
		}
		double inverse = 1 / sqrt(variance + work->epsilon);

		for (int64_t c = 0; c < width; c++) {
			int64_t channel = work->scale_by_group ? group : group * width + c;
			float factor = (float)(inverse * work->scale[channel]);
			float shift = (float)(work->bias[channel] -
					      mean * inverse * work->scale[channel]);

			NATIVE_EACH for (int64_t i = c * work->area; i < (c + 1) * work->area; i++)
				to[i] = from[i] * factor + shift;
		}
	}
}

static int read_channels(struct native_call *call, const struct engine_value **ret_x,
			 struct channel_work *work, struct strata_error *err)
{
	const struct engine_value *x, *scale, *bias;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &scale, err);
	if (rc == 0)
		rc = native_typed(call, 2, ONNX_FLOAT, &bias, err);
	if (rc)
		return rc;
	if (x->rank < 2)
		return native_refuse(call, err, "input 1 has %u dimensions; expected 2 or more",
				     x->rank);
	work->channels = x->dims[1];
	work->area = 1;
	for (size_t i = 2; i < x->rank; i++)
		work->area *= x->dims[i];
	work->scale = scale->data;
	work->bias = bias->data;
	work->from = x->data;
	work->epsilon = native_real(call, "epsilon", 1e-5);
	if (engine_value_elements(scale) != engine_value_elements(bias))
		return native_refuse(call, err, "scale and bias have unlike sizes");
	*ret_x = x;
	return 0;
}

static int run_channels(struct native_call *call, struct channel_work *work,
			const struct engine_value *x, struct strata_error *err)
{
	int64_t scales = engine_value_elements(call->inputs[1]);

	if (scales != work->channels && scales != work->groups)
		return native_refuse(call, err, "scale has %lld elements; expected %lld",
				     (long long)scales, (long long)work->channels);
	work->scale_by_group = scales != work->channels;
	int rc = native_make_like(call, 0, 0, err);

	if (rc)
		return rc;
	work->to = call->outputs[0].data;
	if (engine_value_elements(x) > 0)
		engine_team_run(call->team, x->dims[0] * work->groups, 1, channel_groups, work);
	return 0;
}

static int run_instance(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = NULL;
	struct channel_work work = { 0 };
	int rc = read_channels(call, &x, &work, err);

	work.groups = work.channels;
	return rc ? rc : run_channels(call, &work, x, err);
}

static int run_group(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = NULL;
	struct channel_work work = { 0 };
	int rc = read_channels(call, &x, &work, err);

	if (rc)
		return rc;
	work.groups = native_int(call, "num_groups", 0);
	if (work.groups < 1 || work.channels % work.groups)
		return native_refuse(call, err, "num_groups is %lld; the input has %lld channels",
				     (long long)work.groups, (long long)work.channels);
	return run_channels(call, &work, x, err);
}

/* Its training form: mean and variance are the batch's own, and go into running ones. */
static int batch_training(struct native_call *call, struct channel_work *work,
			  const struct engine_value *x, struct strata_error *err)
{
	double momentum = native_real(call, "momentum", 0.9);
	size_t bytes = (size_t)work->channels * 2 * sizeof(float);
	float *room = native_scratch(call, bytes, err);
	int rc = room ? 0 : -ENOMEM;

	for (size_t i = 1; rc == 0 && i < 3; i++)
		if (native_wants(call, i))
			rc = native_make(call, i, ONNX_FLOAT, 1, &work->channels, err);
	for (int64_t c = 0; rc == 0 && c < work->channels; c++) {
		double count = (double)(x->dims[0] * work->area), mean = 0, variance = 0;

		for (int pass = 0; pass < 2; pass++)
			for (int64_t i = 0; i < x->dims[0] * work->area; i++) {
				double at = work->from[(i / work->area * work->channels + c) *
							       work->area +
						       i % work->area];

				if (pass == 0)
					mean += at / count;
				else
					variance += (at - mean) * (at - mean) / count;
			}
		room[c] = (float)mean;
		room[work->channels + c] = (float)variance;
		const double fresh[3] = { 0, mean, variance };

		for (size_t i = 1; i < 3; i++)
			if (native_wants(call, i))
				((float *)call->outputs[i].data)[c] =
					(float)(((const float *)call->inputs[2 + i]->data)[c] * momentum +
						fresh[i] * (1 - momentum));
	}
	work->mean = room;
	work->variance = room + work->channels;
	if (rc == 0)
		rc = run_channels(call, work, x, err);
	engine_heap_put(call->heap, room, bytes);
	return rc;
}

static int run_batch(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = NULL, *mean, *variance;
	struct channel_work work = { 0 };
	int rc = read_channels(call, &x, &work, err);

	if (rc == 0)
		rc = native_typed(call, 3, ONNX_FLOAT, &mean, err);
	if (rc == 0)
		rc = native_typed(call, 4, ONNX_FLOAT, &variance, err);
	if (rc)
		return rc;
	bool training = native_int(call, "training_mode", 0);

	if (!training && native_wants(call, 1))
		return native_lacks(call, err, "its old training form is not built");
	work.groups = work.channels;
	if (engine_value_elements(mean) != work.channels ||
	    engine_value_elements(variance) != work.channels)
		return native_refuse(call, err, "mean and variance need %lld elements",
				     (long long)work.channels);
	if (training)
		return batch_training(call, &work, x, err);
	work.mean = mean->data;
	work.variance = variance->data;
	return run_channels(call, &work, x, err);
}

/* ---- softmax ---- */

enum softmax { SOFTMAX, LOG_SOFTMAX, HARDMAX };

struct softmax_work {
	const float *from;
	float *to;
	int64_t row, step; /* elements of a row, and the distance between them */
	enum softmax form;
};

static void hardmax_row(const struct softmax_work *work, const float *from, float *to)
{
	int64_t at = 0;

	for (int64_t i = 1; i < work->row; i++)
		at = from[i] > from[at] ? i : at;
	memset(to, 0, (size_t)work->row * sizeof(*to));
	to[at] = 1;
}

static void softmax_row(const struct softmax_work *work, const float *from, float *to)
{
	if (work->form == HARDMAX) {
		hardmax_row(work, from, to);
		return;
	}
	if (work->form == SOFTMAX) {
		vmath_softmax(from, work->row, to);
		return;
	}
	float largest = vmath_largest(from, work->row);

	if (largest == -INFINITY)
		largest = 0; /* as vmath_softmax */
	float total = logf(vmath_exp_sum(from, work->row, largest, to));

	for (int64_t i = 0; i < work->row; i++)
		to[i] = from[i] - largest - total;
}

static void softmax_rows(void *arg, int64_t first, int64_t past)
{
	const struct softmax_work *work = arg;

	for (int64_t r = first; r < past; r++)
		softmax_row(work, work->from + r * work->row, work->to + r * work->row);
}

/* Rows whose elements are apart are copied together and back. */
static int softmax_apart(struct native_call *call, const struct softmax_work *work, int64_t rows,
			 struct strata_error *err)
{
	float *room = native_scratch(call, (size_t)work->row * 2 * sizeof(*room), err);

	if (!room)
		return -ENOMEM;
	for (int64_t r = 0; r < rows; r++) {
		int64_t base = r / work->step * work->row * work->step + r % work->step;

		for (int64_t i = 0; i < work->row; i++)
			room[i] = work->from[base + i * work->step];
		softmax_row(work, room, room + work->row);
		for (int64_t i = 0; i < work->row; i++)
			work->to[base + i * work->step] = room[work->row + i];
	}
	engine_heap_put(call->heap, room, (size_t)work->row * 2 * sizeof(*room));
	return 0;
}

static int run_softmax(struct native_call *call, enum softmax form, struct strata_error *err)
{
	const struct engine_value *x;
	struct softmax_work work = { .row = 1, .step = 1, .form = form };
	bool old = call->opset < 13; /* everything from the axis on is one row */
	size_t axis = 0;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0 && (x->rank > 0 || !old))
		rc = native_axis(call, native_int(call, "axis", old ? 1 : -1), x->rank, &axis, err);
	if (rc == 0) /* log-softmax reads its input again, hardmax fills first: not in place */
		rc = form == SOFTMAX ? native_make_like(call, 0, 0, err)
				     : native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	if (rc)
		return rc;
	for (size_t i = axis; i < x->rank; i++)
		*(i == axis || old ? &work.row : &work.step) *= x->dims[i];
	int64_t count = engine_value_elements(x);

	work.from = x->data;
	work.to = call->outputs[0].data;
	if (count == 0)
		return 0;
	if (work.step > 1)
		return softmax_apart(call, &work, count / work.row, err);
	engine_team_run(call->team, count / work.row, 1 + 4096 / (work.row + 1), softmax_rows,
			&work);
	return 0;
}

static int run_soft(struct native_call *call, struct strata_error *err)
{
	return run_softmax(call, SOFTMAX, err);
}
static int run_log_soft(struct native_call *call, struct strata_error *err)
{
	return run_softmax(call, LOG_SOFTMAX, err);
}
static int run_hard(struct native_call *call, struct strata_error *err)
{
	return run_softmax(call, HARDMAX, err);
}

static const struct native_op ops[] = {
	{ "BatchNormalization", run_batch },
	{ "GroupNormalization", run_group },
	{ "Hardmax", run_hard },
	{ "InstanceNormalization", run_instance },
	{ "LayerNormalization", run_layer },
	{ "LogSoftmax", run_log_soft },
	{ "RMSNormalization", run_rms },
	{ "SimplifiedLayerNormalization", run_rms },
	{ "Softmax", run_soft },
};

const struct native_family native_family_norm = { "normalisation", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
