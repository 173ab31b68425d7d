/*
 * Attention as one operator, and what runtimes fuse around it: ONNX's own Attention, and those of ONNX Runtime (com.microsoft) that its
 * optimiser and the exporters of language models write. What multiplies is counted; rotary embedding and the like only pass shapes on.
 */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

static int shape_same(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), onnx_input(call, 0));
	return 0;
}

/* The sum that is normalised comes out as well, as the fourth output. */
static int shape_skip_norm(struct onnx_call *call, struct strata_error *err)
{
	if (call->output_count > 3)
		onnx_set_like(&call->outputs[3], onnx_input(call, 0));
	return shape_same(call, err);
}

/* ---- attention ---- */

/* A tensor of queries, keys or values: batch × length × (heads · size), or batch × heads × length × size. */
struct heads {
	int64_t batch, heads, length, size;
};

static bool read_heads(const struct onnx_value *value, int64_t heads, struct heads *ret)
{
	if (!value || !value->ranked || (value->rank != 3 && value->rank != 4))
		return false;
	if (value->rank == 4) {
		*ret = (struct heads){ value->dims[0], value->dims[1], value->dims[2],
				       value->dims[3] };
		return true;
	}
	*ret = (struct heads){ value->dims[0], heads, value->dims[1],
			       heads > 0 && value->dims[2] >= 0 ? value->dims[2] / heads : -1 };
	return true;
}

/* Where the operators differ: attributes for the heads, and the inputs that caches come in by. */
struct form {
	const char *query_heads, *key_heads;
	size_t past_key, past_value;
	bool grows; /* the cache that goes out is the one that came in and the new keys */
};
static const struct form own_form = { "q_num_heads", "kv_num_heads", 4, 5, true };
static const struct form multi_head_form = { "num_heads", "num_heads", 6, 7, true };
static const struct form group_query_form = { "num_heads", "kv_num_heads", 3, 4, false };

static int64_t sum_dims(int64_t a, int64_t b)
{
	int64_t sum;

	return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static int64_t past_length(const struct onnx_call *call, size_t index)
{
	const struct onnx_value *past = onnx_input(call, index);

	if (!past)
		return 0;
	return past->ranked && past->rank == 4 ? past->dims[2] : -1;
}

static void set_present(struct onnx_value *to, const struct onnx_value *past,
			const struct heads *heads, const struct form *form, int64_t length)
{
	const int64_t dims[] = { heads->batch, heads->heads, form->grows ? length : -1,
				 heads->size };

	onnx_set_shape(to, past ? past->dtype : to->dtype, 4, dims);
}

static int attention_shape(struct onnx_call *call, const struct form *form)
{
	const struct onnx_value *query = onnx_input(call, 0);
	int64_t query_heads = onnx_call_int(call, form->query_heads, -1);
	int64_t key_heads = onnx_call_int(call, form->key_heads, query_heads);
	struct heads q, k, v;

	if (!query || query->kind != ONNX_TENSOR)
		return 0;
	for (size_t i = 0; i < call->output_count; i++)
		onnx_set_type(&call->outputs[i], query->dtype);
	if (!read_heads(query, query_heads, &q) ||
	    !read_heads(onnx_input(call, 1), key_heads, &k) ||
	    !read_heads(onnx_input(call, 2), key_heads, &v))
		return 0;
	struct onnx_value *to = onnx_output(call, 0);

	onnx_set_like(to, query);
	to->dims[to->rank - 1] = query->rank == 4                                    ? v.size
				 : v.size < 0 || q.heads < 0                         ? -1
				 : __builtin_mul_overflow(v.size, q.heads, &q.heads) ? -1
										     : q.heads;
	if (call->output_count > 1)
		set_present(&call->outputs[1], onnx_input(call, form->past_key), &k, form,
			    sum_dims(past_length(call, form->past_key), k.length));
	if (call->output_count > 2)
		set_present(&call->outputs[2], onnx_input(call, form->past_value), &v, form,
			    sum_dims(past_length(call, form->past_value), v.length));
	return 0;
}

/* Queries meet all keys, those of the cache too, and the result all values. */
static double attention_flops(const struct onnx_call *call, const struct form *form)
{
	int64_t query_heads = onnx_call_int(call, form->query_heads, -1);
	int64_t key_heads = onnx_call_int(call, form->key_heads, query_heads);
	struct heads q, k, v;

	if (!read_heads(onnx_input(call, 0), query_heads, &q) ||
	    !read_heads(onnx_input(call, 1), key_heads, &k) ||
	    !read_heads(onnx_input(call, 2), key_heads, &v) || q.heads < 0 || k.size < 0 ||
	    v.size < 0)
		return 0;
	int64_t keys = sum_dims(past_length(call, form->past_key), k.length);

	return keys < 0 ? 0
			: 2.0 * (double)q.batch * (double)q.heads * (double)q.length *
				  (double)keys * (double)(k.size + v.size);
}

static int shape_attention(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	return attention_shape(call, &own_form);
}

static double flops_attention(const struct onnx_call *call)
{
	return attention_flops(call, &own_form);
}

static int shape_multi_head(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	return attention_shape(call, &multi_head_form);
}

static double flops_multi_head(const struct onnx_call *call)
{
	return attention_flops(call, &multi_head_form);
}

static int shape_group_query(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	return attention_shape(call, &group_query_form);
}

static double flops_group_query(const struct onnx_call *call)
{
	return attention_flops(call, &group_query_form);
}

/* ---- products ---- */

static int shape_fused_matmul(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value sides[2] = { { .length = -1 }, { .length = -1 } };
	static const char *const names[] = { "transA", "transB" };
	struct onnx_value *to = onnx_output(call, 0), x = { .kind = ONNX_TENSOR, .ranked = true },
			  y = x;
	int64_t inner;

	for (size_t i = 0; i < 2; i++) {
		const struct onnx_value *side = onnx_input(call, i);

		if (!side || !side->ranked || side->rank < 2)
			return 0;
		onnx_set_like(&sides[i], side);
		if (onnx_call_int(call, names[i], 0)) {
			sides[i].dims[side->rank - 1] = side->dims[side->rank - 2];
			sides[i].dims[side->rank - 2] = side->dims[side->rank - 1];
		}
	}
	const struct onnx_value *a = &sides[0], *b = &sides[1];

	if (!onnx_merge_dim(a->dims[a->rank - 1], b->dims[b->rank - 2], &inner))
		return onnx_clash(call, err, "%lld columns meet %lld rows",
				  (long long)a->dims[a->rank - 1], (long long)b->dims[b->rank - 2]);
	x.rank = a->rank - 2;
	y.rank = b->rank - 2;
	memcpy(x.dims, a->dims, x.rank * sizeof(*x.dims));
	memcpy(y.dims, b->dims, y.rank * sizeof(*y.dims));
	to->dtype = a->dtype;
	int rc = onnx_broadcast(call, &x, &y, to, err);

	if (rc)
		return rc;
	to->dims[to->rank++] = a->dims[a->rank - 2];
	to->dims[to->rank++] = b->dims[b->rank - 1];
	return 0;
}

static double flops_fused_matmul(const struct onnx_call *call)
{
	const struct onnx_value *a = onnx_input(call, 0);
	bool turned = onnx_call_int(call, "transA", 0) != 0;

	return a->rank < 2 ? 0
			   : 2.0 * (double)onnx_elements(&call->outputs[0]) *
				     (double)a->dims[a->rank - 1 - turned];
}

/* Weights of a few bits each: K rows, N columns, by attributes. */
static int shape_matmul_nbits(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *a = onnx_input(call, 0);
	int64_t rows = onnx_call_int(call, "K", -1), columns = onnx_call_int(call, "N", -1), inner;

	onnx_set_like(onnx_output(call, 0), a);
	if (!a || !a->ranked || a->rank == 0)
		return 0;
	if (rows < 0 || columns < 0 || !onnx_merge_dim(a->dims[a->rank - 1], rows, &inner))
		return onnx_clash(call, err, "%lld columns meet %lld rows",
				  (long long)a->dims[a->rank - 1], (long long)rows);
	onnx_output(call, 0)->dims[a->rank - 1] = columns;
	return 0;
}

static double flops_matmul_nbits(const struct onnx_call *call)
{
	return 2.0 * (double)onnx_elements(&call->outputs[0]) * (double)onnx_call_int(call, "K", 0);
}

/* clang-format off */
static const struct onnx_op own_ops[] = {
	{ "Attention", shape_attention, .flops = flops_attention },
	{ "RotaryEmbedding", shape_same },
	{ "SimplifiedLayerNormalization", shape_same },
};

static const struct onnx_op runtime_ops[] = {
	{ "BiasGelu", shape_same },
	{ "FastGelu", shape_same },
	{ "FusedMatMul", shape_fused_matmul, .flops = flops_fused_matmul },
	{ "Gelu", shape_same },
	{ "GroupQueryAttention", shape_group_query, .flops = flops_group_query },
	{ "MatMulNBits", shape_matmul_nbits, .flops = flops_matmul_nbits },
	{ "MultiHeadAttention", shape_multi_head, .flops = flops_multi_head },
	{ "QuickGelu", shape_same },
	{ "RotaryEmbedding", shape_same },
	{ "SimplifiedLayerNormalization", shape_same },
	{ "SkipLayerNormalization", shape_skip_norm },
	{ "SkipSimplifiedLayerNormalization", shape_skip_norm },
};
/* clang-format on */

const struct onnx_family onnx_family_fused = { "attention in one", "", own_ops,
					       sizeof(own_ops) / sizeof(own_ops[0]) };
const struct onnx_family onnx_family_runtime = { "fused by ONNX Runtime", "com.microsoft",
						 runtime_ops,
						 sizeof(runtime_ops) / sizeof(runtime_ops[0]) };
