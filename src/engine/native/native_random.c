/* Random numbers: RandomNormal, RandomUniform and their forms of a tensor's shape, Bernoulli, Multinomial, and Dropout, which is one of them when it trains. */
#include "engine/native/native.h"

#include "engine/native/random_node.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum kind { NORMAL, UNIFORM };

/* Doubles of a distribution into a value of the type that is wanted. */
static int draw(struct native_call *call, enum kind kind, int64_t dtype, size_t rank,
		const int64_t *dims, struct strata_error *err)
{
	double mean = native_real(call, "mean", 0), scale = native_real(call, "scale", 1);
	double low = native_real(call, "low", 0), high = native_real(call, "high", 1);
	struct engine_value wide = { 0 };
	struct random random;

	if (dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16)
		dtype = ONNX_FLOAT;
	if (dtype != ONNX_FLOAT && dtype != ONNX_DOUBLE)
		return native_lacks(call, err, "it is not built for %s",
				    engine_dtype_name((int)dtype));
	int rc = random_next(call, &random, err);

	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_DOUBLE, rank, dims, &wide, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(&wide);
	double *at = wide.data, pair[2];

	if (kind == UNIFORM)
		random_uniform(&random, 0, count, at);
	for (int64_t i = 0; i < count; i++) {
		if (kind == NORMAL) {
			random_uniform(&random, 2 * i, 2, pair);
			at[i] = sqrt(-2 * log(1 - pair[0])) * cos(6.283185307179586 * pair[1]);
		}
		at[i] = kind == NORMAL ? mean + scale * at[i] : low + (high - low) * at[i];
	}
	rc = engine_value_cast(call->heap, &wide, (int)dtype, &call->outputs[0], err);
	engine_value_drop(&wide);
	return rc;
}

static int draw_shape(struct native_call *call, enum kind kind, struct strata_error *err)
{
	size_t rank;
	const int64_t *dims = native_ints(call, "shape", &rank);

	if (!dims)
		return native_refuse(call, err, "it has no shape");
	return draw(call, kind, native_int(call, "dtype", ONNX_FLOAT), rank, dims, err);
}

static int draw_like(struct native_call *call, enum kind kind, struct strata_error *err)
{
	const struct engine_value *x;
	int rc = native_tensor(call, 0, &x, err);

	return rc ? rc
		  : draw(call, kind, native_int(call, "dtype", x->dtype), x->rank, x->dims, err);
}

static int run_normal(struct native_call *call, struct strata_error *err)
{
	return draw_shape(call, NORMAL, err);
}
static int run_normal_like(struct native_call *call, struct strata_error *err)
{
	return draw_like(call, NORMAL, err);
}
static int run_uniform(struct native_call *call, struct strata_error *err)
{
	return draw_shape(call, UNIFORM, err);
}
static int run_uniform_like(struct native_call *call, struct strata_error *err)
{
	return draw_like(call, UNIFORM, err);
}

/* ---- by probabilities ---- */

static int run_bernoulli(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value wide = { 0 };
	struct random random;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE)
		rc = native_refuse(call, err, "input 1 is %s; expected float32",
				   engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = random_next(call, &random, err);
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_DOUBLE, x->rank, x->dims, &wide, err);
	if (rc)
		return rc;
	int64_t count = engine_value_elements(x), dtype = native_int(call, "dtype", x->dtype);
	double *at = wide.data;

	random_uniform(&random, 0, count, at);
	for (int64_t i = 0; i < count; i++)
		at[i] = at[i] < (x->dtype == ONNX_FLOAT ? ((const float *)x->data)[i]
							: ((const double *)x->data)[i]);
	if (dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16)
		dtype = ONNX_FLOAT;
	if (dtype == ONNX_STRING || dtype < 1 || dtype >= ONNX_DTYPE_COUNT)
		rc = native_refuse(call, err, "dtype is %lld", (long long)dtype);
	else
		rc = engine_value_cast(call->heap, &wide, (int)dtype, &call->outputs[0], err);
	engine_value_drop(&wide);
	return rc;
}

/* Which class a number between 0 and the sum of all falls into. */
static int64_t class_of(const float *logs, int64_t count, double most, double at)
{
	int64_t i = 0;

	while (i + 1 < count && (at -= exp(logs[i] - most)) >= 0)
		i++;
	return i;
}

static int run_multinomial(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t samples = native_int(call, "sample_size", 1);
	int64_t dtype = native_int(call, "dtype", ONNX_INT32);
	struct random random;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0 && (x->rank != 2 || x->dims[1] < 1 || samples < 0 ||
			(dtype != ONNX_INT32 && dtype != ONNX_INT64)))
		rc = native_refuse(call, err, "sample_size is %lld", (long long)samples);
	if (rc == 0)
		rc = random_next(call, &random, err);
	if (rc == 0)
		rc = native_make(call, 0, (int)dtype, 2, (int64_t[]){ x->dims[0], samples }, err);
	for (int64_t i = 0; rc == 0 && i < x->dims[0] * samples; i++) {
		const float *logs = (const float *)x->data + i / samples * x->dims[1];
		double most = -INFINITY, sum = 0, at;

		for (int64_t k = 0; k < x->dims[1]; k++)
			most = fmax(most, logs[k]);
		for (int64_t k = 0; k < x->dims[1]; k++)
			sum += exp(logs[k] - most);
		random_uniform(&random, i, 1, &at);
		int64_t chosen = class_of(logs, x->dims[1], most, at * sum);

		if (dtype == ONNX_INT32)
			((int32_t *)call->outputs[0].data)[i] = (int32_t)chosen;
		else
			((int64_t *)call->outputs[0].data)[i] = chosen;
	}
	return rc;
}

/* ---- Dropout ---- */

/* Elements that are dropped are 0, the others larger by what is lost on average. */
static int drop_some(struct native_call *call, const struct engine_value *x, double ratio,
		     uint8_t *mask, struct strata_error *err)
{
	struct random random;
	int rc = random_next(call, &random, err);

	if (rc == 0 && x->dtype != ONNX_FLOAT)
		rc = native_lacks(call, err, "it is not built for %s", engine_dtype_name(x->dtype));
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);
	int64_t count = rc ? 0 : engine_value_elements(x);
	float scale = ratio < 1 ? (float)(1 / (1 - ratio)) : 0;

	for (int64_t i = 0; i < count; i++) {
		double at;

		random_uniform(&random, i, 1, &at);
		((float *)call->outputs[0].data)[i] =
			at >= ratio ? ((const float *)x->data)[i] * scale : 0;
		if (mask)
			mask[i] = at >= ratio;
	}
	return rc;
}

static int run_dropout(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *training = native_input(call, 2);
	double ratio = native_real(call, "ratio", 0.5);
	bool trains = training && training->kind == ONNX_TENSOR && training->dtype == ONNX_BOOL &&
		      engine_value_elements(training) == 1 && *(const uint8_t *)training->data;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && call->opset >= 12 && native_input(call, 1))
		rc = native_input_real(call, 1, &ratio, err);
	/* The mask was of the input's type before opset 10. */
	if (rc == 0 && native_wants(call, 1) && call->opset < 10)
		rc = native_lacks(call, err, "a mask is built from opset 10 on");
	if (rc == 0 && native_wants(call, 1))
		rc = native_make(call, 1, ONNX_BOOL, x->rank, x->dims, err);
	if (rc)
		return rc;
	uint8_t *mask = native_wants(call, 1) ? call->outputs[1].data : NULL;

	if (trains && ratio != 0)
		return drop_some(call, x, ratio, mask, err);
	if (mask)
		memset(mask, 1, engine_value_bytes(&call->outputs[1]));
	call->outputs[0] = engine_value_share(x);
	return 0;
}

static const struct native_op ops[] = {
	{ "Bernoulli", run_bernoulli },
	{ "Dropout", run_dropout },
	{ "Multinomial", run_multinomial },
	{ "RandomNormal", run_normal },
	{ "RandomNormalLike", run_normal_like },
	{ "RandomUniform", run_uniform },
	{ "RandomUniformLike", run_uniform_like },
};

const struct native_family native_family_random = { "random numbers", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
