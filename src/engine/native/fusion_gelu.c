/* GELU by erf, as PyTorch exports it: x · (erf(x / √2) + 1) · ½ in five nodes. */
#include "engine/native/fuse.h"

#include "engine/native/vmath.h"
#include "engine/team.h"

#include <string.h>

enum { ERF, DIV, ADD, TIMES_X, TIMES_HALF, PART_COUNT, BLOCK = 512 };

/* The last Mul is by ½, the one before by x. */
static size_t match(const struct fuse *fuse, const struct onnx_node *node,
		    const struct onnx_node **ret_parts)
{
	if (strcmp(node->kind, "Mul") != 0 || node->input_count != 2)
		return 0;
	for (size_t i = 0; i < 4; i++) {
		const struct onnx_node *times = fuse_maker(fuse, node->inputs[i / 2], "Mul");
		const struct onnx_node *add =
			times && times->input_count == 2
				? fuse_maker(fuse, times->inputs[i % 2], "Add")
				: NULL;
		const struct onnx_node *erf = NULL, *div = NULL;

		for (size_t k = 0; add && !erf && k < add->input_count; k++)
			erf = fuse_maker(fuse, add->inputs[k], "Erf");
		if (erf)
			div = fuse_maker(fuse, erf->inputs[0], "Div");
		if (!div || div->input_count != 2 ||
		    strcmp(div->inputs[0], times->inputs[1 - i % 2]) != 0)
			continue;
		const struct onnx_node *parts[] = { erf, div, add, times, node };

		memcpy(ret_parts, parts, sizeof(parts));
		return PART_COUNT;
	}
	return 0;
}

struct work {
	const float *from;
	float *to;
	int64_t count;
	float root, one, half;
};

static void run_blocks(void *arg, int64_t first, int64_t past)
{
	const struct work *work = arg;
	float root = work->root, one = work->one, half = work->half;
	float room[BLOCK];

	for (int64_t i = first * BLOCK; i < past * BLOCK && i < work->count; i += BLOCK) {
		int64_t count = work->count - i < BLOCK ? work->count - i : BLOCK;
		const float *from = work->from + i;

		for (int64_t k = 0; k < count; k++)
			room[k] = from[k] / root;
		vmath_apply(VMATH_ERF, room, count, room);
		NATIVE_EACH for (int64_t k = 0; k < count; k++)
			work->to[i + k] = from[k] * (room[k] + one) * half;
	}
}

/* The number that a node has besides what the step makes. */
static bool number_of(struct native_call *call, size_t part, float *ret_number)
{
	return fused_number(call, part, 0, ret_number) || fused_number(call, part, 1, ret_number);
}

static int run(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = native_input(call, 0);
	struct work work = { 0 };

	if (!x || x->kind != ONNX_TENSOR || x->dtype != ONNX_FLOAT || x->rank < 1 ||
	    !fused_number(call, DIV, 1, &work.root) || !number_of(call, ADD, &work.one) ||
	    !number_of(call, TIMES_HALF, &work.half))
		return native_fused_apart(call, err);
	int rc = native_make_like(call, 0, 0, err);

	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.count = engine_value_elements(x);
	engine_team_run(call->team, (work.count + BLOCK - 1) / BLOCK, 16, run_blocks, &work);
	return 0;
}

const struct native_fusion native_fusion_gelu = { "GELU", match, { "GELU", run } };
