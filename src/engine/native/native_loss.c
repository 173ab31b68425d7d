/* Losses of classification: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. They are computed in double and given in the input's type. */
#include "engine/native/native.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* scores [members classes …], a target class for each member and place. */
struct loss {
	struct engine_value scores, weights, targets,
		each; /* double, double or nothing, int64, double */
	int64_t members, classes, area;
	bool ignores;
	int64_t ignored; /* a target that counts for nothing */
};

static void loss_fini(struct loss *loss)
{
	engine_value_drop(&loss->scores);
	engine_value_drop(&loss->weights);
	engine_value_drop(&loss->targets);
	engine_value_drop(&loss->each);
}

static int loss_shapes(struct native_call *call, struct loss *loss, struct strata_error *err)
{
	const struct engine_value *x = call->inputs[0], *t = call->inputs[1];
	bool fits = x->rank >= 2 && t->rank == x->rank - 1 && t->dims[0] == x->dims[0];

	for (size_t i = 2; fits && i < x->rank; i++)
		fits = t->dims[i - 1] == x->dims[i];
	if (!fits)
		return native_refuse(call, err, "the targets do not fit to the scores");
	loss->members = x->dims[0];
	loss->classes = x->dims[1];
	loss->area = 1;
	for (size_t i = 2; i < x->rank; i++)
		loss->area *= x->dims[i];
	if (loss->weights.data && engine_value_elements(&loss->weights) != loss->classes)
		return native_refuse(call, err, "weights need %lld elements",
				     (long long)loss->classes);
	return 0;
}

/* The scores are a copy of their own: log-softmax changes them. */
static int loss_read(struct native_call *call, struct loss *loss, struct strata_error *err)
{
	const struct engine_value *x, *targets, *weights = native_input(call, 2);
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_tensor(call, 1, &targets, err);
	if (rc == 0 && ((x->dtype != ONNX_FLOAT && x->dtype != ONNX_DOUBLE) ||
			(targets->dtype != ONNX_INT64 && targets->dtype != ONNX_INT32)))
		rc = native_refuse(call, err, "it takes float32 scores and int64 targets");
	if (rc == 0 && weights)
		rc = native_typed(call, 2, x->dtype, &weights, err);
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_DOUBLE, x->rank, x->dims, &loss->scores,
				       err);
	int64_t count = rc ? 0 : engine_value_elements(x);

	for (int64_t i = 0; i < count; i++)
		((double *)loss->scores.data)[i] = x->dtype == ONNX_FLOAT
							   ? ((const float *)x->data)[i]
							   : ((const double *)x->data)[i];
	if (rc == 0)
		rc = engine_value_cast(call->heap, targets, ONNX_INT64, &loss->targets, err);
	if (rc == 0 && weights)
		rc = engine_value_cast(call->heap, weights, ONNX_DOUBLE, &loss->weights, err);
	if (rc == 0)
		rc = engine_value_make(call->heap, ONNX_DOUBLE, targets->rank, targets->dims,
				       &loss->each, err);
	loss->ignores = onnx_attribute_find(call->node, "ignore_index");
	loss->ignored = native_int(call, "ignore_index", 0);
	return rc ? rc : loss_shapes(call, loss, err);
}

/* Logarithms of softmax over the classes, in place. */
static void log_softmax(const struct loss *loss)
{
	double *scores = loss->scores.data;

	for (int64_t r = 0; r < loss->members * loss->area; r++) {
		double *at = scores + r / loss->area * loss->classes * loss->area + r % loss->area;
		double most = -INFINITY, sum = 0;

		for (int64_t c = 0; c < loss->classes; c++)
			most = fmax(most, at[c * loss->area]);
		for (int64_t c = 0; c < loss->classes; c++)
			sum += exp(at[c * loss->area] - most);
		sum = log(sum);
		for (int64_t c = 0; c < loss->classes; c++)
			at[c * loss->area] -= most + sum;
	}
}

/* The loss of each place, its sum and the sum of the weights. */
static int loss_each(struct native_call *call, struct loss *loss, double *ret_sum,
		     double *ret_weight, struct strata_error *err)
{
	const double *scores = loss->scores.data, *weights = loss->weights.data;
	const int64_t *targets = loss->targets.data;
	double *each = loss->each.data;

	*ret_sum = *ret_weight = 0;
	for (int64_t r = 0; r < loss->members * loss->area; r++) {
		int64_t target = targets[r];

		each[r] = 0;
		if (loss->ignores && target == loss->ignored)
			continue;
		if (target < 0 || target >= loss->classes)
			return native_refuse(call, err, "target %lld is outside of 0 to %lld",
					     (long long)target, (long long)loss->classes - 1);
		double weight = weights ? weights[target] : 1;

		each[r] = -weight * scores[(r / loss->area * loss->classes + target) * loss->area +
					   r % loss->area];
		*ret_sum += each[r];
		*ret_weight += weight;
	}
	return 0;
}

static int run_loss(struct native_call *call, bool softmax, struct strata_error *err)
{
	const char *reduction = native_text(call, "reduction", "mean");
	struct loss loss = { 0 };
	struct engine_value result = { 0 };
	double sum = 0, weight = 0;
	int rc = loss_read(call, &loss, err);

	if (rc == 0 && softmax)
		log_softmax(&loss);
	if (rc == 0)
		rc = loss_each(call, &loss, &sum, &weight, err);
	int dtype = rc ? 0 : call->inputs[0]->dtype;

	if (rc == 0 && strcmp(reduction, "none") == 0) {
		result = engine_value_share(&loss.each);
	} else if (rc == 0) {
		rc = engine_value_make(call->heap, ONNX_DOUBLE, 0, NULL, &result, err);
		if (rc == 0)
			*(double *)result.data = strcmp(reduction, "sum") == 0 ? sum : sum / weight;
	}
	if (rc == 0)
		rc = engine_value_cast(call->heap, &result, dtype, &call->outputs[0], err);
	if (rc == 0 && native_wants(call, 1))
		rc = engine_value_cast(call->heap, &loss.scores, dtype, &call->outputs[1], err);
	engine_value_drop(&result);
	loss_fini(&loss);
	return rc;
}

static int run_likelihood(struct native_call *call, struct strata_error *err)
{
	return run_loss(call, false, err);
}
static int run_cross_entropy(struct native_call *call, struct strata_error *err)
{
	return run_loss(call, true, err);
}

static const struct native_op ops[] = {
	{ "NegativeLogLikelihoodLoss", run_likelihood },
	{ "SoftmaxCrossEntropyLoss", run_cross_entropy },
};

const struct native_family native_family_loss = { "losses", "", ops, sizeof(ops) / sizeof(ops[0]) };
