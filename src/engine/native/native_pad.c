/* Elements around and inside a tensor's edges: Pad, and Trilu, which keeps one side of the diagonal. */
#include "engine/native/native.h"

#include "engine/native/lookup.h"

#include <errno.h>
#include <string.h>

enum pad { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

/* Which element of `count` is at `at`, which may be outside; -1: none. */
static int64_t source(enum pad mode, int64_t at, int64_t count)
{
	int64_t period;

	if (at >= 0 && at < count)
		return at;
	switch (mode) {
	case PAD_EDGE:
		return at < 0 ? 0 : count - 1;
	case PAD_WRAP:
		at %= count;
		return at < 0 ? at + count : at;
	case PAD_REFLECT: /* the edge itself is not repeated */
		period = count > 1 ? 2 * (count - 1) : 1;
		at %= period;
		at = at < 0 ? at + period : at;
		return at < count ? at : period - at;
	default:
		return -1;
	}
}

/* Sizes before and after each dimension; pads is given for all of them, or for those that axes names. */
static int read_pads(struct native_call *call, const struct engine_value *x, int64_t *before,
		     int64_t *after, struct strata_error *err)
{
	int64_t pads[2 * STRATA_TENSOR_RANK_MAX], axes[STRATA_TENSOR_RANK_MAX];
	size_t count, axis_count = x->rank, axis;
	bool given;
	const char *name = onnx_attribute_find(call->node, "paddings") ? "paddings" : "pads";
	int rc = native_ints_either(call, name, 1, pads, 2 * STRATA_TENSOR_RANK_MAX, &count, &given,
				    err);

	for (size_t i = 0; i < x->rank; i++)
		axes[i] = (int64_t)i;
	if (rc == 0 && native_input(call, 3))
		rc = native_input_ints(call, 3, axes, STRATA_TENSOR_RANK_MAX, &axis_count, err);
	if (rc)
		return rc;
	if (count != 2 * axis_count)
		return native_refuse(call, err, "pads has %zu numbers; expected %zu", count,
				     2 * axis_count);
	memset(before, 0, x->rank * sizeof(*before));
	memset(after, 0, x->rank * sizeof(*after));
	for (size_t i = 0; i < axis_count; i++) {
		rc = native_axis(call, axes[i], x->rank, &axis, err);
		if (rc)
			return rc;
		before[axis] = pads[i];
		after[axis] = pads[axis_count + i];
	}
	return 0;
}

static int pad_sizes(struct native_call *call, const struct engine_value *x, enum pad mode,
		     const int64_t *before, const int64_t *after, int64_t *ret_dims,
		     int64_t *ret_total, struct strata_error *err)
{
	*ret_total = 0;
	for (size_t i = 0; i < x->rank; i++) {
		int64_t dim = x->dims[i];

		if (__builtin_add_overflow(dim, before[i], &dim) ||
		    __builtin_add_overflow(dim, after[i], &dim) || dim < 0 ||
		    (dim > 0 && x->dims[i] == 0 && mode != PAD_CONSTANT) ||
		    __builtin_add_overflow(*ret_total, dim, ret_total))
			return native_refuse(call, err, "pads of %lld and %lld do not fit to %lld",
					     (long long)before[i], (long long)after[i],
					     (long long)x->dims[i]);
		ret_dims[i] = dim;
	}
	return 0;
}

/* The element that fills, as bytes. */
static int read_filler(struct native_call *call, const struct engine_value *x, uint64_t *ret_filler,
		       struct strata_error *err)
{
	const struct engine_value *given = native_input(call, 2);
	float old = (float)native_real(call, "value", 0);

	*ret_filler = 0;
	if (given && (given->kind != ONNX_TENSOR || given->dtype != x->dtype ||
		      engine_value_elements(given) < 1))
		return native_refuse(call, err, "the value to fill with is not one of %s",
				     engine_dtype_name(x->dtype));
	if (given)
		memcpy(ret_filler, given->data, engine_dtype_bytes(x->dtype));
	else if (x->dtype == ONNX_FLOAT)
		memcpy(ret_filler, &old, sizeof(old));
	else if (x->dtype == ONNX_STRING) {
		const char *nothing = "";

		memcpy(ret_filler, &nothing, sizeof(nothing));
	}
	return 0;
}

static int read_mode(struct native_call *call, enum pad *ret_mode, struct strata_error *err)
{
	static const char *const names[] = { "constant", "reflect", "edge", "wrap" };
	const char *text = native_text(call, "mode", "constant");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_mode = (enum pad)i;
			return 0;
		}
	return native_lacks(call, err, "mode '%.40s' is not known", text);
}

static int run_pad(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	const int64_t *tables[STRATA_TENSOR_RANK_MAX];
	int64_t before[STRATA_TENSOR_RANK_MAX], after[STRATA_TENSOR_RANK_MAX];
	int64_t dims[STRATA_TENSOR_RANK_MAX], total;
	enum pad mode = PAD_CONSTANT;
	uint64_t filler;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = read_mode(call, &mode, err);
	if (rc == 0)
		rc = read_pads(call, x, before, after, err);
	if (rc == 0)
		rc = pad_sizes(call, x, mode, before, after, dims, &total, err);
	if (rc == 0)
		rc = read_filler(call, x, &filler, err);
	if (rc == 0)
		rc = native_make(call, 0, x->dtype, x->rank, dims, err);
	if (rc || engine_value_elements(&call->outputs[0]) == 0)
		return rc;
	size_t bytes = (size_t)total * sizeof(int64_t);
	int64_t *room = native_scratch(call, bytes, err), *at = room;

	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < x->rank; i++) {
		tables[i] = at;
		for (int64_t k = 0; k < dims[i]; k++)
			*at++ = source(mode, k - before[i], x->dims[i]);
	}
	const struct lookup lookup = { x->rank,
				       x->dims,
				       dims,
				       tables,
				       x->data,
				       call->outputs[0].data,
				       engine_dtype_bytes(x->dtype),
				       &filler };

	lookup_run(call->team, &lookup);
	engine_heap_put(call->heap, room, bytes);
	return 0;
}

static int run_trilu(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	bool upper = native_int(call, "upper", 1);
	int64_t diagonal = 0;
	size_t count;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0 && native_input(call, 1))
		rc = native_input_ints(call, 1, &diagonal, 1, &count, err);
	if (rc == 0 && (x->rank < 2 || x->dtype == ONNX_STRING))
		rc = native_refuse(call, err, "input 1 is not a matrix of numbers");
	if (rc == 0)
		rc = native_make(call, 0, x->dtype, x->rank, x->dims, err);
	if (rc)
		return rc;
	int64_t height = x->dims[x->rank - 2], row = x->dims[x->rank - 1];
	int64_t rows = row ? engine_value_elements(x) / row : 0;
	size_t width = engine_dtype_bytes(x->dtype);

	for (int64_t r = 0; r < rows; r++) {
		/* Elements below `edge` are left of the diagonal. */
		int64_t edge = 0, i = r % height;

		if (__builtin_add_overflow(i, diagonal, &edge) ||
		    __builtin_add_overflow(edge, upper ? 0 : 1, &edge))
			edge = diagonal > 0 ? row : 0;
		edge = edge < 0 ? 0 : edge > row ? row : edge;
		char *to = (char *)call->outputs[0].data + (size_t)(r * row) * width;
		const char *from = (const char *)x->data + (size_t)(r * row) * width;
		size_t left = (size_t)edge * width, all = (size_t)row * width;

		memset(upper ? to : to + left, 0, upper ? left : all - left);
		memcpy(upper ? to + left : to, upper ? from + left : from,
		       upper ? all - left : left);
	}
	return 0;
}

static const struct native_op ops[] = {
	{ "Pad", run_pad },
	{ "Trilu", run_trilu },
};

const struct native_family native_family_pad = { "edges", "", ops, sizeof(ops) / sizeof(ops[0]) };
