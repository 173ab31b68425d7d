/* SiLU: Sigmoid and Mul with what went into it. */
#include "engine/native/fuse.h"

#include "engine/native/vmath.h"
#include "engine/team.h"

#include <string.h>

enum { SIGMOID, MUL, PART_COUNT, BLOCK = 512 };

static size_t match(const struct fuse *fuse, const struct onnx_node *node,
		    const struct onnx_node **ret_parts)
{
	if (strcmp(node->kind, "Mul") != 0 || node->input_count != 2)
		return 0;
	for (size_t i = 0; i < 2; i++) {
		const struct onnx_node *sigmoid = fuse_maker(fuse, node->inputs[i], "Sigmoid");

		if (!sigmoid || sigmoid->input_count != 1 ||
		    strcmp(sigmoid->inputs[0], node->inputs[1 - i]) != 0)
			continue;
		ret_parts[SIGMOID] = sigmoid;
		ret_parts[MUL] = node;
		return PART_COUNT;
	}
	return 0;
}

struct work {
	const float *from;
	float *to;
	int64_t count;
};

static void run_blocks(void *arg, int64_t first, int64_t past)
{
	const struct work *work = arg;
	float room[BLOCK];

	for (int64_t i = first * BLOCK; i < past * BLOCK && i < work->count; i += BLOCK) {
		int64_t count = work->count - i < BLOCK ? work->count - i : BLOCK;

		vmath_apply(VMATH_SIGMOID, work->from + i, count, room);
		NATIVE_EACH for (int64_t k = 0; k < count; k++)
			work->to[i + k] = work->from[i + k] * room[k];
	}
}

static int run(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = native_input(call, 0);

	if (!x || x->kind != ONNX_TENSOR || x->dtype != ONNX_FLOAT)
		return native_fused_apart(call, err);
	int rc = native_make_like(call, 0, 0, err);

	if (rc)
		return rc;
	struct work work = { x->data, call->outputs[0].data, engine_value_elements(x) };

	engine_team_run(call->team, (work.count + BLOCK - 1) / BLOCK, 16, run_blocks, &work);
	return 0;
}

const struct native_fusion native_fusion_silu = { "SiLU", match, { "SiLU", run } };
