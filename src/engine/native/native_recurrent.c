/*
 * Recurrent layers: RNN, GRU, LSTM, in one or two directions. What comes from the input is one matrix product for all steps; each step adds a product with the
 * state. Products are gemm.h's, so a member of the batch does not depend on the others.
 */
#include "engine/native/native.h"

#include "engine/native/gemm.h"
#include "engine/native/vmath.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum cell { RNN, GRU, LSTM };
enum { ACTIVATIONS = 3 };

struct activation {
	char name[20];
	float alpha, beta;
};

struct recurrent {
	enum cell cell;
	int64_t gates, hidden, steps, batch, inputs, directions;
	bool batch_first, couples, resets_later; /* layout, input_forget, linear_before_reset */
	float clip;                              /* 0: none */
	const float *x, *w, *r, *b, *h, *c, *p;  /* inputs; those left out are NULL */
	const int32_t *lengths;
	float *y, *y_h, *y_c; /* outputs; those not wanted are NULL */
	/* scratch */
	float *from_input;                 /* steps × batch × gates·hidden */
	float *from_state;                 /* batch × gates·hidden */
	float *state, *cell_state, *reset; /* batch × hidden */
	float *packed_w, *packed_r, *sum_bias, *state_bias;
};

/* ---- activations ---- */

static const struct {
	const char *name;
	float alpha, beta;
} known[] = {
	{ "Affine", 1, 0 },
	{ "Elu", 1, 0 },
	{ "HardSigmoid", 0.2f, 0.5f },
	{ "LeakyRelu", 0.01f, 0 },
	{ "Relu", 0, 0 },
	{ "ScaledTanh", 1, 1 },
	{ "Sigmoid", 0, 0 },
	{ "Softplus", 0, 0 },
	{ "Softsign", 0, 0 },
	{ "Tanh", 0, 0 },
	{ "ThresholdedRelu", 1, 0 },
};

static float activate_one(const struct activation *f, float x)
{
	switch (f->name[0]) {
	case 'A':
		return f->alpha * x + f->beta;
	case 'E':
		return x < 0 ? f->alpha * expm1f(x) : x;
	case 'H':
		return fminf(1, fmaxf(0, f->alpha * x + f->beta));
	case 'L':
		return x < 0 ? f->alpha * x : x;
	case 'R':
		return x < 0 ? 0 : x;
	case 'T': /* ThresholdedRelu: Tanh is not computed here */
		return x > f->alpha ? x : 0;
	default: /* ScaledTanh, Softplus, Softsign */
		return f->name[1] == 'c'   ? f->alpha * tanhf(f->beta * x)
		       : f->name[4] == 'p' ? (x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)))
					   : x / (1 + fabsf(x));
	}
}

static void activate(const struct activation *f, float *at, int64_t count)
{
	if (strcmp(f->name, "Sigmoid") == 0)
		vmath_apply(VMATH_SIGMOID, at, count, at);
	else if (strcmp(f->name, "Tanh") == 0)
		vmath_apply(VMATH_TANH, at, count, at);
	else
		for (int64_t i = 0; i < count; i++)
			at[i] = activate_one(f, at[i]);
}

static void clip(const struct recurrent *how, float *at, int64_t count)
{
	for (int64_t i = 0; how->clip > 0 && i < count; i++)
		at[i] = fminf(how->clip, fmaxf(-how->clip, at[i]));
}

static int read_activations(struct native_call *call, const struct recurrent *how,
			    struct activation *ret, struct strata_error *err)
{
	static const char *const usual[][ACTIVATIONS] = { { "Tanh" },
							  { "Sigmoid", "Tanh" },
							  { "Sigmoid", "Tanh", "Tanh" } };
	const struct onnx_attribute *names = onnx_attribute_find(call->node, "activations");
	size_t each = how->cell == RNN ? 1 : how->cell == GRU ? 2 : 3, alphas, betas;
	size_t wanted = each * (size_t)how->directions;
	const double *alpha = native_reals(call, "activation_alpha", &alphas);
	const double *beta = native_reals(call, "activation_beta", &betas);

	if (names && (names->type != ONNX_ATTR_STRINGS || names->count != wanted))
		return native_refuse(call, err, "there are %zu activations; expected %zu",
				     names->count, wanted);
	for (size_t i = 0; i < wanted; i++) {
		const char *name = names ? names->texts[i] : usual[how->cell][i % each];
		size_t k = 0;

		while (k < sizeof(known) / sizeof(known[0]) && strcasecmp(name, known[k].name) != 0)
			k++;
		if (k == sizeof(known) / sizeof(known[0]))
			return native_lacks(call, err, "activation '%.40s' is not known", name);
		struct activation *f = &ret[i / each * ACTIVATIONS + i % each];

		strcpy(f->name, known[k].name);
		f->alpha = i < alphas ? (float)alpha[i] : known[k].alpha;
		f->beta = i < betas ? (float)beta[i] : known[k].beta;
	}
	return 0;
}

/* ---- one step ---- */

/* A member's rows in a step: `x` from the input, `s` from the state, `h` the state itself. */
static void rnn_row(const struct recurrent *how, const struct activation *f, float *x,
		    const float *s, float *h)
{
	for (int64_t i = 0; i < how->hidden; i++)
		x[i] += s[i];
	clip(how, x, how->hidden);
	activate(&f[0], x, how->hidden);
	memcpy(h, x, (size_t)how->hidden * sizeof(*h));
}

/* Gates i o f c, peepholes i o f. */
static void lstm_row(const struct recurrent *how, const struct activation *f, const float *p,
		     float *x, const float *s, float *h, float *c)
{
	int64_t n = how->hidden;
	float *in = x, *out = x + n, *forget = x + 2 * n, *fresh = x + 3 * n;

	for (int64_t i = 0; i < 4 * n; i++)
		x[i] += s[i];
	for (int64_t i = 0; i < n && p; i++) {
		in[i] += p[i] * c[i];
		forget[i] += p[2 * n + i] * c[i];
	}
	clip(how, in, n);
	clip(how, forget, n);
	clip(how, fresh, n);
	activate(&f[0], in, n);
	if (how->couples)
		for (int64_t i = 0; i < n; i++)
			forget[i] = 1 - in[i];
	else
		activate(&f[0], forget, n);
	activate(&f[1], fresh, n);
	for (int64_t i = 0; i < n; i++) {
		c[i] = forget[i] * c[i] + in[i] * fresh[i];
		if (p)
			out[i] += p[n + i] * c[i];
	}
	clip(how, out, n);
	activate(&f[0], out, n);
	memcpy(h, c, (size_t)n * sizeof(*h));
	activate(&f[2], h, n);
	for (int64_t i = 0; i < n; i++)
		h[i] *= out[i];
}

/* Gates z r h. The first two; and the reset state, or the reset product, for the third. */
static void gru_gates(const struct recurrent *how, const struct activation *f, float *x,
		      const float *s, const float *h, const float *bias, float *reset)
{
	int64_t n = how->hidden;

	for (int64_t i = 0; i < 2 * n; i++)
		x[i] += s[i];
	clip(how, x, 2 * n);
	activate(&f[0], x, 2 * n);
	for (int64_t i = 0; i < n; i++)
		if (how->resets_later)
			x[2 * n + i] += x[n + i] * (s[2 * n + i] + (bias ? bias[i] : 0));
		else
			reset[i] = x[n + i] * h[i];
}

static void gru_row(const struct recurrent *how, const struct activation *f, float *x, float *h)
{
	int64_t n = how->hidden;

	clip(how, x + 2 * n, n);
	activate(&f[1], x + 2 * n, n);
	for (int64_t i = 0; i < n; i++)
		h[i] = (1 - x[i]) * x[2 * n + i] + x[i] * h[i];
}

/* The product of the reset state with its own weights, added to the third gate. */
static void gru_reset(struct native_call *call, const struct recurrent *how, float *x)
{
	int64_t n = how->hidden;
	struct gemm_matrix state = { how->reset, n, 1 };
	const float *packed = how->packed_r + gemm_packed_count(n, 3 * n);

	gemm_run(call->team, how->batch, n, n, state, packed, how->from_state, n, NULL);
	for (int64_t b = 0; b < how->batch; b++)
		for (int64_t i = 0; i < n; i++)
			x[b * 3 * n + 2 * n + i] += how->from_state[b * n + i];
}

static bool lasts(const struct recurrent *how, int64_t member, int64_t step)
{
	return !how->lengths || step < how->lengths[member];
}

static void run_step(struct native_call *call, const struct recurrent *how,
		     const struct activation *f, const float *p, float *x, int64_t step)
{
	int64_t n = how->hidden, row = how->gates * n;
	struct gemm_matrix state = { how->state, n, 1 };

	gemm_run(call->team, how->batch, row, n, state, how->packed_r, how->from_state, row, NULL);
	for (int64_t b = 0; how->cell == GRU && b < how->batch; b++)
		gru_gates(how, f, x + b * row, how->from_state + b * row, how->state + b * n,
			  how->state_bias, how->reset + b * n);
	if (how->cell == GRU && !how->resets_later)
		gru_reset(call, how, x);
	for (int64_t b = 0; b < how->batch; b++) {
		float *own = x + b * row, *s = how->from_state + b * row, *h = how->state + b * n;

		if (!lasts(how, b, step))
			continue;
		if (how->cell == RNN)
			rnn_row(how, f, own, s, h);
		else if (how->cell == LSTM)
			lstm_row(how, f, p, own, s, h, how->cell_state + b * n);
		else
			gru_row(how, f, own, h);
	}
}

/* ---- one direction ---- */

/* Y is [steps directions batch hidden], or [batch steps directions hidden] with the batch first. */
static float *y_at(const struct recurrent *how, int64_t step, int64_t direction, int64_t member)
{
	int64_t at = how->batch_first ? (member * how->steps + step) * how->directions + direction
				      : (step * how->directions + direction) * how->batch + member;

	return how->y + at * how->hidden;
}

/* States of a direction are [directions batch hidden], or [batch directions hidden]. */
static int64_t state_at(const struct recurrent *how, int64_t direction, int64_t member)
{
	return (how->batch_first ? member * how->directions + direction
				 : direction * how->batch + member) *
	       how->hidden;
}

static void load_state(const struct recurrent *how, int64_t direction, const float *from, float *to)
{
	for (int64_t b = 0; b < how->batch; b++)
		if (from)
			memcpy(to + b * how->hidden, from + state_at(how, direction, b),
			       (size_t)how->hidden * sizeof(*to));
		else
			memset(to + b * how->hidden, 0, (size_t)how->hidden * sizeof(*to));
}

static void store_state(const struct recurrent *how, int64_t direction, const float *from,
			float *to)
{
	for (int64_t b = 0; to && b < how->batch; b++)
		memcpy(to + state_at(how, direction, b), from + b * how->hidden,
		       (size_t)how->hidden * sizeof(*to));
}

/* Biases of the input and of the state come to one, but for a GRU's third gate that is reset later. */
static void prepare(struct native_call *call, struct recurrent *how, int64_t direction)
{
	int64_t n = how->hidden, row = how->gates * n;
	const float *b = how->b ? how->b + direction * 2 * row : NULL;
	const float *r = how->r + direction * row * n;

	gemm_pack(call->team,
		  (struct gemm_matrix){ how->w + direction * row * how->inputs, 1, how->inputs },
		  how->inputs, row, how->packed_w);
	gemm_pack(call->team, (struct gemm_matrix){ r, 1, n }, n, row, how->packed_r);
	if (how->cell == GRU)
		gemm_pack(call->team, (struct gemm_matrix){ r + 2 * n * n, 1, n }, n, n,
			  how->packed_r + gemm_packed_count(n, row));
	for (int64_t i = 0; i < row; i++)
		how->sum_bias[i] = !b ? 0
				   : how->cell == GRU && how->resets_later && i >= 2 * n
					   ? b[i]
					   : b[i] + b[row + i];
	how->state_bias = b && how->cell == GRU ? (float *)b + row + 2 * n : NULL;
}

/* Rows of the input that a step reads: of [steps batch inputs], or of [batch steps inputs]; backwards from each member's own end. */
static void gather_inputs(const struct recurrent *how, bool backwards, int64_t step, float *to)
{
	for (int64_t b = 0; b < how->batch; b++) {
		int64_t length = how->lengths ? how->lengths[b] : how->steps;
		int64_t at = backwards && step < length ? length - 1 - step : step;
		int64_t row = how->batch_first ? b * how->steps + at : at * how->batch + b;

		memcpy(to + b * how->inputs, how->x + row * how->inputs,
		       (size_t)how->inputs * sizeof(*to));
	}
}

static void run_direction(struct native_call *call, struct recurrent *how,
			  const struct activation *f, int64_t direction, bool backwards,
			  float *rows)
{
	int64_t n = how->hidden, row = how->gates * n;
	const float *p = how->p ? how->p + direction * 3 * n : NULL;
	struct gemm_finish finish = { .scale = 1, .bias = how->sum_bias };
	struct gemm_matrix x = { rows, how->inputs, 1 };

	prepare(call, how, direction);
	load_state(how, direction, how->h, how->state);
	if (how->cell == LSTM)
		load_state(how, direction, how->c, how->cell_state);
	for (int64_t t = 0; t < how->steps; t++)
		gather_inputs(how, backwards, t, rows + t * how->batch * how->inputs);
	gemm_run(call->team, how->steps * how->batch, row, how->inputs, x, how->packed_w,
		 how->from_input, row, &finish);
	for (int64_t t = 0; t < how->steps; t++) {
		run_step(call, how, f, p, how->from_input + t * how->batch * row, t);
		for (int64_t b = 0; how->y && b < how->batch; b++) {
			int64_t length = how->lengths ? how->lengths[b] : how->steps;
			int64_t at = backwards && t < length ? length - 1 - t : t;
			float *to = y_at(how, at, direction, b);

			if (lasts(how, b, t))
				memcpy(to, how->state + b * n, (size_t)n * sizeof(*to));
			else
				memset(to, 0, (size_t)n * sizeof(*to));
		}
	}
	store_state(how, direction, how->state, how->y_h);
	if (how->cell == LSTM)
		store_state(how, direction, how->cell_state, how->y_c);
}

/* ---- reading the node ---- */

static int optional_reals(struct native_call *call, size_t index, int64_t count,
			  const float **ret_at, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, index);

	*ret_at = NULL;
	if (!value)
		return 0;
	int rc = native_typed(call, index, ONNX_FLOAT, &value, err);

	if (rc == 0 && engine_value_elements(value) != count)
		rc = native_refuse(call, err, "input %zu has %lld elements; expected %lld",
				   index + 1, (long long)engine_value_elements(value),
				   (long long)count);
	if (rc == 0)
		*ret_at = value->data;
	return rc;
}

static int read_lengths(struct native_call *call, struct recurrent *how, struct strata_error *err)
{
	const struct engine_value *lengths = native_input(call, 4);

	if (!lengths)
		return 0;
	int rc = native_typed(call, 4, ONNX_INT32, &lengths, err);

	if (rc == 0 && engine_value_elements(lengths) != how->batch)
		rc = native_refuse(call, err, "there is not a length for each member");
	how->lengths = rc ? NULL : lengths->data;
	for (int64_t i = 0; rc == 0 && i < how->batch; i++)
		if (how->lengths[i] < 0 || how->lengths[i] > how->steps)
			rc = native_refuse(call, err, "a length is %d of %lld", how->lengths[i],
					   (long long)how->steps);
	return rc;
}

static int read_recurrent(struct native_call *call, struct recurrent *how, struct strata_error *err)
{
	const struct engine_value *x, *w, *r;
	const char *direction = native_text(call, "direction", "forward");
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &w, err);
	if (rc == 0)
		rc = native_typed(call, 2, ONNX_FLOAT, &r, err);
	if (rc)
		return rc;
	how->gates = how->cell == RNN ? 1 : how->cell == GRU ? 3 : 4;
	how->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
	how->batch_first = native_int(call, "layout", 0);
	how->couples = native_int(call, "input_forget", 0);
	how->resets_later = native_int(call, "linear_before_reset", 0);
	how->clip = (float)native_real(call, "clip", 0);
	if (x->rank != 3 || w->rank != 3 || r->rank != 3 || r->dims[0] != how->directions)
		return native_refuse(call, err, "inputs have other than 3 dimensions");
	how->steps = x->dims[how->batch_first ? 1 : 0];
	how->batch = x->dims[how->batch_first ? 0 : 1];
	how->inputs = x->dims[2];
	how->hidden = r->dims[2];
	if (w->dims[0] != how->directions || w->dims[1] != how->gates * how->hidden ||
	    w->dims[2] != how->inputs || r->dims[1] != how->gates * how->hidden)
		return native_refuse(call, err, "the weights do not fit together");
	how->x = x->data;
	how->w = w->data;
	how->r = r->data;
	int64_t states = how->directions * how->batch * how->hidden;

	rc = optional_reals(call, 3, how->directions * 2 * how->gates * how->hidden, &how->b, err);
	if (rc == 0)
		rc = optional_reals(call, 5, states, &how->h, err);
	if (rc == 0 && how->cell == LSTM)
		rc = optional_reals(call, 6, states, &how->c, err);
	if (rc == 0 && how->cell == LSTM)
		rc = optional_reals(call, 7, how->directions * 3 * how->hidden, &how->p, err);
	return rc ? rc : read_lengths(call, how, err);
}

static int make_outputs(struct native_call *call, struct recurrent *how, struct strata_error *err)
{
	int64_t by_step[4] = { how->steps, how->directions, how->batch, how->hidden };
	int64_t by_member[4] = { how->batch, how->steps, how->directions, how->hidden };
	int64_t state[3] = { how->batch_first ? how->batch : how->directions,
			     how->batch_first ? how->directions : how->batch, how->hidden };
	int rc = 0;

	if (native_wants(call, 0))
		rc = native_make(call, 0, ONNX_FLOAT, 4, how->batch_first ? by_member : by_step,
				 err);
	for (size_t i = 1; rc == 0 && i < (how->cell == LSTM ? 3u : 2u); i++)
		if (native_wants(call, i))
			rc = native_make(call, i, ONNX_FLOAT, 3, state, err);
	if (rc)
		return rc;
	how->y = native_wants(call, 0) ? call->outputs[0].data : NULL;
	how->y_h = native_wants(call, 1) ? call->outputs[1].data : NULL;
	how->y_c = how->cell == LSTM && native_wants(call, 2) ? call->outputs[2].data : NULL;
	return 0;
}

/* All scratch is one block, cut into parts; without a block, only what it takes is counted. */
struct room {
	float *at;
	int64_t used;
};

static float *cut(struct room *room, int64_t count)
{
	float *part = room->at ? room->at + room->used : NULL;

	room->used += (count + 15) / 16 * 16;
	return part;
}

static int64_t lay_out(struct recurrent *how, float *at, float **ret_rows)
{
	int64_t n = how->hidden, row = how->gates * n;
	struct room room = { at, 0 };

	how->from_input = cut(&room, how->steps * how->batch * row);
	how->from_state = cut(&room, how->batch * row);
	how->state = cut(&room, how->batch * n);
	how->cell_state = cut(&room, how->batch * n);
	how->reset = cut(&room, how->batch * n);
	how->packed_w = cut(&room, gemm_packed_count(how->inputs, row));
	how->packed_r = cut(&room, gemm_packed_count(n, row) + gemm_packed_count(n, n));
	how->sum_bias = cut(&room, row);
	*ret_rows = cut(&room, how->steps * how->batch * how->inputs);
	return room.used;
}

static int run_cell(struct native_call *call, enum cell cell, struct strata_error *err)
{
	struct recurrent how = { .cell = cell };
	struct activation activations[2 * ACTIVATIONS];
	bool reverse = strcmp(native_text(call, "direction", "forward"), "reverse") == 0;
	float *rows;
	int rc = read_recurrent(call, &how, err);

	if (rc == 0)
		rc = read_activations(call, &how, activations, err);
	if (rc == 0)
		rc = make_outputs(call, &how, err);
	if (rc)
		return rc;
	int64_t count = lay_out(&how, NULL, &rows);
	size_t bytes = (size_t)count * sizeof(float);
	float *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	lay_out(&how, room, &rows);
	for (int64_t d = 0; d < how.directions; d++)
		run_direction(call, &how, activations + d * ACTIVATIONS, d, reverse || d == 1,
			      rows);
	engine_heap_put(call->heap, room, bytes);
	return 0;
}

static int run_rnn(struct native_call *call, struct strata_error *err)
{
	return run_cell(call, RNN, err);
}
static int run_gru(struct native_call *call, struct strata_error *err)
{
	return run_cell(call, GRU, err);
}
static int run_lstm(struct native_call *call, struct strata_error *err)
{
	return run_cell(call, LSTM, err);
}

static const struct native_op ops[] = {
	{ "GRU", run_gru },
	{ "LSTM", run_lstm },
	{ "RNN", run_rnn },
};

const struct native_family native_family_recurrent = { "recurrent layers", "", ops,
						       sizeof(ops) / sizeof(ops[0]) };
