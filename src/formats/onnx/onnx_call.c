/* What the rules of operators are made of: reading attributes and inputs, setting shapes, joining dimensions, moving elements. */
#include "formats/onnx/onnx_infer.h"
#include "formats/onnx/onnx_scope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- values ---- */

int64_t onnx_dim_product(const int64_t *dims, size_t count)
{
	int64_t product = 1;

	for (size_t i = 0; i < count; i++)
		if (dims[i] < 0 || __builtin_mul_overflow(product, dims[i], &product))
			return -1;
	return product;
}

int64_t onnx_elements(const struct onnx_value *value)
{
	return value->kind == ONNX_TENSOR && value->ranked
		       ? onnx_dim_product(value->dims, value->rank)
		       : -1;
}

bool onnx_shaped(const struct onnx_value *value)
{
	while (value && (value->kind == ONNX_SEQUENCE || value->kind == ONNX_OPTIONAL))
		value = value->item;
	return value && onnx_elements(value) >= 0;
}

int64_t onnx_value_bytes(const struct onnx_value *value)
{
	int64_t elements, bits, times = 1;

	for (; value && (value->kind == ONNX_SEQUENCE || value->kind == ONNX_OPTIONAL);
	     value = value->item) {
		if (value->kind == ONNX_SEQUENCE &&
		    (value->length < 0 || __builtin_mul_overflow(times, value->length, &times)))
			return -1;
	}
	elements = value ? onnx_elements(value) : -1;
	if (elements < 0 || !onnx_dtype_bits(value->dtype) ||
	    __builtin_mul_overflow(elements, (int64_t)onnx_dtype_bits(value->dtype), &bits) ||
	    __builtin_mul_overflow(bits / 8 + (bits % 8 != 0), times, &bits))
		return -1;
	return bits;
}

void onnx_set_type(struct onnx_value *value, int dtype)
{
	value->kind = ONNX_TENSOR;
	value->dtype = dtype;
}

void onnx_set_rank(struct onnx_value *value, int dtype, size_t rank)
{
	onnx_set_type(value, dtype);
	value->ranked = rank <= STRATA_TENSOR_RANK_MAX;
	value->rank = value->ranked ? rank : 0;
	for (size_t i = 0; i < value->rank; i++)
		value->dims[i] = -1;
}

void onnx_set_shape(struct onnx_value *value, int dtype, size_t rank, const int64_t *dims)
{
	onnx_set_rank(value, dtype, rank);
	if (value->rank)
		memcpy(value->dims, dims, value->rank * sizeof(*dims));
}

void onnx_set_scalar(struct onnx_value *value, int dtype)
{
	onnx_set_rank(value, dtype, 0);
}

void onnx_set_like(struct onnx_value *value, const struct onnx_value *other)
{
	if (!other)
		return;
	value->kind = other->kind;
	value->dtype = other->dtype;
	value->ranked = other->ranked;
	value->rank = other->rank;
	memcpy(value->dims, other->dims, sizeof(value->dims));
	value->item = other->item;
	value->length = other->length;
}

/* ---- dimensions ---- */

bool onnx_axis(int64_t axis, size_t rank, size_t *ret_axis)
{
	if (axis < 0)
		axis += (int64_t)rank;
	if (axis < 0 || axis >= (int64_t)rank)
		return false;
	*ret_axis = (size_t)axis;
	return true;
}

bool onnx_broadcast_dim(int64_t a, int64_t b, int64_t *ret_dim)
{
	if (a == b || b == 1)
		*ret_dim = a;
	else if (a == 1)
		*ret_dim = b;
	else if (a >= 0 && b >= 0)
		return false;
	else
		*ret_dim = a >= 0 ? a : b >= 0 ? b : -1; /* the unknown one is 1 or the same */
	return true;
}

bool onnx_merge_dim(int64_t a, int64_t b, int64_t *ret_dim)
{
	if (a >= 0 && b >= 0 && a != b)
		return false;
	*ret_dim = a >= 0   ? a
		   : b >= 0 ? b
		   : a < b  ? a
			    : b; /* one with a name says more than none */
	return true;
}

int onnx_broadcast(struct onnx_call *call, const struct onnx_value *a, const struct onnx_value *b,
		   struct onnx_value *ret_value, struct strata_error *err)
{
	struct onnx_value value = *ret_value;
	size_t rank;

	onnx_set_type(&value, value.dtype);
	value.ranked = false;
	if (a && b && a->ranked && b->ranked) {
		rank = a->rank > b->rank ? a->rank : b->rank;
		onnx_set_rank(&value, value.dtype, rank);
		for (size_t i = 0; i < rank; i++) {
			int64_t x = i < rank - a->rank ? 1 : a->dims[i - (rank - a->rank)];
			int64_t y = i < rank - b->rank ? 1 : b->dims[i - (rank - b->rank)];

			if (!onnx_broadcast_dim(x, y, &value.dims[i]))
				return onnx_clash(call, err,
						  "dimensions %lld and %lld do not go together",
						  (long long)x, (long long)y);
		}
	}
	*ret_value = value;
	return 0;
}

/* Of the same type and shape, as far as either is known. */
static bool alike(const struct onnx_value *a, const struct onnx_value *b)
{
	for (; a && b; a = a->item, b = b->item)
		if (a->kind != b->kind || a->dtype != b->dtype || a->ranked != b->ranked ||
		    a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof(*a->dims)) != 0)
			return false;
	return a == b;
}

void onnx_either(struct onnx_value *a, const struct onnx_value *b)
{
	if (a->kind != b->kind) {
		*a = (struct onnx_value){ 0 };
		return;
	}
	if (a->dtype != b->dtype)
		a->dtype = ONNX_NONE;
	if (a->ranked && b->ranked && a->rank == b->rank) {
		for (size_t i = 0; i < a->rank; i++)
			if (a->dims[i] != b->dims[i])
				a->dims[i] = -1;
	} else {
		a->ranked = false;
	}
	if (a->length != b->length)
		a->length = -1;
	if (!alike(a->item, b->item))
		a->item = NULL;
	a->integers = NULL;
	a->reals = NULL;
	a->open = NULL;
	a->tensor = NULL;
	a->same_as = NULL;
}

/* ---- a call ---- */

int onnx_clash(struct onnx_call *call, struct strata_error *err, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return strata_fail(err, -EINVAL, "%.40s '%.64s': %s", call->node->kind, call->node->name,
			   text);
}

const struct onnx_value *onnx_input(const struct onnx_call *call, size_t index)
{
	return index < call->input_count ? call->inputs[index] : NULL;
}

struct onnx_value *onnx_output(struct onnx_call *call, size_t index)
{
	return index < call->output_count ? &call->outputs[index] : &call->infer->spare;
}

const struct onnx_attribute *onnx_call_attribute(const struct onnx_call *call, const char *name,
						 int type)
{
	const struct onnx_attribute *attribute = onnx_attribute_find(call->node, name);

	for (const struct onnx_scope *scope = call->scope; attribute && attribute->refers_to;
	     scope = scope->outer) {
		while (scope && !scope->caller)
			scope = scope->outer;
		if (!scope)
			return NULL;
		attribute = onnx_attribute_find(scope->caller, attribute->refers_to);
	}
	return attribute && attribute->type == type ? attribute : NULL;
}

int64_t onnx_call_int(const struct onnx_call *call, const char *name, int64_t missing)
{
	const struct onnx_attribute *attribute = onnx_call_attribute(call, name, ONNX_ATTR_INT);

	return attribute ? attribute->integer : missing;
}

const char *onnx_call_text(const struct onnx_call *call, const char *name, const char *missing)
{
	const struct onnx_attribute *attribute = onnx_call_attribute(call, name, ONNX_ATTR_STRING);

	return attribute && attribute->text ? attribute->text : missing;
}

const struct onnx_graph *onnx_call_graph(const struct onnx_call *call, const char *name)
{
	const struct onnx_attribute *attribute = onnx_call_attribute(call, name, ONNX_ATTR_GRAPH);

	return attribute ? attribute->graph : NULL;
}

const int64_t *onnx_call_ints(const struct onnx_call *call, const char *name, size_t input,
			      size_t *ret_count, bool *ret_given)
{
	const struct onnx_attribute *attribute =
		name ? onnx_call_attribute(call, name, ONNX_ATTR_INTS) : NULL;
	const struct onnx_value *value = onnx_input(call, input);

	*ret_count = 0;
	*ret_given = attribute || value;
	if (attribute) {
		*ret_count = attribute->count;
		return attribute->integers;
	}
	if (!value || !value->integers || value->open)
		return NULL;
	*ret_count = (size_t)onnx_elements(value);
	return value->integers;
}

struct strata_arena *onnx_arena(const struct onnx_call *call)
{
	return call->infer->arena;
}

int64_t onnx_opset(const struct onnx_call *call)
{
	return call->infer->model->opset;
}

struct onnx_value *onnx_keep(struct onnx_call *call, const struct onnx_value *value)
{
	struct onnx_value *copy = strata_arena_get(call->infer->arena, sizeof(*copy));

	if (copy)
		*copy = *value;
	return copy;
}

/* ---- elements ---- */

int64_t onnx_element_dim(const struct onnx_value *value, size_t i)
{
	return value->integers[i] >= 0 || (value->open && value->open[i]) ? value->integers[i] : -1;
}

double onnx_element_real(const struct onnx_value *value, size_t i)
{
	return value->reals ? value->reals[i] : (double)value->integers[i];
}

int onnx_make_elements(struct onnx_call *call, struct onnx_value *value, struct strata_error *err)
{
	int64_t count = onnx_elements(value);
	/* one more, so that a tensor without elements has an array all the same */
	void *block = strata_arena_array(call->infer->arena, (size_t)count + 1, sizeof(int64_t));

	if (!block)
		return strata_fail_memory(err);
	if (onnx_dtype_real(value->dtype)) {
		value->reals = block;
		return 0;
	}
	value->integers = block;
	value->open = strata_arena_array(call->infer->arena, (size_t)count + 1, sizeof(bool));
	if (value->open)
		return 0;
	value->integers = NULL;
	return strata_fail_memory(err);
}

void onnx_copy_element(struct onnx_value *to, size_t i, const struct onnx_value *from, size_t k)
{
	if (to->reals) {
		to->reals[i] = onnx_element_real(from, k);
		return;
	}
	to->integers[i] = from->integers ? from->integers[k] : (int64_t)from->reals[k];
	to->open[i] = from->open && from->open[k];
}

int onnx_fold_same(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *to = &call->outputs[0];
	const struct onnx_value *from = call->inputs[0];

	(void)err;
	if (onnx_elements(to) != onnx_elements(from))
		return 0;
	to->integers = from->integers;
	to->reals = from->reals;
	to->open = from->open;
	return 0;
}
