/* Operators that make more of a tensor, or put several together and apart: Expand, Tile, Concat, Split, depth and space. */
#include "formats/onnx/onnx_infer.h"

/* ---- Expand, Tile ---- */

static int shape_expand(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *shape = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0), wanted = { .length = -1 };

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!shape || !shape->ranked || shape->rank != 1 || shape->dims[0] < 0)
		return 0;
	if (shape->dims[0] > STRATA_TENSOR_RANK_MAX)
		return onnx_clash(call, err, "the new shape has %lld dimensions",
				  (long long)shape->dims[0]);
	onnx_set_rank(&wanted, from->dtype, (size_t)shape->dims[0]);
	for (size_t i = 0; shape->integers && i < wanted.rank; i++)
		wanted.dims[i] = onnx_element_dim(shape, i);
	return onnx_broadcast(call, from, &wanted, to, err);
}

static int fold_expand(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	struct onnx_value *to = &call->outputs[0];
	int64_t count = onnx_elements(to);

	if (onnx_elements(from) != 1)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (int64_t i = 0; rc == 0 && i < count; i++)
		onnx_copy_element(to, (size_t)i, from, 0);
	return rc;
}

static int shape_tile(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *repeats = onnx_input(call, 1);
	struct onnx_value *to = onnx_output(call, 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, from->dtype);
	if (!from->ranked)
		return 0;
	onnx_set_rank(to, from->dtype, from->rank);
	if (!repeats || !repeats->integers)
		return 0;
	if (onnx_elements(repeats) != (int64_t)from->rank)
		return onnx_clash(call, err, "%lld repeats for %zu dimensions",
				  (long long)onnx_elements(repeats), from->rank);
	for (size_t i = 0; i < from->rank; i++)
		if (onnx_element_dim(repeats, i) == 1)
			to->dims[i] = from->dims[i];
		else if (from->dims[i] == 1)
			to->dims[i] = onnx_element_dim(repeats, i);
		else if (from->dims[i] < 0 || onnx_element_dim(repeats, i) < 0 ||
			 __builtin_mul_overflow(from->dims[i], onnx_element_dim(repeats, i),
						&to->dims[i]))
			to->dims[i] = -1;
	return 0;
}

/* ---- Concat, Split ---- */

static int shape_concat(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *first = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis;

	if (!first || first->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, first->dtype);
	for (size_t i = 0; i < call->input_count; i++)
		if (!onnx_input(call, i) || !onnx_input(call, i)->ranked)
			return 0;
	if (!onnx_axis(onnx_call_int(call, "axis", 1), first->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	struct onnx_value all = *to;

	onnx_set_shape(&all, first->dtype, first->rank, first->dims);
	for (size_t i = 1; i < call->input_count; i++) {
		const struct onnx_value *part = onnx_input(call, i);

		if (part->rank != all.rank)
			return onnx_clash(call, err, "%zu and %zu dimensions do not go together",
					  all.rank, part->rank);
		for (size_t d = 0; d < all.rank; d++)
			if (d == axis &&
			    (all.dims[d] < 0 || part->dims[d] < 0 ||
			     __builtin_add_overflow(all.dims[d], part->dims[d], &all.dims[d])))
				all.dims[d] = -1;
			else if (d != axis &&
				 !onnx_merge_dim(all.dims[d], part->dims[d], &all.dims[d]))
				return onnx_clash(call, err, "axis %zu has %lld and %lld elements",
						  d, (long long)all.dims[d],
						  (long long)part->dims[d]);
	}
	*to = all;
	return 0;
}

static int fold_concat(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *to = &call->outputs[0];
	size_t at = 0;

	if (to->rank != 1)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	for (size_t i = 0; rc == 0 && i < call->input_count; i++)
		for (int64_t k = 0; k < onnx_elements(call->inputs[i]); k++)
			onnx_copy_element(to, at++, call->inputs[i], (size_t)k);
	return rc;
}

/* Parts of equal size, the last one perhaps smaller. */
static int64_t equal_part(int64_t whole, size_t parts, size_t index)
{
	int64_t size = whole / (int64_t)parts + (whole % (int64_t)parts != 0);
	int64_t left = whole - size * (int64_t)index;

	return left < 0 ? 0 : left < size ? left : size;
}

static int shape_split(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	size_t count, axis;
	bool given;
	const int64_t *sizes = onnx_call_ints(call, "split", 1, &count, &given);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	for (size_t i = 0; i < call->output_count; i++)
		onnx_set_type(&call->outputs[i], from->dtype);
	if (!from->ranked)
		return 0;
	if (!onnx_axis(onnx_call_int(call, "axis", 0), from->rank, &axis))
		return onnx_clash(call, err, "there is no such axis");
	if (sizes && count < call->output_count)
		return onnx_clash(call, err, "%zu sizes for %zu outputs", count,
				  call->output_count);
	for (size_t i = 0; i < call->output_count; i++) {
		struct onnx_value *to = &call->outputs[i];

		onnx_set_shape(to, from->dtype, from->rank, from->dims);
		to->dims[axis] = -1;
		if (sizes && sizes[i] >= 0)
			to->dims[axis] = sizes[i];
		else if (!given && from->dims[axis] >= 0 && from->dims[axis] < INT64_MAX / 2)
			to->dims[axis] = equal_part(from->dims[axis], call->output_count, i);
	}
	return 0;
}

static int fold_split(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = call->inputs[0];
	size_t at = 0, room = (size_t)onnx_elements(from);
	int rc = 0;

	if (from->rank != 1)
		return 0;
	for (size_t i = 0; rc == 0 && i < call->output_count; i++) {
		struct onnx_value *to = &call->outputs[i];
		int64_t count = onnx_elements(to);

		if (count < 0 || (size_t)count > room - at)
			return 0;
		rc = onnx_make_elements(call, to, err);
		for (int64_t k = 0; rc == 0 && k < count; k++)
			onnx_copy_element(to, (size_t)k, from, at++);
	}
	return rc;
}

/* ---- Depth and space ---- */

static int shape_depth(struct onnx_call *call, bool to_space, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	int64_t block = onnx_call_int(call, "blocksize", 0);

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	struct onnx_value *to = onnx_output(call, 0);

	onnx_set_rank(to, from->dtype, 4);
	if (!from->ranked)
		return 0;
	if (from->rank != 4 || block < 1 || block > 1 << 20)
		return onnx_clash(call, err, "a block of %lld in %zu dimensions", (long long)block,
				  from->rank);
	to->dims[0] = from->dims[0];
	for (size_t i = 1; i < 4; i++) {
		bool grows = (i == 1) != to_space;
		int64_t by = i == 1 ? block * block : block;

		if (from->dims[i] < 0 || (!grows && from->dims[i] % by) ||
		    (grows && __builtin_mul_overflow(from->dims[i], by, &to->dims[i])))
			to->dims[i] = -1;
		else if (!grows)
			to->dims[i] = from->dims[i] / by;
	}
	return 0;
}

static int shape_depth_to_space(struct onnx_call *call, struct strata_error *err)
{
	return shape_depth(call, true, err);
}

static int shape_space_to_depth(struct onnx_call *call, struct strata_error *err)
{
	return shape_depth(call, false, err);
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "Concat", shape_concat, fold_concat },
	{ "DepthToSpace", shape_depth_to_space },
	{ "Expand", shape_expand, fold_expand },
	{ "SpaceToDepth", shape_space_to_depth },
	{ "Split", shape_split, fold_split },
	{ "Tile", shape_tile },
};
/* clang-format on */

const struct onnx_family onnx_family_join = { "joining and splitting", "", ops,
					      sizeof(ops) / sizeof(ops[0]) };
