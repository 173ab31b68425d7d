/* Normalisation over neighbours and whole axes: LRN, LpNormalization, MeanVarianceNormalization. Sums run in double. */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- LRN: over channels around an element's own ---- */

struct lrn_work {
	const float *from;
	float *to;
	int64_t channels, area, before, after;
	double factor, beta, bias;
};

static void lrn_planes(void *arg, int64_t first, int64_t past)
{
	const struct lrn_work *work = arg;

	for (int64_t plane = first; plane < past; plane++) {
		int64_t c = plane % work->channels;
		int64_t low = c < work->before ? 0 : c - work->before;
		int64_t high = c + work->after < work->channels ? c + work->after
								: work->channels - 1;
		const float *own = work->from + plane * work->area;

		for (int64_t i = 0; i < work->area; i++) {
			double sum = 0;

			for (int64_t k = low; k <= high; k++) {
				double x = own[(k - c) * work->area + i];

				sum += x * x;
			}
			work->to[plane * work->area + i] =
				(float)(own[i] / pow(work->bias + work->factor * sum, work->beta));
		}
	}
}

static int run_lrn(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t size = native_int(call, "size", 0);
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0 && (x->rank < 2 || size < 1))
		rc = native_refuse(call, err, "size is %lld for %u dimensions", (long long)size,
				   x->rank);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	if (rc || engine_value_elements(x) == 0)
		return rc;
	struct lrn_work work = { .from = x->data,
				 .to = call->outputs[0].data,
				 .channels = x->dims[1],
				 .area = 1,
				 .before = (size - 1) / 2,
				 .after = size - 1 - (size - 1) / 2,
				 .factor = native_real(call, "alpha", 1e-4) / (double)size,
				 .beta = native_real(call, "beta", 0.75),
				 .bias = native_real(call, "bias", 1) };

	for (size_t i = 2; i < x->rank; i++)
		work.area *= x->dims[i];
	work.before = work.before < work.channels ? work.before : work.channels;
	work.after = work.after < work.channels ? work.after : work.channels;
	engine_team_run(call->team, x->dims[0] * work.channels, 1 + 4096 / (work.area + 1),
			lrn_planes, &work);
	return 0;
}

/* ---- LpNormalization ---- */

static int run_lp(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t p = native_int(call, "p", 2), outer = 1, inner = 1;
	size_t axis = 0;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", -1), x->rank, &axis, err);
	if (rc == 0 && p != 1 && p != 2)
		rc = native_refuse(call, err, "p is %lld; expected 1 or 2", (long long)p);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	if (rc || engine_value_elements(x) == 0)
		return rc;
	for (size_t i = 0; i < x->rank; i++)
		*(i < axis ? &outer : i == axis ? &(int64_t){ 1 } : &inner) *= x->dims[i];
	for (int64_t r = 0; r < outer * inner; r++) {
		int64_t base = r / inner * x->dims[axis] * inner + r % inner;
		const float *from = (const float *)x->data + base;
		float *to = (float *)call->outputs[0].data + base;
		double sum = 0;

		for (int64_t i = 0; i < x->dims[axis]; i++)
			sum += p == 1 ? fabs(from[i * inner])
				      : (double)from[i * inner] * from[i * inner];
		sum = p == 1 ? sum : sqrt(sum);
		for (int64_t i = 0; i < x->dims[axis]; i++)
			to[i * inner] = sum != 0 ? (float)(from[i * inner] / sum) : 0;
	}
	return 0;
}

/* ---- MeanVarianceNormalization ---- */

/* Which of `rows` sums an element belongs to: its index without the axes that are summed over. */
static int64_t row_of(const struct engine_value *x, const bool *summed, int64_t at)
{
	int64_t row = 0, step = 1;

	for (size_t i = x->rank; i-- > 0; at /= x->dims[i])
		if (!summed[i]) {
			row += at % x->dims[i] * step;
			step *= x->dims[i];
		}
	return row;
}

static int mean_variance(struct native_call *call, const struct engine_value *x, const bool *summed,
			 int64_t rows, struct strata_error *err)
{
	int64_t count = engine_value_elements(x);
	size_t bytes = (size_t)rows * 2 * sizeof(double);
	double *means = native_scratch(call, bytes, err), each = (double)(count / rows);
	const float *from = x->data;
	float *to = call->outputs[0].data;

	if (!means)
		return -ENOMEM;
	double *squares = means + rows;

	memset(means, 0, bytes);
	for (int64_t i = 0; i < count; i++)
		means[row_of(x, summed, i)] += from[i] / each;
	for (int64_t i = 0; i < count; i++) {
		int64_t row = row_of(x, summed, i);

		squares[row] += (from[i] - means[row]) * (from[i] - means[row]) / each;
	}
	for (int64_t i = 0; i < count; i++) {
		int64_t row = row_of(x, summed, i);

		to[i] = (float)((from[i] - means[row]) / (sqrt(squares[row]) + 1e-9));
	}
	engine_heap_put(call->heap, means, bytes);
	return 0;
}

static int run_mean_variance(struct native_call *call, struct strata_error *err)
{
	static const int64_t usual[] = { 0, 2, 3 };
	const struct engine_value *x;
	bool summed[STRATA_TENSOR_RANK_MAX] = { 0 };
	size_t count, axis;
	const int64_t *axes = native_ints(call, "axes", &count);
	int64_t rows = 1;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	for (size_t i = 0; rc == 0 && i < (axes ? count : 3); i++) {
		rc = native_axis(call, axes ? axes[i] : usual[i], x->rank, &axis, err);
		if (rc == 0)
			summed[axis] = true;
	}
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	if (rc || engine_value_elements(x) == 0)
		return rc;
	for (size_t i = 0; i < x->rank; i++)
		rows *= summed[i] ? 1 : x->dims[i];
	return mean_variance(call, x, summed, rows, err);
}

static const struct native_op ops[] = {
	{ "LRN", run_lrn },
	{ "LpNormalization", run_lp },
	{ "MeanVarianceNormalization", run_mean_variance },
};

const struct native_family native_family_statistics = { "statistics", "", ops,
							sizeof(ops) / sizeof(ops[0]) };
