/* Steps of training, of ONNX's preview domain: Adagrad, Adam, Momentum. Inputs are the rate, the count of steps, then as many tensors of each kind. */
#include "engine/native/native.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum rule { ADAGRAD, ADAM, MOMENTUM };

struct training {
	enum rule rule;
	double rate, steps, norm, alpha, beta, epsilon, after;
	bool nesterov;
	size_t count, kinds; /* tensors, and how many inputs there are for each: X G V (H) */
};

static int read_training(struct native_call *call, struct training *how, struct strata_error *err)
{
	int rc = native_input_real(call, 0, &how->rate, err);

	if (rc == 0)
		rc = native_input_real(call, 1, &how->steps, err);
	if (rc)
		return rc;
	how->kinds = how->rule == ADAM ? 4 : 3;
	how->count = (call->input_count - 2) / how->kinds;
	if (call->input_count != 2 + how->count * how->kinds ||
	    call->output_count != how->count * (how->kinds - 1))
		return native_refuse(call, err, "it has %zu inputs and %zu outputs",
				     call->input_count, call->output_count);
	/* ONNX says 1e-6 and its own data has 1e-2: nobody knows what is meant. */
	if (how->rule == ADAM && !onnx_attribute_find(call->node, "epsilon"))
		return native_lacks(call, err, "without epsilon it is not built");
	how->norm = native_real(call, "norm_coefficient", 0);
	how->after = native_real(call, "norm_coefficient_post", 0);
	how->epsilon = native_real(call, "epsilon", 1e-6);
	how->alpha = native_real(call, "alpha", 0.9);
	how->beta = native_real(call, "beta", how->rule == ADAM ? 0.999 : 1);
	how->nesterov = strcmp(native_text(call, "mode", "standard"), "nesterov") == 0;
	if (how->rule == ADAGRAD)
		how->rate /= 1 + how->steps * native_real(call, "decay_factor", 0);
	if (how->rule == ADAM && how->steps > 0)
		how->rate *= sqrt(1 - pow(how->beta, how->steps)) /
			     (1 - pow(how->alpha, how->steps));
	if (how->rule == MOMENTUM && !(how->steps > 0))
		how->beta = 1;
	return 0;
}

/* One element: x, its gradient g, what is kept of gradients v and of their squares h. */
static double step(const struct training *how, double x, double g, double *v, double *h)
{
	g += how->norm * x;
	switch (how->rule) {
	case ADAGRAD:
		*h += g * g;
		return x - how->rate * g / (sqrt(*h) + how->epsilon);
	case ADAM:
		*v = how->alpha * *v + (1 - how->alpha) * g;
		*h = how->beta * *h + (1 - how->beta) * g * g;
		return (1 - how->after) * (x - how->rate * *v / (sqrt(*h) + how->epsilon));
	default:
		*v = how->alpha * *v + how->beta * g;
		return x - how->rate * (how->nesterov ? g + how->alpha * *v : *v);
	}
}

static int train(struct native_call *call, const struct training *how, size_t index,
		 struct strata_error *err)
{
	const struct engine_value *in[4];
	float *out[3];
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < how->kinds; k++) {
		rc = native_typed(call, 2 + k * how->count + index, ONNX_FLOAT, &in[k], err);
		if (rc == 0 && engine_value_elements(in[k]) != engine_value_elements(in[0]))
			rc = native_refuse(call, err, "tensors have unlike sizes");
	}
	for (size_t k = 0; rc == 0 && k + 1 < how->kinds; k++) {
		size_t output = k * how->count + index;

		rc = native_make(call, output, ONNX_FLOAT, in[0]->rank, in[0]->dims, err);
		out[k] = rc ? NULL : call->outputs[output].data;
	}
	int64_t count = rc ? 0 : engine_value_elements(in[0]);

	for (int64_t i = 0; i < count; i++) {
		double kept = ((const float *)in[2]->data)[i], squares = kept;

		if (how->rule == ADAM)
			squares = ((const float *)in[3]->data)[i];
		out[0][i] = (float)step(how, ((const float *)in[0]->data)[i],
					((const float *)in[1]->data)[i], &kept, &squares);
		out[1][i] = (float)(how->rule == ADAGRAD ? squares : kept);
		if (how->rule == ADAM)
			out[2][i] = (float)squares;
	}
	return rc;
}

static int run_training(struct native_call *call, enum rule rule, struct strata_error *err)
{
	struct training how = { .rule = rule };
	int rc = read_training(call, &how, err);

	for (size_t i = 0; rc == 0 && i < how.count; i++)
		rc = train(call, &how, i, err);
	return rc;
}

static int run_adagrad(struct native_call *call, struct strata_error *err)
{
	return run_training(call, ADAGRAD, err);
}
static int run_adam(struct native_call *call, struct strata_error *err)
{
	return run_training(call, ADAM, err);
}
static int run_momentum(struct native_call *call, struct strata_error *err)
{
	return run_training(call, MOMENTUM, err);
}

static const struct native_op ops[] = {
	{ "Adagrad", run_adagrad },
	{ "Adam", run_adam },
	{ "Momentum", run_momentum },
};

const struct native_family native_family_training = { "training", "ai.onnx.preview.training", ops,
						      sizeof(ops) / sizeof(ops[0]) };
