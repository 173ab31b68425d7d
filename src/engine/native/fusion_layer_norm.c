/* Layer normalisation over the last axis in the nine nodes that exports before opset 17 have: (x − mean) / √(mean of squares + ε) · scale + bias. */
#include "engine/native/fuse.h"

#include "engine/native/sums.h"
#include "engine/team.h"

#include <math.h>
#include <string.h>

enum { MEAN, SUB, SQUARE, VARIANCE, EPSILON, ROOT, DIV, SCALE, BIAS, PART_COUNT };

/* From the division up to the mean. */
static bool match_above(const struct fuse *fuse, const struct onnx_node *div,
			const struct onnx_node **parts)
{
	parts[DIV] = div;
	parts[SUB] = div->input_count == 2 ? fuse_maker(fuse, div->inputs[0], "Sub") : NULL;
	parts[ROOT] = parts[SUB] ? fuse_maker(fuse, div->inputs[1], "Sqrt") : NULL;
	parts[EPSILON] = parts[ROOT] ? fuse_maker(fuse, parts[ROOT]->inputs[0], "Add") : NULL;
	parts[VARIANCE] = NULL;
	for (size_t i = 0; parts[EPSILON] && !parts[VARIANCE] && i < parts[EPSILON]->input_count; i++)
		parts[VARIANCE] = fuse_maker(fuse, parts[EPSILON]->inputs[i], "ReduceMean");
	parts[SQUARE] = parts[VARIANCE] ? fuse_maker(fuse, parts[VARIANCE]->inputs[0], "Pow") : NULL;
	parts[MEAN] = parts[SQUARE] && parts[SUB]->input_count == 2
			      ? fuse_maker(fuse, parts[SUB]->inputs[1], "ReduceMean")
			      : NULL;
	return parts[MEAN] && strcmp(parts[SQUARE]->inputs[0], parts[SUB]->outputs[0]) == 0 &&
	       strcmp(parts[MEAN]->inputs[0], parts[SUB]->inputs[0]) == 0;
}

static size_t match(const struct fuse *fuse, const struct onnx_node *node,
		    const struct onnx_node **ret_parts)
{
	if (strcmp(node->kind, "Add") != 0 || node->input_count != 2)
		return 0;
	for (size_t i = 0; i < 4; i++) {
		const struct onnx_node *mul = fuse_maker(fuse, node->inputs[i / 2], "Mul");
		const struct onnx_node *div = mul && mul->input_count == 2
						      ? fuse_maker(fuse, mul->inputs[i % 2], "Div")
						      : NULL;

		if (!div || !match_above(fuse, div, ret_parts))
			continue;
		ret_parts[SCALE] = mul;
		ret_parts[BIAS] = node;
		return PART_COUNT;
	}
	return 0;
}

/* Is it over the last axis, which is kept as 1? */
static bool over_last(struct native_call *call, size_t part, int64_t rank)
{
	const struct onnx_node *node = native_fused_of(call->node)->parts[part];
	const struct onnx_attribute *axes = onnx_attribute_find(node, "axes");
	const struct onnx_attribute *keep = onnx_attribute_find(node, "keepdims");
	const struct engine_value *given = fused_input(call, part, 1);
	int64_t axis = 0;

	if (keep && keep->integer != 1)
		return false;
	if (axes && axes->type == ONNX_ATTR_INTS && axes->count == 1)
		axis = axes->integers[0];
	else if (given && given->kind == ONNX_TENSOR && given->dtype == ONNX_INT64 &&
		 engine_value_elements(given) == 1)
		axis = *(const int64_t *)given->data;
	else
		return false;
	return axis == -1 || axis == rank - 1;
}

/* The row that a node has besides what the step makes. */
static const float *row_of(struct native_call *call, size_t part, int64_t count)
{
	for (size_t i = 0; i < 2; i++) {
		const struct engine_value *value = fused_input(call, part, i);

		if (value && value->kind == ONNX_TENSOR && value->dtype == ONNX_FLOAT &&
		    value->rank == 1 && value->dims[0] == count)
			return value->data;
	}
	return NULL;
}

struct work {
	const float *from, *scale, *bias;
	float *to;
	int64_t row;
	float epsilon;
};

static void run_rows(void *arg, int64_t first, int64_t past)
{
	const struct work *work = arg;
	int64_t count = work->row;

	for (int64_t r = first; r < past; r++) {
		const float *from = work->from + r * count;
		float *to = work->to + r * count;
		float mean = (float)(sums_of_floats(from, count) / (double)count);

		NATIVE_EACH for (int64_t i = 0; i < count; i++)
			to[i] = from[i] - mean;
		float variance = (float)(sums_of_squares(to, count) / (double)count);
		float root = sqrtf(variance + work->epsilon);

		NATIVE_EACH for (int64_t i = 0; i < count; i++)
			to[i] = to[i] / root * work->scale[i] + work->bias[i];
	}
}

static int run(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = native_input(call, 0);
	bool fits = x && x->kind == ONNX_TENSOR && x->dtype == ONNX_FLOAT && x->rank > 0 &&
		    x->dims[x->rank - 1] > 0;
	struct work work = { .row = fits ? x->dims[x->rank - 1] : 0 };
	float exponent;

	if (!fits || !over_last(call, MEAN, x->rank) || !over_last(call, VARIANCE, x->rank) ||
	    !fused_number(call, SQUARE, 1, &exponent) || exponent != 2 ||
	    fused_input(call, SQUARE, 1)->rank != 0 ||
	    (!fused_number(call, EPSILON, 0, &work.epsilon) &&
	     !fused_number(call, EPSILON, 1, &work.epsilon)) ||
	    !(work.scale = row_of(call, SCALE, work.row)) ||
	    !(work.bias = row_of(call, BIAS, work.row)))
		return native_fused_apart(call, err);
	int rc = native_make_like(call, 0, 0, err);

	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	engine_team_run(call->team, engine_value_elements(x) / work.row,
			1 + 8192 / (work.row + 1), run_rows, &work);
	return 0;
}

const struct native_fusion native_fusion_layer_norm = { "LayerNorm", match, { "LayerNorm", run } };
