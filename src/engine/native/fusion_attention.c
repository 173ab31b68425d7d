/*
 * Attention as exports have it: softmax(q · k · scale + mask) · v, scale and mask as there are. Scores are made for a few rows of queries at a time, which stay
 * in cache whatever the length of the sequence; each of them is what the nodes would make of it.
 */
#include "engine/native/fuse.h"

#include "engine/native/gemm.h"
#include "engine/native/vmath.h"
#include "engine/team.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { PRODUCT, SOFTMAX, FIRST_OPTIONAL, ROWS = 48 };

/* ---- finding ---- */

/* The node that makes one of the inputs, of a kind. */
static const struct onnx_node *inner(const struct fuse *fuse, const struct onnx_node *node,
				     const char *kind)
{
	const struct onnx_node *found = NULL;

	for (size_t i = 0; !found && i < node->input_count; i++)
		found = fuse_maker(fuse, node->inputs[i], kind);
	return found;
}

static size_t match(const struct fuse *fuse, const struct onnx_node *node,
		    const struct onnx_node **ret_parts)
{
	size_t count = FIRST_OPTIONAL;

	if (strcmp(node->kind, "MatMul") != 0 || node->input_count != 2 ||
	    fuse_weight(fuse, node->inputs[1]))
		return 0;
	const struct onnx_node *softmax = fuse_maker(fuse, node->inputs[0], "Softmax");
	const struct onnx_node *mask =
		softmax ? fuse_maker(fuse, softmax->inputs[0], "Add") : NULL;
	const struct onnx_node *below = mask ? mask : softmax;
	const struct onnx_node *scale = below ? inner(fuse, below, "Mul") : NULL;

	if (below && !scale)
		scale = inner(fuse, below, "Div");
	if (mask)
		ret_parts[count++] = mask;
	if (scale)
		ret_parts[count++] = scale;
	const struct onnx_node *product = below ? inner(fuse, scale ? scale : below, "MatMul") : NULL;

	if (!product || product->input_count != 2 || fuse_weight(fuse, product->inputs[1]))
		return 0;
	ret_parts[PRODUCT] = product;
	ret_parts[SOFTMAX] = softmax;
	ret_parts[count++] = node;
	return count;
}

/* ---- running ---- */

struct attention {
	const float *q, *k, *v, *mask;
	float *y;
	int64_t heads, rows, keys, depth, width; /* heads: of all members */
	int64_t mask_row;                        /* step between its rows; 0: one for all */
	size_t rank;                             /* of the leading dimensions */
	int64_t dims[STRATA_TENSOR_RANK_MAX], mask_steps[STRATA_TENSOR_RANK_MAX];
	bool divides;
	float scale;
	struct engine_heap *heap;
	_Atomic bool out_of_memory;
};

static const float *mask_at(const struct attention *how, int64_t head)
{
	int64_t offset = 0;

	for (size_t axis = how->rank; axis-- > 0; head /= how->dims[axis])
		offset += head % how->dims[axis] * how->mask_steps[axis];
	return how->mask + offset;
}

static void soften_rows(const struct attention *how, float *scores, int64_t head, int64_t first,
			int64_t rows)
{
	const float *mask = how->mask ? mask_at(how, head) + first * how->mask_row : NULL;

	for (int64_t r = 0; r < rows; r++) {
		float *row = scores + r * how->keys;

		for (int64_t i = 0; how->divides && i < how->keys; i++)
			row[i] /= how->scale;
		for (int64_t i = 0; mask && i < how->keys; i++)
			row[i] += mask[r * how->mask_row + i];
		vmath_softmax(row, how->keys, row);
	}
}

static void run_head(const struct attention *how, int64_t head, float *room)
{
	float *packed_k = room, *packed_v = packed_k + gemm_packed_count(how->depth, how->keys);
	float *scores = packed_v + gemm_packed_count(how->keys, how->width);
	const float *q = how->q + head * how->rows * how->depth;
	const float *k = how->k + head * how->depth * how->keys;
	const float *v = how->v + head * how->keys * how->width;
	const struct gemm_finish finish = { .scale = how->divides ? 1 : how->scale };
	struct engine_team alone = { 1 };

	gemm_pack(&alone, (struct gemm_matrix){ k, how->keys, 1 }, how->depth, how->keys, packed_k);
	gemm_pack(&alone, (struct gemm_matrix){ v, how->width, 1 }, how->keys, how->width, packed_v);
	for (int64_t first = 0; first < how->rows; first += ROWS) {
		int64_t rows = how->rows - first < ROWS ? how->rows - first : ROWS;
		struct gemm_matrix queries = { q + first * how->depth, how->depth, 1 };
		struct gemm_matrix shares = { scores, how->keys, 1 };

		gemm_run(&alone, rows, how->keys, how->depth, queries, packed_k, scores, how->keys,
			 &finish);
		soften_rows(how, scores, head, first, rows);
		gemm_run(&alone, rows, how->width, how->keys, shares, packed_v,
			 how->y + (head * how->rows + first) * how->width, how->width, NULL);
	}
}

static void run_heads(void *arg, int64_t first, int64_t past)
{
	struct attention *how = arg;
	int64_t rows = how->rows < ROWS ? how->rows : ROWS;
	size_t bytes = (size_t)(gemm_packed_count(how->depth, how->keys) +
				gemm_packed_count(how->keys, how->width) + rows * how->keys) *
		       sizeof(float);
	float *room = engine_heap_get(how->heap, bytes);

	if (!room)
		atomic_store(&how->out_of_memory, true);
	for (int64_t head = first; room && head < past; head++)
		run_head(how, head, room);
	engine_heap_put(how->heap, room, bytes);
}

/* ---- what comes in ---- */

static bool is_floats(const struct engine_value *value)
{
	return value && value->kind == ONNX_TENSOR && value->dtype == ONNX_FLOAT;
}

static bool read_products(struct native_call *call, size_t last, struct attention *how)
{
	const struct engine_value *q = fused_input(call, PRODUCT, 0);
	const struct engine_value *k = fused_input(call, PRODUCT, 1);
	const struct engine_value *v = fused_input(call, last, 1);

	if (!is_floats(q) || !is_floats(k) || !is_floats(v) || q->rank < 2 || k->rank != q->rank ||
	    v->rank != q->rank)
		return false;
	how->rank = q->rank - 2;
	how->heads = 1;
	for (size_t i = 0; i < how->rank; i++) {
		if (k->dims[i] != q->dims[i] || v->dims[i] != q->dims[i])
			return false;
		how->heads *= how->dims[i] = q->dims[i];
	}
	how->rows = q->dims[how->rank];
	how->depth = q->dims[how->rank + 1];
	how->keys = k->dims[how->rank + 1];
	how->width = v->dims[how->rank + 1];
	how->q = q->data;
	how->k = k->data;
	how->v = v->data;
	return k->dims[how->rank] == how->depth && v->dims[how->rank] == how->keys &&
	       how->heads > 0 && how->rows > 0 && how->depth > 0 && how->keys > 0 && how->width > 0;
}

/* A mask may be one for all members, heads or rows, but has a number for each key. */
static bool read_mask(struct native_call *call, size_t part, struct attention *how)
{
	const struct engine_value *mask = fused_input(call, part, 0);
	size_t full = how->rank + 2;
	int64_t step = how->keys;

	if (!mask)
		mask = fused_input(call, part, 1);
	if (!is_floats(mask) || mask->rank < 1 || mask->rank > full ||
	    mask->dims[mask->rank - 1] != how->keys)
		return false;
	how->mask = mask->data;
	for (size_t axis = full - 1; axis-- > 0;) {
		size_t missing = full - mask->rank;
		int64_t dim = axis < missing ? 1 : mask->dims[axis - missing];
		int64_t whole = axis == how->rank ? how->rows : how->dims[axis];

		if (dim != 1 && dim != whole)
			return false;
		*(axis == how->rank ? &how->mask_row : &how->mask_steps[axis]) = dim == 1 ? 0 : step;
		step *= dim;
	}
	return true;
}

static bool read_scale(struct native_call *call, size_t part, struct attention *how)
{
	const struct onnx_node *node = native_fused_of(call->node)->parts[part];
	int exponent;

	how->divides = strcmp(node->kind, "Div") == 0;
	if (!fused_number(call, part, 1, &how->scale) &&
	    (how->divides || !fused_number(call, part, 0, &how->scale)))
		return false;
	if (how->divides && fabsf(how->scale) > 0x1p-100f && fabsf(how->scale) < 0x1p100f &&
	    fabsf(frexpf(how->scale, &exponent)) == 0.5f) { /* a power of two: the same by a product */
		how->scale = 1 / how->scale;
		how->divides = false;
	}
	return true;
}

static bool over_last(const struct native_call *call, const struct attention *how)
{
	const struct onnx_node *node = native_fused_of(call->node)->parts[SOFTMAX];
	const struct onnx_attribute *axis = onnx_attribute_find(node, "axis");
	int64_t rank = (int64_t)how->rank + 2;
	int64_t given = axis && axis->type == ONNX_ATTR_INT ? axis->integer
			: call->opset < 13                  ? 1
							    : -1;

	return given == -1 || given == rank - 1;
}

static int run(struct native_call *call, struct strata_error *err)
{
	const struct native_fused *fused = native_fused_of(call->node);
	size_t last = fused->part_count - 1;
	struct attention how = { .scale = 1, .heap = call->heap };
	bool fits = read_products(call, last, &how) && over_last(call, &how);

	for (size_t i = FIRST_OPTIONAL; fits && i < last; i++)
		fits = strcmp(fused->parts[i]->kind, "Add") == 0 ? read_mask(call, i, &how)
								 : read_scale(call, i, &how);
	if (!fits || how.heads < call->team->thread_count)
		return native_fused_apart(call, err);
	int64_t dims[STRATA_TENSOR_RANK_MAX];

	memcpy(dims, how.dims, how.rank * sizeof(*dims));
	dims[how.rank] = how.rows;
	dims[how.rank + 1] = how.width;
	int rc = native_make(call, 0, ONNX_FLOAT, how.rank + 2, dims, err);

	if (rc)
		return rc;
	how.y = call->outputs[0].data;
	engine_team_run(call->team, how.heads, 1, run_heads, &how);
	return atomic_load(&how.out_of_memory) ? strata_fail_memory(err) : 0;
}

const struct native_fusion native_fusion_attention = { "Attention", match, { "Attention", run } };
