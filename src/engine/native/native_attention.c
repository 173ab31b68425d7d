/*
 * Attention and RotaryEmbedding of opset 23. A head of a member is one piece of work with products by one thread, so a member does not depend on its batch.
 * Scores are made for a few rows of queries at a time, which stay in cache whatever the length of the sequence.
 */
#include "engine/native/native.h"

#include "engine/native/gemm.h"
#include "engine/native/vmath.h"
#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { ROWS = 64 }; /* queries at a time */

/* A tensor of heads: [members heads length width], or [members length heads·width]. */
struct heads {
	const float *at;
	int64_t members, heads, length, width;
	int64_t member_step, head_step, row_step;
};

struct attention {
	struct heads q, k, v; /* k and v with what came before */
	const struct engine_value *mask;
	int64_t mask_steps[4]; /* member, head, query, key */
	float scale, softcap;
	bool causal;
	float *y;
	int64_t y_member, y_head, y_row;
	struct engine_heap *heap;
	_Atomic bool out_of_memory;
};

static int read_heads(struct native_call *call, size_t index, const char *count_name,
		      struct heads *ret, struct strata_error *err)
{
	const struct engine_value *x;
	int64_t heads = native_int(call, count_name, 0);
	int rc = native_typed(call, index, ONNX_FLOAT, &x, err);

	if (rc)
		return rc;
	if (x->rank == 4) {
		*ret = (struct heads){ x->data, x->dims[0], x->dims[1], x->dims[2], x->dims[3] };
		ret->row_step = ret->width;
		ret->head_step = ret->length * ret->width;
		ret->member_step = ret->heads * ret->head_step;
		return 0;
	}
	if (x->rank != 3 || heads < 1 || x->dims[2] % heads)
		return native_refuse(call, err, "input %zu does not fit to %lld heads", index + 1,
				     (long long)heads);
	*ret = (struct heads){ x->data, x->dims[0], heads, x->dims[1], x->dims[2] / heads };
	ret->row_step = x->dims[2];
	ret->head_step = ret->width;
	ret->member_step = ret->length * ret->row_step;
	return 0;
}

/* ---- one head ---- */

/* Adds the mask to scores of queries first …; what may not be seen is −∞. */
static void apply_mask(const struct attention *how, float *scores, int64_t member, int64_t head,
		       int64_t first, int64_t rows)
{
	int64_t keys = how->k.length;

	for (int64_t r = 0; r < rows; r++) {
		float *row = scores + r * keys;
		int64_t at = member * how->mask_steps[0] + head * how->mask_steps[1] +
			     (first + r) * how->mask_steps[2];

		for (int64_t i = 0; how->mask && i < keys; i++, at += how->mask_steps[3])
			if (how->mask->dtype == ONNX_FLOAT)
				row[i] += ((const float *)how->mask->data)[at];
			else if (!((const uint8_t *)how->mask->data)[at])
				row[i] = -INFINITY;
		for (int64_t i = first + r + 1; how->causal && i < keys; i++)
			row[i] = -INFINITY;
	}
}

/* A row of which nothing may be seen gives 0. */
static void soften(float *row, int64_t count)
{
	float largest = -INFINITY;

	for (int64_t i = 0; i < count; i++)
		largest = row[i] > largest ? row[i] : largest;
	if (largest == -INFINITY) {
		for (int64_t i = 0; i < count; i++)
			row[i] = isnan(row[i]) ? NAN : 0;
		return;
	}
	float factor = 1 / vmath_exp_sum(row, count, largest, row);

	for (int64_t i = 0; i < count; i++)
		row[i] *= factor;
}

static void run_head(const struct attention *how, int64_t member, int64_t head, float *room)
{
	struct engine_team alone = { 1 };
	int64_t keys = how->k.length, width = how->v.width, group = how->q.heads / how->k.heads;
	const float *q = how->q.at + member * how->q.member_step + head * how->q.head_step;
	const float *k = how->k.at + member * how->k.member_step + head / group * how->k.head_step;
	const float *v = how->v.at + member * how->v.member_step + head / group * how->v.head_step;
	float *packed_k = room, *packed_v = room + gemm_packed_count(how->q.width, keys);
	float *scores = packed_v + gemm_packed_count(keys, width);
	struct gemm_finish finish = { .scale = how->scale };

	gemm_pack(&alone, (struct gemm_matrix){ k, 1, how->k.row_step }, how->q.width, keys,
		  packed_k);
	gemm_pack(&alone, (struct gemm_matrix){ v, how->v.row_step, 1 }, keys, width, packed_v);
	for (int64_t first = 0; first < how->q.length; first += ROWS) {
		int64_t rows = how->q.length - first < ROWS ? how->q.length - first : ROWS;
		struct gemm_matrix left = { q + first * how->q.row_step, how->q.row_step, 1 };

		gemm_run(&alone, rows, keys, how->q.width, left, packed_k, scores, keys, &finish);
		apply_mask(how, scores, member, head, first, rows);
		for (int64_t i = 0; how->softcap > 0 && i < rows * keys; i++)
			scores[i] = how->softcap * tanhf(scores[i] / how->softcap);
		for (int64_t r = 0; r < rows; r++)
			soften(scores + r * keys, keys);
		gemm_run(&alone, rows, width, keys, (struct gemm_matrix){ scores, keys, 1 },
			 packed_v,
			 how->y + member * how->y_member + head * how->y_head + first * how->y_row,
			 how->y_row, NULL);
	}
}

static void run_heads(void *arg, int64_t first, int64_t past)
{
	struct attention *how = arg;
	int64_t keys = how->k.length;
	size_t bytes = (size_t)(gemm_packed_count(how->q.width, keys) +
				gemm_packed_count(keys, how->v.width) + ROWS * keys) *
		       sizeof(float);
	float *room = engine_heap_get(how->heap, bytes);

	if (!room) {
		how->out_of_memory = true;
		return;
	}
	for (int64_t i = first; i < past; i++)
		run_head(how, i / how->q.heads, i % how->q.heads, room);
	engine_heap_put(how->heap, room, bytes);
}

/* ---- reading the node ---- */

/* Keys (or values) of before, and those of now behind them, as an output. */
static int join_past(struct native_call *call, size_t past_index, size_t output,
		     struct heads *heads, struct engine_value *ret_joined, struct strata_error *err)
{
	const struct engine_value *past = native_input(call, past_index);

	if (!past && !native_wants(call, output))
		return 0;
	int rc = past ? native_typed(call, past_index, ONNX_FLOAT, &past, err) : 0;

	if (rc == 0 && past &&
	    (past->rank != 4 || past->dims[0] != heads->members || past->dims[1] != heads->heads ||
	     past->dims[3] != heads->width))
		rc = native_refuse(call, err, "input %zu does not fit", past_index + 1);
	if (rc)
		return rc;
	int64_t before = past ? past->dims[2] : 0, length = before + heads->length;
	const int64_t dims[4] = { heads->members, heads->heads, length, heads->width };

	rc = engine_value_make(call->heap, ONNX_FLOAT, 4, dims, ret_joined, err);
	if (rc)
		return rc;
	size_t row = (size_t)heads->width * sizeof(float);

	for (int64_t i = 0; i < heads->members * heads->heads; i++) {
		float *to = (float *)ret_joined->data + i * length * heads->width;
		const float *from = heads->at + i / heads->heads * heads->member_step +
				    i % heads->heads * heads->head_step;

		if (before)
			memcpy(to, (const float *)past->data + i * before * heads->width,
			       (size_t)before * row);
		for (int64_t r = 0; row && r < heads->length; r++)
			memcpy(to + (before + r) * heads->width, from + r * heads->row_step, row);
	}
	*heads = (struct heads){ ret_joined->data,      heads->members,
				 heads->heads,          length,
				 heads->width,          heads->heads * length * heads->width,
				 length * heads->width, heads->width };
	return 0;
}

static int read_mask(struct native_call *call, struct attention *how, struct strata_error *err)
{
	const int64_t full[4] = { how->q.members, how->q.heads, how->q.length, how->k.length };
	const struct engine_value *mask = native_input(call, 3);
	int64_t step = 1;

	if (!mask)
		return 0;
	if (mask->kind != ONNX_TENSOR || mask->rank > 4 || mask->rank < 2 ||
	    (mask->dtype != ONNX_FLOAT && mask->dtype != ONNX_BOOL))
		return native_refuse(call, err, "the mask is not one of float32 or bool");
	for (size_t i = mask->rank; i-- > 0; step *= mask->dims[i]) {
		size_t axis = i + 4 - mask->rank;

		if (mask->dims[i] != full[axis] && mask->dims[i] != 1)
			return native_refuse(call, err, "the mask has %lld where %lld are needed",
					     (long long)mask->dims[i], (long long)full[axis]);
		how->mask_steps[axis] = mask->dims[i] == 1 ? 0 : step;
	}
	how->mask = mask;
	return 0;
}

static int check_attention(struct native_call *call, struct attention *how,
			   struct strata_error *err)
{
	bool masked = native_input(call, 3) || how->causal;

	if (how->k.members != how->q.members || how->v.members != how->q.members ||
	    how->k.length != how->v.length || how->k.heads != how->v.heads || how->k.heads < 1 ||
	    how->q.heads % how->k.heads || how->k.width != how->q.width)
		return native_refuse(call, err, "queries, keys and values do not fit together");
	if (native_wants(call, 3) || native_input(call, 6))
		return native_lacks(call, err, "scores as an output and lengths are not built");
	if (how->softcap > 0 && masked)
		return native_lacks(call, err, "softcap with a mask is not built");
	if (how->causal && (native_input(call, 4) || native_input(call, 5)))
		return native_lacks(call, err, "is_causal with past keys is not built");
	return 0;
}

static int make_y(struct native_call *call, struct attention *how, struct strata_error *err)
{
	const struct heads *q = &how->q;
	int64_t width = how->v.width;
	const int64_t split[4] = { q->members, q->heads, q->length, width };
	const int64_t joined[3] = { q->members, q->length, q->heads * width };
	bool flat = call->inputs[0]->rank == 3;
	int rc = native_make(call, 0, ONNX_FLOAT, flat ? 3 : 4, flat ? joined : split, err);

	if (rc)
		return rc;
	how->y = call->outputs[0].data;
	how->y_row = flat ? q->heads * width : width;
	how->y_head = flat ? width : q->length * width;
	how->y_member = q->length * q->heads * width;
	return 0;
}

static int run_attention(struct native_call *call, struct strata_error *err)
{
	struct attention how = { .heap = call->heap,
				 .causal = native_int(call, "is_causal", 0),
				 .softcap = (float)native_real(call, "softcap", 0) };
	struct engine_value keys = { 0 }, values = { 0 };
	int rc = read_heads(call, 0, "q_num_heads", &how.q, err);

	if (rc == 0)
		rc = read_heads(call, 1, "kv_num_heads", &how.k, err);
	if (rc == 0)
		rc = read_heads(call, 2, "kv_num_heads", &how.v, err);
	if (rc == 0)
		rc = check_attention(call, &how, err);
	if (rc == 0)
		rc = join_past(call, 4, 1, &how.k, &keys, err);
	if (rc == 0)
		rc = join_past(call, 5, 2, &how.v, &values, err);
	if (rc == 0 && how.k.length != how.v.length)
		rc = native_refuse(call, err, "there are not as many keys as values");
	if (rc == 0)
		rc = read_mask(call, &how, err);
	if (rc == 0)
		rc = make_y(call, &how, err);
	if (rc == 0) {
		how.scale = (float)native_real(call, "scale",
					       1 / sqrt((double)(how.q.width ? how.q.width : 1)));
		if (engine_value_elements(&call->outputs[0]) > 0)
			engine_team_run(call->team, how.q.members * how.q.heads, 1, run_heads,
					&how);
		if (how.out_of_memory)
			rc = strata_fail_memory(err);
	}
	if (rc == 0 && native_wants(call, 1))
		call->outputs[1] = engine_value_share(&keys);
	if (rc == 0 && native_wants(call, 2))
		call->outputs[2] = engine_value_share(&values);
	engine_value_drop(&keys);
	engine_value_drop(&values);
	return rc;
}

/* ---- RotaryEmbedding ---- */

struct rotary {
	struct heads x;
	const float *cosines, *sines; /* rows of `pairs` */
	const int64_t *positions;     /* rows of them, or NULL: one row for each token */
	int64_t pairs;
	bool interleaved;
	float *to;
};

static void rotate_row(const struct rotary *how, const float *from, float *to, int64_t row)
{
	const float *c = how->cosines + row * how->pairs, *s = how->sines + row * how->pairs;

	memcpy(to, from, (size_t)how->x.width * sizeof(*to)); /* what is beyond the pairs stays */
	for (int64_t i = 0; i < how->pairs; i++) {
		int64_t a = how->interleaved ? 2 * i : i,
			b = how->interleaved ? a + 1 : i + how->pairs;
		float x = from[a], y = from[b];

		to[a] = c[i] * x - s[i] * y;
		to[b] = s[i] * x + c[i] * y;
	}
}

static void rotate_rows(void *arg, int64_t first, int64_t past)
{
	const struct rotary *how = arg;
	const struct heads *x = &how->x;

	for (int64_t r = first; r < past; r++) { /* member, token */
		int64_t row = how->positions ? how->positions[r] : r;

		for (int64_t h = 0; h < x->heads; h++) {
			int64_t at = r / x->length * x->member_step + h * x->head_step +
				     r % x->length * x->row_step;

			rotate_row(how, x->at + at, how->to + at, row);
		}
	}
}

static int read_rotary(struct native_call *call, struct rotary *how, struct strata_error *err)
{
	const struct engine_value *c, *s, *p = native_input(call, 3);
	int64_t part = native_int(call, "rotary_embedding_dim", 0);
	int rc = native_typed(call, 1, ONNX_FLOAT, &c, err);

	if (rc == 0)
		rc = native_typed(call, 2, ONNX_FLOAT, &s, err);
	if (rc == 0 && p)
		rc = native_typed(call, 3, ONNX_INT64, &p, err);
	if (rc)
		return rc;
	how->pairs = (part > 0 ? part : how->x.width) / 2;
	int64_t tokens = how->x.members * how->x.length;
	int64_t rows = how->pairs ? engine_value_elements(c) / how->pairs : 0;

	if (c->rank < 2 || c->dims[c->rank - 1] != how->pairs ||
	    engine_value_elements(s) != engine_value_elements(c) || part > how->x.width ||
	    (!p && rows != tokens) || (p && engine_value_elements(p) != tokens))
		return native_refuse(call, err, "the caches do not fit to the input");
	for (int64_t i = 0; p && i < tokens; i++)
		if (((const int64_t *)p->data)[i] < 0 || ((const int64_t *)p->data)[i] >= rows)
			return native_refuse(call, err, "position %lld is outside of 0 to %lld",
					     (long long)((const int64_t *)p->data)[i],
					     (long long)rows - 1);
	how->cosines = c->data;
	how->sines = s->data;
	how->positions = p ? p->data : NULL;
	how->interleaved = native_int(call, "interleaved", 0);
	return 0;
}

static int run_rotary(struct native_call *call, struct strata_error *err)
{
	struct rotary how = { 0 };
	int rc = read_heads(call, 0, "num_heads", &how.x, err);

	if (rc == 0)
		rc = read_rotary(call, &how, err);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, call->inputs[0]->rank, call->inputs[0]->dims,
				 err);
	if (rc || engine_value_elements(&call->outputs[0]) == 0)
		return rc;
	how.to = call->outputs[0].data;
	engine_team_run(call->team, how.x.members * how.x.length,
			1 + 4096 / (how.x.heads * how.x.width), rotate_rows, &how);
	return 0;
}

static const struct native_op ops[] = {
	{ "Attention", run_attention },
	{ "RotaryEmbedding", run_rotary },
};

const struct native_family native_family_attention = { "attention", "", ops,
						       sizeof(ops) / sizeof(ops[0]) };
