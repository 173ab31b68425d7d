/*
 * Convolutions by oneDNN: Conv and ConvTranspose in float32, with one, two or three spatial dimensions. A primitive is made for one member of the
 * batch and run for each in turn, because a primitive for two may add up in another order than one for one. Primitives, and weights in the layout
 * that they want, are kept from call to call; weights that come anew with each call are laid out anew. Kernels of one element, and of one channel each, need
 * no oneDNN (conv_direct.h).
 */
#include "engine/native/native.h"

#include "engine/native/conv_direct.h"
#include "engine/native/onednn.h"

#include <errno.h>
#include <string.h>

enum { SPATIAL_MAX = 3, VARIANTS = 4 };

struct conv {
	size_t spatial; /* dimensions */
	int64_t groups, in_channels, out_channels;
	int64_t in[SPATIAL_MAX], out[SPATIAL_MAX], kernel[SPATIAL_MAX];
	int64_t strides[SPATIAL_MAX], dilations[SPATIAL_MAX];
	int64_t before[SPATIAL_MAX], after[SPATIAL_MAX]; /* padding */
	bool transposed, biased;
};

/* ---- reading the node ---- */

static int read_list(struct native_call *call, const char *name, size_t count, int64_t missing,
		     int64_t *ret, struct strata_error *err)
{
	size_t given;
	const int64_t *values = native_ints(call, name, &given);

	if (values && given != count)
		return native_refuse(call, err, "%s has %zu numbers; expected %zu", name, given,
				     count);
	for (size_t i = 0; i < count; i++) {
		ret[i] = values ? values[i] : missing;
		if (ret[i] < 1 || ret[i] > INT32_MAX)
			return native_refuse(call, err, "%s has %lld; expected 1 or more", name,
					     (long long)ret[i]);
	}
	return 0;
}

static int read_pads(struct native_call *call, struct conv *conv, struct strata_error *err)
{
	size_t given;
	const int64_t *values = native_ints(call, "pads", &given);

	if (values && given != 2 * conv->spatial)
		return native_refuse(call, err, "pads has %zu numbers; expected %zu", given,
				     2 * conv->spatial);
	for (size_t i = 0; values && i < conv->spatial; i++) {
		conv->before[i] = values[i];
		conv->after[i] = values[conv->spatial + i];
		if (conv->before[i] < 0 || conv->after[i] < 0 || conv->before[i] > INT32_MAX ||
		    conv->after[i] > INT32_MAX)
			return native_refuse(call, err, "pads has %lld and %lld",
					     (long long)conv->before[i], (long long)conv->after[i]);
	}
	return 0;
}

/* What a kernel covers with its gaps. */
static int64_t reach(const struct conv *conv, size_t axis)
{
	return (conv->kernel[axis] - 1) * conv->dilations[axis] + 1;
}

static void share_pad(int64_t total, bool upper, int64_t *before, int64_t *after)
{
	if (total < 0)
		total = 0;
	*before = upper ? total / 2 : total - total / 2;
	*after = total - *before;
}

static int out_sizes(struct native_call *call, struct conv *conv, struct strata_error *err)
{
	const char *automatic = native_text(call, "auto_pad", "NOTSET");
	bool upper = strcmp(automatic, "SAME_UPPER") == 0;
	bool same = upper || strcmp(automatic, "SAME_LOWER") == 0;

	if (strcmp(automatic, "VALID") == 0)
		memset(conv->before, 0, sizeof(conv->before)),
			memset(conv->after, 0, sizeof(conv->after));
	for (size_t i = 0; i < conv->spatial; i++) {
		int64_t stride = conv->strides[i];

		if (same) {
			int64_t out = (conv->in[i] + stride - 1) / stride;

			share_pad((out - 1) * stride + reach(conv, i) - conv->in[i], upper,
				  &conv->before[i], &conv->after[i]);
		}
		int64_t room = conv->in[i] + conv->before[i] + conv->after[i] - reach(conv, i);

		if (room < 0)
			return native_refuse(call, err,
					     "the kernel reaches %lld and the padded input has %lld",
					     (long long)reach(conv, i),
					     (long long)(room + reach(conv, i)));
		conv->out[i] = room / stride + 1;
	}
	return 0;
}

/* Of a transposed one the output is larger than the input, by what is asked for. */
static int out_sizes_transposed(struct native_call *call, struct conv *conv,
				struct strata_error *err)
{
	const char *automatic = native_text(call, "auto_pad", "NOTSET");
	bool upper = strcmp(automatic, "SAME_UPPER") == 0;
	bool same = upper || strcmp(automatic, "SAME_LOWER") == 0;
	size_t extra_count, shape_count;
	const int64_t *extra = native_ints(call, "output_padding", &extra_count);
	const int64_t *shape = native_ints(call, "output_shape", &shape_count);

	if ((extra && extra_count != conv->spatial) || (shape && shape_count < conv->spatial))
		return native_refuse(call, err, "output_padding and output_shape need %zu numbers",
				     conv->spatial);
	for (size_t i = 0; i < conv->spatial; i++) {
		int64_t more = extra ? extra[i] : 0;
		int64_t full = (conv->in[i] - 1) * conv->strides[i] + more + reach(conv, i);

		if (shape || same) {
			conv->out[i] = shape ? shape[shape_count - conv->spatial + i]
					     : conv->in[i] * conv->strides[i];
			share_pad(full - conv->out[i], upper, &conv->before[i], &conv->after[i]);
			if (conv->out[i] > full) { /* more than the steps reach: the rest is bias alone */
				more += conv->out[i] - full;
				full = conv->out[i];
			}
		}
		conv->out[i] = full - conv->before[i] - conv->after[i];
		conv->after[i] -= more; /* what is made beyond the last step */
		if (conv->out[i] < 1)
			return native_refuse(call, err, "the output would have %lld elements a row",
					     (long long)conv->out[i]);
	}
	return 0;
}

static int read_conv(struct native_call *call, const struct engine_value *x,
		     const struct engine_value *w, bool transposed, struct conv *ret_conv,
		     struct strata_error *err)
{
	struct conv conv = { .transposed = transposed, .groups = native_int(call, "group", 1) };

	if (x->rank < 3 || x->rank > 2 + SPATIAL_MAX || w->rank != x->rank)
		return native_refuse(call, err, "inputs have %u and %u dimensions; expected 3 to 5",
				     x->rank, w->rank);
	conv.spatial = x->rank - 2;
	conv.in_channels = x->dims[1];
	if (conv.groups < 1)
		return native_refuse(call, err, "group is %lld; expected 1 or more",
				     (long long)conv.groups);
	conv.out_channels = transposed ? w->dims[1] * conv.groups : w->dims[0];
	if ((transposed ? w->dims[0] : w->dims[1] * conv.groups) != conv.in_channels ||
	    conv.in_channels % conv.groups || conv.out_channels % conv.groups)
		return native_refuse(call, err, "weights are for %lld channels; the input has %lld",
				     (long long)(transposed ? w->dims[0] : w->dims[1] * conv.groups),
				     (long long)conv.in_channels);
	for (size_t i = 0; i < conv.spatial; i++) {
		conv.in[i] = x->dims[2 + i];
		conv.kernel[i] = w->dims[2 + i];
	}
	int rc = read_list(call, "strides", conv.spatial, 1, conv.strides, err);

	if (rc == 0)
		rc = read_list(call, "dilations", conv.spatial, 1, conv.dilations, err);
	if (rc == 0)
		rc = read_pads(call, &conv, err);
	if (rc == 0)
		rc = transposed ? out_sizes_transposed(call, &conv, err)
				: out_sizes(call, &conv, err);
	if (rc)
		return rc;
	conv.biased = native_input(call, 2) != NULL;
	*ret_conv = conv;
	return 0;
}

/* ---- primitives ---- */

/* A primitive for one shape, with what goes in and out of it. */
struct variant {
	struct conv conv; /* that it is for */
	dnnl_primitive_t run;
	struct onednn_port source, weights, result; /* layouts, ours and oneDNN's */
	dnnl_memory_t bias, scratch;
	size_t scratch_bytes;    /* that oneDNN wants while it runs */
	struct engine_heap *heap;
	void *packed;            /* weights that stay, as oneDNN wants them; NULL: none */
	const void *packed_from; /* whose these are */
	uint64_t used;
};

struct conv_state {
	struct native_state base;
	struct engine_heap *heap;
	struct onednn_place place;
	struct variant variants[VARIANTS];
	uint64_t clock;
};

static void variant_fini(struct variant *variant)
{
	if (variant->run)
		dnnl_primitive_destroy(variant->run);
	if (variant->bias)
		dnnl_memory_destroy(variant->bias);
	if (variant->scratch)
		dnnl_memory_destroy(variant->scratch);
	engine_heap_put(variant->heap, variant->packed, variant->weights.inner_bytes);
	onednn_port_fini(&variant->source);
	onednn_port_fini(&variant->weights);
	onednn_port_fini(&variant->result);
	*variant = (struct variant){ 0 };
}

static void conv_free(struct native_state *base)
{
	struct conv_state *state = (struct conv_state *)base;

	for (size_t i = 0; i < VARIANTS; i++)
		variant_fini(&state->variants[i]);
	onednn_place_fini(&state->place);
	engine_heap_put(state->heap, state, sizeof(*state));
}

static int conv_state(struct native_call *call, struct conv_state **ret_state,
		      struct strata_error *err)
{
	struct conv_state *state = (struct conv_state *)*call->state;

	if (!state) {
		state = engine_heap_get(call->heap, sizeof(*state));
		if (!state)
			return strata_fail_memory(err);
		*state = (struct conv_state){ .base = { conv_free }, .heap = call->heap };
		int rc = onednn_place_init(&state->place, err);

		if (rc) {
			engine_heap_put(call->heap, state, sizeof(*state));
			return rc;
		}
		*call->state = &state->base;
	}
	*ret_state = state;
	return 0;
}

/* Dimensions as oneDNN has them: of the weights [groups] out in kernel…, whichever way the convolution goes. */
struct shapes {
	int rank, weight_rank;
	dnnl_dims_t source, weights, result, bias, strides, dilates, before, after;
};

static struct shapes shapes_of(const struct conv *conv)
{
	struct shapes shapes = { .rank = (int)conv->spatial + 2 };
	int at = 0;

	shapes.source[0] = shapes.result[0] = 1;
	shapes.source[1] = conv->in_channels;
	shapes.result[1] = shapes.bias[0] = conv->out_channels;
	if (conv->groups > 1)
		shapes.weights[at++] = conv->groups;
	shapes.weights[at++] = conv->out_channels / conv->groups;
	shapes.weights[at++] = conv->in_channels / conv->groups;
	for (size_t i = 0; i < conv->spatial; i++) {
		shapes.source[2 + i] = conv->in[i];
		shapes.result[2 + i] = conv->out[i];
		shapes.weights[at++] = conv->kernel[i];
		shapes.strides[i] = conv->strides[i];
		shapes.dilates[i] = conv->dilations[i] - 1;
		shapes.before[i] = conv->before[i];
		shapes.after[i] = conv->after[i];
	}
	shapes.weight_rank = at;
	return shapes;
}

/* How the file has weights: out before in, or in before out of a transposed one; the steps between elements say which. */
static void weight_steps(const struct conv *conv, const struct shapes *shapes, dnnl_dims_t steps)
{
	int64_t step = 1;
	int at = shapes->weight_rank, out = conv->groups > 1, in = out + 1;

	for (int i = at - 1; i > in; i--) {
		steps[i] = step;
		step *= shapes->weights[i];
	}
	steps[conv->transposed ? out : in] = step;
	step *= shapes->weights[conv->transposed ? out : in];
	steps[conv->transposed ? in : out] = step;
	step *= shapes->weights[conv->transposed ? in : out];
	if (out)
		steps[0] = step;
}

static dnnl_status_t describe(const struct conv *conv, const struct shapes *shapes,
			      struct onednn_place *place, dnnl_primitive_desc_t *ret_description)
{
	dnnl_memory_desc_t source, weights, result, bias;
	dnnl_deconvolution_desc_t turned;
	dnnl_convolution_desc_t plain;

	dnnl_memory_desc_init_by_tag(&source, shapes->rank, shapes->source, dnnl_f32,
				     dnnl_format_tag_any);
	dnnl_memory_desc_init_by_tag(&weights, shapes->weight_rank, shapes->weights, dnnl_f32,
				     dnnl_format_tag_any);
	dnnl_memory_desc_init_by_tag(&result, shapes->rank, shapes->result, dnnl_f32,
				     dnnl_format_tag_any);
	dnnl_memory_desc_init_by_tag(&bias, 1, shapes->bias, dnnl_f32, dnnl_a);
	dnnl_status_t status =
		conv->transposed
			? dnnl_dilated_deconvolution_forward_desc_init(
				  &turned, dnnl_forward_inference, dnnl_deconvolution_direct,
				  &source, &weights, conv->biased ? &bias : NULL, &result,
				  shapes->strides, shapes->dilates, shapes->before, shapes->after)
			: dnnl_dilated_convolution_forward_desc_init(
				  &plain, dnnl_forward_inference, dnnl_convolution_direct, &source,
				  &weights, conv->biased ? &bias : NULL, &result, shapes->strides,
				  shapes->dilates, shapes->before, shapes->after);

	dnnl_primitive_attr_t attributes = NULL;

	if (status == dnnl_success)
		status = dnnl_primitive_attr_create(&attributes);
	if (status == dnnl_success)
		status = dnnl_primitive_attr_set_scratchpad_mode(attributes,
								 dnnl_scratchpad_mode_user);
	if (status == dnnl_success)
		status = dnnl_primitive_desc_create(ret_description,
						    conv->transposed ? (const void *)&turned
								     : (const void *)&plain,
						    attributes, place->engine, NULL);
	if (attributes)
		dnnl_primitive_attr_destroy(attributes);
	return status;
}

static int make_variant(struct native_call *call, struct conv_state *state, const struct conv *conv,
			struct variant *variant, struct strata_error *err)
{
	struct shapes shapes = shapes_of(conv);
	dnnl_primitive_desc_t description = NULL;
	dnnl_memory_desc_t ours, bias;
	dnnl_dims_t steps;
	dnnl_status_t status = describe(conv, &shapes, &state->place, &description);

	if (status == dnnl_success)
		status = dnnl_primitive_create(&variant->run, description);
	if (status == dnnl_success) {
		dnnl_memory_desc_init_by_strides(&ours, shapes.rank, shapes.source, dnnl_f32, NULL);
		status = onednn_port_init(&variant->source, &state->place, &ours,
					dnnl_primitive_desc_query_md(description, dnnl_query_src_md,
								     0),
					true);
	}
	if (status == dnnl_success) {
		weight_steps(conv, &shapes, steps);
		dnnl_memory_desc_init_by_strides(&ours, shapes.weight_rank, shapes.weights, dnnl_f32,
						 steps);
		status = onednn_port_init(&variant->weights, &state->place, &ours,
					dnnl_primitive_desc_query_md(
						description, dnnl_query_weights_md, 0),
					true);
	}
	if (status == dnnl_success) {
		dnnl_memory_desc_init_by_strides(&ours, shapes.rank, shapes.result, dnnl_f32, NULL);
		status = onednn_port_init(&variant->result, &state->place, &ours,
					dnnl_primitive_desc_query_md(description, dnnl_query_dst_md,
								     0),
					false);
	}
	if (status == dnnl_success && conv->biased) {
		dnnl_memory_desc_init_by_tag(&bias, 1, shapes.bias, dnnl_f32, dnnl_a);
		status = dnnl_memory_create(&variant->bias, &bias, state->place.engine,
					    DNNL_MEMORY_NONE);
	}
	if (status == dnnl_success) {
		const dnnl_memory_desc_t *wants =
			dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);

		variant->scratch_bytes = dnnl_memory_desc_get_size(wants);
		status = dnnl_memory_create(&variant->scratch, wants, state->place.engine,
					    DNNL_MEMORY_NONE);
	}
	if (description)
		dnnl_primitive_desc_destroy(description);
	variant->heap = call->heap;
	if (status != dnnl_success) {
		variant_fini(variant);
		return status == dnnl_out_of_memory
			       ? strata_fail_memory(err)
			       : native_lacks(call, err, "oneDNN has no such convolution (%s)",
					      onednn_status_name(status));
	}
	variant->conv = *conv;
	return 0;
}

static int find_variant(struct native_call *call, struct conv_state *state, const struct conv *conv,
			struct variant **ret_variant, struct strata_error *err)
{
	struct variant *oldest = &state->variants[0];
	int rc = 0;

	for (size_t i = 0; i < VARIANTS; i++) {
		struct variant *variant = &state->variants[i];

		if (variant->run && memcmp(&variant->conv, conv, sizeof(*conv)) == 0) {
			variant->used = ++state->clock;
			*ret_variant = variant;
			return 0;
		}
		if (variant->used < oldest->used)
			oldest = variant;
	}
	variant_fini(oldest);
	rc = make_variant(call, state, conv, oldest, err);
	if (rc == 0) {
		oldest->used = ++state->clock;
		*ret_variant = oldest;
	}
	return rc;
}

/* ---- running ---- */

static dnnl_status_t run_members(struct conv_state *state, struct variant *variant,
				 const struct engine_value *x, const struct engine_value *bias,
				 struct engine_value *y)
{
	const struct conv *conv = &variant->conv;
	int64_t in = conv->in_channels, out = conv->out_channels;
	dnnl_status_t status = dnnl_success;

	for (size_t i = 0; i < conv->spatial; i++) {
		in *= conv->in[i];
		out *= conv->out[i];
	}
	if (bias)
		status = dnnl_memory_set_data_handle(variant->bias, bias->data);
	for (int64_t member = 0; status == dnnl_success && member < x->dims[0]; member++) {
		float *to = (float *)y->data + member * out;

		status = onednn_port_in(&variant->source, &state->place,
				      (float *)x->data + member * in);
		if (status == dnnl_success)
			status = onednn_port_bind(&variant->result, to);
		dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, variant->source.inner },
					   { DNNL_ARG_WEIGHTS, variant->weights.inner },
					   { DNNL_ARG_DST, variant->result.inner },
					   { DNNL_ARG_SCRATCHPAD, variant->scratch },
					   { DNNL_ARG_BIAS, variant->bias } };

		if (status == dnnl_success)
			status = dnnl_primitive_execute(variant->run, state->place.stream,
							bias ? 5 : 4, args);
		if (status == dnnl_success)
			status = onednn_port_out(&variant->result, &state->place);
	}
	return status;
}

/* Those that conv_direct.h has: what it takes is told, or 0. */
enum direct { NOT_DIRECT, POINTWISE, DEPTHWISE };

static enum direct direct_of(const struct conv *conv)
{
	enum { AREA_LEAST = 16, PLANE_MOST = 1 << 20 }; /* smaller ones would fill no vector */
	int64_t area = 1, kernel = 1;
	bool plain = true;

	for (size_t i = 0; i < conv->spatial; i++) {
		area *= conv->in[i];
		kernel *= conv->kernel[i];
		plain &= conv->strides[i] == 1 && conv->before[i] == 0 && conv->after[i] == 0;
	}
	if (conv->transposed)
		return NOT_DIRECT;
	if (kernel == 1 && plain && conv->groups == 1 && area >= AREA_LEAST)
		return POINTWISE;
	return conv->spatial == 2 && conv->groups == conv->in_channels &&
			       conv->groups == conv->out_channels && conv->groups > 1 &&
			       area < PLANE_MOST && kernel <= CONV_TAPS_MAX && conv->strides[1] < 1024 &&
			       conv->out[0] * conv->out[1] <= 4 * area
		       ? DEPTHWISE
		       : NOT_DIRECT;
}

static int run_direct(struct native_call *call, const struct conv *conv, enum direct direct,
		      struct strata_error *err)
{
	const struct engine_value *x = call->inputs[0], *bias = native_input(call, 2);
	struct conv_direct how = { .members = x->dims[0],
				   .in_channels = conv->in_channels,
				   .out_channels = conv->out_channels,
				   .in = { 1, 1 },
				   .x = x->data,
				   .weights = call->inputs[1]->data,
				   .bias = bias ? bias->data : NULL,
				   .y = call->outputs[0].data };

	for (size_t i = 0; direct == POINTWISE && i < conv->spatial; i++)
		how.in[0] *= conv->in[i];
	for (size_t i = 0; direct == DEPTHWISE && i < 2; i++) {
		how.in[i] = conv->in[i];
		how.out[i] = conv->out[i];
		how.kernel[i] = conv->kernel[i];
		how.strides[i] = conv->strides[i];
		how.dilations[i] = conv->dilations[i];
		how.before[i] = conv->before[i];
	}
	return direct == POINTWISE ? conv_pointwise(&how, call->heap, call->team, err)
				   : conv_depthwise(&how, call->heap, call->team, err);
}

/* Rooms of one block, each of whole cache lines. */
static size_t lines(size_t bytes)
{
	return (bytes + ENGINE_ALIGN - 1) / ENGINE_ALIGN * ENGINE_ALIGN;
}

/* Weights that stay are laid out once, into memory of their own; others for this call, into the room. */
static dnnl_status_t lay_weights_out(struct native_call *call, struct conv_state *state,
				     struct variant *variant, void *room)
{
	void *at = call->inputs[1]->data;
	dnnl_status_t status;

	if (variant->packed && variant->packed_from == at)
		return onednn_port_room(&variant->weights, variant->packed);
	status = onednn_port_room(&variant->weights, variant->packed ? variant->packed : room);
	if (status == dnnl_success)
		status = onednn_port_in(&variant->weights, &state->place, at);
	variant->packed_from = status == dnnl_success ? at : NULL;
	return status;
}

static int run_variant(struct native_call *call, struct conv_state *state, struct variant *variant,
		       struct strata_error *err)
{
	bool stays = call->constant && call->constant[1];
	size_t weights = variant->weights.inner_bytes;

	if (stays && weights && !variant->packed) {
		variant->packed = native_scratch(call, weights, err);
		if (!variant->packed)
			return -ENOMEM;
		variant->packed_from = NULL;
	}
	size_t sizes[] = { lines(variant->source.inner_bytes), lines(variant->result.inner_bytes),
			   lines(variant->scratch_bytes), stays ? 0 : lines(weights) };
	size_t bytes = sizes[0] + sizes[1] + sizes[2] + sizes[3];
	char *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	dnnl_status_t status = onednn_port_room(&variant->source, room);

	if (status == dnnl_success)
		status = onednn_port_room(&variant->result, room + sizes[0]);
	if (status == dnnl_success)
		status = dnnl_memory_set_data_handle(variant->scratch, room + sizes[0] + sizes[1]);
	if (status == dnnl_success)
		status = lay_weights_out(call, state, variant, room + sizes[0] + sizes[1] + sizes[2]);
	if (status == dnnl_success)
		status = run_members(state, variant, call->inputs[0], native_input(call, 2),
				     &call->outputs[0]);
	engine_heap_put(call->heap, room, bytes);
	if (status != dnnl_success)
		return native_lacks(call, err, "oneDNN could not run it (%s)",
				    onednn_status_name(status));
	return 0;
}

static int run_either(struct native_call *call, bool transposed, struct strata_error *err)
{
	const struct engine_value *x, *w, *bias = native_input(call, 2);
	struct conv_state *state = NULL;
	struct variant *variant = NULL;
	struct conv conv;
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &w, err);
	if (rc == 0)
		rc = read_conv(call, x, w, transposed, &conv, err);
	if (rc)
		return rc;
	if (bias && (bias->dtype != ONNX_FLOAT || engine_value_elements(bias) != conv.out_channels))
		return native_refuse(call, err, "the bias does not fit to %lld channels",
				     (long long)conv.out_channels);
	int64_t dims[2 + SPATIAL_MAX] = { x->dims[0], conv.out_channels };

	memcpy(dims + 2, conv.out, sizeof(conv.out));
	rc = native_make(call, 0, ONNX_FLOAT, 2 + conv.spatial, dims, err);
	if (rc || engine_value_elements(&call->outputs[0]) == 0)
		return rc;
	enum direct direct = direct_of(&conv);

	if (direct != NOT_DIRECT)
		return run_direct(call, &conv, direct, err);
	rc = conv_state(call, &state, err);
	if (rc == 0)
		rc = find_variant(call, state, &conv, &variant, err);
	if (rc)
		return rc;
	return run_variant(call, state, variant, err);
}

static int run_conv(struct native_call *call, struct strata_error *err)
{
	return run_either(call, false, err);
}

static int run_conv_transpose(struct native_call *call, struct strata_error *err)
{
	return run_either(call, true, err);
}

static const struct native_op ops[] = {
	{ "Conv", run_conv },
	{ "ConvTranspose", run_conv_transpose },
};

const struct native_family native_family_conv = { "convolutions", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
