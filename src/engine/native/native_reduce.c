/*
 * Reductions over axes: sums, means, norms, extremes and where they are. The axes that are kept and those that are reduced are put in order by a
 * copy where they are mixed, so that each result is over one run of elements. Sums of float32 run in double.
 */
#include "engine/native/native.h"

#include "engine/native/sums.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* What a row of doubles comes to. */
static double reduce_sum(const double *values, int64_t count)
{
	return sums_of_doubles(values, count);
}
static double reduce_mean(const double *values, int64_t count)
{
	return reduce_sum(values, count) / (double)count;
}
static double reduce_product(const double *values, int64_t count)
{
	double product = 1;

	for (int64_t i = 0; i < count; i++)
		product *= values[i];
	return product;
}
static double reduce_max(const double *values, int64_t count)
{
	double most = -INFINITY;

	for (int64_t i = 0; i < count; i++)
		most = values[i] > most || isnan(values[i]) ? values[i] : most;
	return most;
}
static double reduce_min(const double *values, int64_t count)
{
	double least = INFINITY;

	for (int64_t i = 0; i < count; i++)
		least = values[i] < least || isnan(values[i]) ? values[i] : least;
	return least;
}
static double reduce_l1(const double *values, int64_t count)
{
	double sum = 0;

	for (int64_t i = 0; i < count; i++)
		sum += fabs(values[i]);
	return sum;
}
static double reduce_square(const double *values, int64_t count)
{
	double sum = 0;

	for (int64_t i = 0; i < count; i++)
		sum += values[i] * values[i];
	return sum;
}
static double reduce_l2(const double *values, int64_t count)
{
	return sqrt(reduce_square(values, count));
}
static double reduce_log_sum(const double *values, int64_t count)
{
	return log(reduce_sum(values, count));
}
static double reduce_log_sum_exp(const double *values, int64_t count)
{
	double most = reduce_max(values, count), sum = 0;

	if (isinf(most))
		return most;
	for (int64_t i = 0; i < count; i++)
		sum += exp(values[i] - most);
	return most + log(sum);
}

/* ---- which axes ---- */

struct axes {
	bool reduced[STRATA_TENSOR_RANK_MAX];
	size_t out_rank;
	int64_t out[STRATA_TENSOR_RANK_MAX];
	int64_t rows, row; /* results, and elements of each */
};

static int read_axes(struct native_call *call, const struct engine_value *x, struct axes *ret_axes,
		     struct strata_error *err)
{
	int64_t list[STRATA_TENSOR_RANK_MAX];
	struct axes axes = { .rows = 1, .row = 1 };
	bool keep = native_int(call, "keepdims", 1), given;
	size_t count, axis;
	int rc = native_ints_either(call, "axes", 1, list, STRATA_TENSOR_RANK_MAX, &count, &given,
				    err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = native_axis(call, list[i], x->rank, &axis, err);
		if (rc == 0)
			axes.reduced[axis] = true;
	}
	if (rc)
		return rc;
	bool all = count == 0 && !native_int(call, "noop_with_empty_axes", 0);

	for (size_t i = 0; i < x->rank; i++) {
		axes.reduced[i] |= all;
		*(axes.reduced[i] ? &axes.row : &axes.rows) *= x->dims[i];
		if (!axes.reduced[i] || keep)
			axes.out[axes.out_rank++] = axes.reduced[i] ? 1 : x->dims[i];
	}
	*ret_axes = axes;
	return 0;
}

/* Steps through the reduced (or the kept) axes of a tensor. */
struct stepper {
	size_t rank;
	int64_t dims[STRATA_TENSOR_RANK_MAX], strides[STRATA_TENSOR_RANK_MAX];
};

static struct stepper stepper_of(const struct engine_value *x, const struct axes *axes, bool reduced)
{
	struct stepper stepper = { 0 };
	int64_t stride = engine_value_elements(x);

	for (size_t i = 0; i < x->rank; i++) {
		stride = x->dims[i] ? stride / x->dims[i] : 0;
		if (axes->reduced[i] != reduced)
			continue;
		stepper.dims[stepper.rank] = x->dims[i];
		stepper.strides[stepper.rank++] = stride;
	}
	return stepper;
}

static int64_t step_to(const struct stepper *stepper, int64_t index)
{
	int64_t offset = 0;

	for (size_t i = stepper->rank; i-- > 0; index /= stepper->dims[i])
		offset += index % stepper->dims[i] * stepper->strides[i];
	return offset;
}

/* ---- running ---- */

struct reduce_work {
	double (*reduce)(const double *values, int64_t count);
	struct stepper kept, reduced;
	int64_t row;
	const float *floats; /* one of the two */
	const double *doubles;
	float *to_floats;
	double *to_doubles;
	double *room; /* for all rows: each part of the work uses its own beginning */
};

static void widen(const float *from, int64_t count, double *to)
{
	for (int64_t i = 0; i < count; i++)
		to[i] = from[i];
}

/* A row is copied into doubles first, which is exact. */
static void reduce_rows(void *arg, int64_t first, int64_t past)
{
	const struct reduce_work *work = arg;
	double *row = work->room + first * work->row;
	bool plain = work->reduced.rank == 1 && work->reduced.strides[0] == 1;

	for (int64_t r = first; r < past; r++) {
		int64_t base = step_to(&work->kept, r);

		if (plain && work->floats)
			widen(work->floats + base, work->row, row);
		for (int64_t i = 0; !(plain && work->floats) && i < work->row; i++) {
			int64_t at = base + (plain ? i : step_to(&work->reduced, i));

			row[i] = work->floats ? work->floats[at] : work->doubles[at];
		}
		double result = work->reduce(row, work->row);

		if (work->to_floats)
			work->to_floats[r] = (float)result;
		else
			work->to_doubles[r] = result;
	}
}

static int reduce_reals(struct native_call *call, const struct engine_value *x,
			const struct axes *axes, double (*reduce)(const double *, int64_t),
			struct engine_value *to, struct strata_error *err)
{
	struct reduce_work work = { .reduce = reduce,
				    .kept = stepper_of(x, axes, false),
				    .reduced = stepper_of(x, axes, true),
				    .row = axes->row };
	size_t bytes = (size_t)(axes->row * axes->rows) * sizeof(double);

	work.room = native_scratch(call, bytes, err);
	if (!work.room)
		return -ENOMEM;
	work.floats = x->dtype == ONNX_FLOAT ? x->data : NULL;
	work.doubles = x->dtype == ONNX_DOUBLE ? x->data : NULL;
	work.to_floats = x->dtype == ONNX_FLOAT ? to->data : NULL;
	work.to_doubles = x->dtype == ONNX_DOUBLE ? to->data : NULL;
	engine_team_run(call->team, axes->rows, 1 + 4096 / (axes->row + 1), reduce_rows, &work);
	engine_heap_put(call->heap, work.room, bytes);
	return 0;
}

static int run_reduce(struct native_call *call, double (*reduce)(const double *, int64_t),
		      struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value wide = { 0 }, result = { 0 };
	struct axes axes;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_axes(call, x, &axes, err);
	if (rc)
		return rc;
	bool real = x->dtype == ONNX_FLOAT || x->dtype == ONNX_DOUBLE;

	if (x->dtype == ONNX_STRING)
		return native_refuse(call, err, "it does not take texts");
	/* Integers go by way of doubles, which hold all up to 2^53. */
	rc = engine_value_cast(call->heap, x, real ? x->dtype : ONNX_DOUBLE, &wide, err);
	if (rc == 0)
		rc = engine_value_make(call->heap, wide.dtype, axes.out_rank, axes.out, &result,
				       err);
	if (rc == 0)
		rc = reduce_reals(call, &wide, &axes, reduce, &result, err);
	if (rc == 0)
		rc = engine_value_cast(call->heap, &result, x->dtype, &call->outputs[0], err);
	engine_value_drop(&wide);
	engine_value_drop(&result);
	return rc;
}

#define REDUCE_OP(name, function)                                                 \
	static int run_##name(struct native_call *call, struct strata_error *err) \
	{                                                                         \
		return run_reduce(call, function, err);                           \
	}
REDUCE_OP(l1, reduce_l1)
REDUCE_OP(l2, reduce_l2)
REDUCE_OP(log_sum, reduce_log_sum)
REDUCE_OP(log_sum_exp, reduce_log_sum_exp)
REDUCE_OP(max, reduce_max)
REDUCE_OP(mean, reduce_mean)
REDUCE_OP(min, reduce_min)
REDUCE_OP(prod, reduce_product)
REDUCE_OP(sum, reduce_sum)
REDUCE_OP(sum_square, reduce_square)

/* ---- where the extreme is ---- */

static int run_arg(struct native_call *call, bool most, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value wide = { 0 };
	bool keep = native_int(call, "keepdims", 1), last = native_int(call, "select_last_index", 0);
	int64_t dims[STRATA_TENSOR_RANK_MAX], inner = 1;
	size_t axis, rank = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &axis, err);
	if (rc == 0 && x->dtype == ONNX_STRING)
		rc = native_refuse(call, err, "it does not take texts");
	if (rc)
		return rc;
	for (size_t i = 0; i < x->rank; i++) {
		if (i != axis || keep)
			dims[rank++] = i == axis ? 1 : x->dims[i];
		if (i > axis)
			inner *= x->dims[i];
	}
	rc = engine_value_cast(call->heap, x, ONNX_DOUBLE, &wide, err);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_INT64, rank, dims, err);
	if (rc == 0) {
		int64_t count = engine_value_elements(&call->outputs[0]), length = x->dims[axis];
		int64_t *to = call->outputs[0].data;

		for (int64_t r = 0; r < count; r++) {
			const double *at = (const double *)wide.data + r / inner * inner * length +
					   r % inner;
			int64_t best = 0;

			for (int64_t i = 1; i < length; i++) {
				double here = at[i * inner], so_far = at[best * inner];

				if ((most ? here > so_far : here < so_far) ||
				    (last && here == so_far))
					best = i;
			}
			to[r] = best;
		}
	}
	engine_value_drop(&wide);
	return rc;
}

static int run_arg_max(struct native_call *call, struct strata_error *err)
{
	return run_arg(call, true, err);
}
static int run_arg_min(struct native_call *call, struct strata_error *err)
{
	return run_arg(call, false, err);
}

static const struct native_op ops[] = {
	{ "ArgMax", run_arg_max },
	{ "ArgMin", run_arg_min },
	{ "ReduceL1", run_l1 },
	{ "ReduceL2", run_l2 },
	{ "ReduceLogSum", run_log_sum },
	{ "ReduceLogSumExp", run_log_sum_exp },
	{ "ReduceMax", run_max },
	{ "ReduceMean", run_mean },
	{ "ReduceMin", run_min },
	{ "ReduceProd", run_prod },
	{ "ReduceSum", run_sum },
	{ "ReduceSumSquare", run_sum_square },
};

const struct native_family native_family_reduce = { "reductions", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
