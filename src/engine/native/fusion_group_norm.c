/*
 * Group normalisation in the five nodes that PyTorch exports: groups of channels laid out as channels of their own (Reshape), InstanceNormalization, the old
 * shape again (Reshape), a scale and a bias for each channel (Mul, Add).
 */
#include "engine/native/fuse.h"

#include "engine/native/sums.h"
#include "engine/team.h"

#include <math.h>
#include <string.h>

enum { NORM, GROUP, BACK, SCALE, BIAS, PART_COUNT };

static size_t match(const struct fuse *fuse, const struct onnx_node *node,
		    const struct onnx_node **ret_parts)
{
	if (strcmp(node->kind, "Add") != 0 || node->input_count != 2)
		return 0;
	for (size_t i = 0; i < 4; i++) {
		const struct onnx_node *scale = fuse_maker(fuse, node->inputs[i / 2], "Mul");
		const struct onnx_node *back =
			scale && scale->input_count == 2
				? fuse_maker(fuse, scale->inputs[i % 2], "Reshape")
				: NULL;
		const struct onnx_node *norm =
			back && back->input_count == 2
				? fuse_maker(fuse, back->inputs[0], "InstanceNormalization")
				: NULL;
		const struct onnx_node *group = norm && norm->input_count == 3
							? fuse_maker(fuse, norm->inputs[0], "Reshape")
							: NULL;

		if (!group || group->input_count != 2)
			continue;
		const struct onnx_node *parts[] = { norm, group, back, scale, node };

		memcpy(ret_parts, parts, sizeof(parts));
		return PART_COUNT;
	}
	return 0;
}

/* ---- what the nodes say ---- */

static const struct engine_value *typed(struct native_call *call, size_t part, size_t input,
					int dtype)
{
	const struct engine_value *value = fused_input(call, part, input);

	return value && value->kind == ONNX_TENSOR && value->dtype == dtype ? value : NULL;
}

/* The shape that a Reshape is told; 0 and −1 are as ONNX has them. */
static const int64_t *shape_of(struct native_call *call, size_t part, int64_t *ret_rank)
{
	const struct onnx_node *node = native_fused_of(call->node)->parts[part];
	const struct engine_value *shape = typed(call, part, 1, ONNX_INT64);

	if (!shape || shape->rank != 1 || onnx_attribute_find(node, "allowzero"))
		return NULL;
	*ret_rank = shape->dims[0];
	return shape->data;
}

/* [members, groups, the rest]; 0: it is another shape. */
static int64_t groups_of(struct native_call *call, const struct engine_value *x)
{
	int64_t rank = 0;
	const int64_t *shape = shape_of(call, GROUP, &rank);

	if (!shape || rank != 3 || (shape[0] != 0 && shape[0] != x->dims[0]) || shape[1] < 1 ||
	    x->dims[1] % shape[1])
		return 0;
	int64_t rest = engine_value_elements(x) / x->dims[0] / shape[1];

	return shape[2] == -1 || shape[2] == rest ? shape[1] : 0;
}

static bool goes_back(struct native_call *call, const struct engine_value *x)
{
	int64_t rank = 0;
	const int64_t *shape = shape_of(call, BACK, &rank);

	if (!shape || rank != x->rank)
		return false;
	for (int64_t i = 0; i < rank; i++)
		if (shape[i] != x->dims[i])
			return false;
	return true;
}

/* Numbers for each channel, [channels, 1, 1 …], that a node has besides what the step makes. */
static const float *by_channel(struct native_call *call, size_t part, const struct engine_value *x)
{
	for (size_t i = 0; i < 2; i++) {
		const struct engine_value *value = typed(call, part, i, ONNX_FLOAT);

		if (value && value->rank == x->rank - 1 && value->dims[0] == x->dims[1] &&
		    engine_value_elements(value) == x->dims[1])
			return value->data;
	}
	return NULL;
}

/* Numbers for each group. */
static const float *by_group(struct native_call *call, size_t input, int64_t groups)
{
	const struct engine_value *value = typed(call, NORM, input, ONNX_FLOAT);

	return value && engine_value_elements(value) == groups ? value->data : NULL;
}

/* ---- running ---- */

struct work {
	const float *from, *scale, *bias, *channel_scale, *channel_bias;
	float *to;
	int64_t groups, width, area; /* channels of a group, elements of a channel */
	double epsilon;
};

static void run_groups(void *arg, int64_t first, int64_t past)
{
	const struct work *work = arg;
	int64_t area = work->area;

	for (int64_t g = first; g < past; g++) {
		int64_t group = g % work->groups;
		const float *from = work->from + g * work->width * area;
		float *to = work->to + g * work->width * area;
		double mean, variance;

		sums_moments(from, work->width * area, &mean, &variance);
		double inverse = 1 / sqrt(variance + work->epsilon);
		float factor = (float)(inverse * work->scale[group]);
		float shift = (float)(work->bias[group] - mean * inverse * work->scale[group]);

		for (int64_t c = 0; c < work->width; c++) {
			float scale = work->channel_scale[group * work->width + c];
			float bias = work->channel_bias[group * work->width + c];

			NATIVE_EACH for (int64_t i = c * area; i < (c + 1) * area; i++)
				to[i] = (from[i] * factor + shift) * scale + bias;
		}
	}
}

static int run(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x = typed(call, GROUP, 0, ONNX_FLOAT);
	const struct onnx_attribute *epsilon =
		onnx_attribute_find(native_fused_of(call->node)->parts[NORM], "epsilon");
	struct work work = { .epsilon = epsilon ? epsilon->real : 1e-5 };

	if (!x || x->rank < 3 || engine_value_elements(x) == 0 ||
	    !(work.groups = groups_of(call, x)) || !goes_back(call, x) ||
	    !(work.scale = by_group(call, 1, work.groups)) ||
	    !(work.bias = by_group(call, 2, work.groups)) ||
	    !(work.channel_scale = by_channel(call, SCALE, x)) ||
	    !(work.channel_bias = by_channel(call, BIAS, x)))
		return native_fused_apart(call, err);
	int rc = native_make(call, 0, ONNX_FLOAT, x->rank, x->dims, err);

	if (rc)
		return rc;
	work.from = x->data;
	work.to = call->outputs[0].data;
	work.width = x->dims[1] / work.groups;
	work.area = engine_value_elements(x) / x->dims[0] / x->dims[1];
	engine_team_run(call->team, x->dims[0] * work.groups, 1, run_groups, &work);
	return 0;
}

const struct native_fusion native_fusion_group_norm = { "GroupNorm", match, { "GroupNorm", run } };
