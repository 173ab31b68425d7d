/* Sequences and optional values. Their items are shared, never copied; parts of tensors that become items are. */
#include "engine/native/native.h"

#include "engine/native/slices.h"

#include <errno.h>
#include <string.h>

static int sequence(const struct native_call *call, size_t index,
		    const struct engine_value **ret_value, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, index);

	if (!value || value->kind != ONNX_SEQUENCE)
		return native_refuse(call, err, "input %zu is not a sequence", index + 1);
	*ret_value = value;
	return 0;
}

/* A place in a sequence of `count`, from an input that may be left out (then the last). */
static int read_place(struct native_call *call, size_t input, int64_t count, int64_t missing,
		      int64_t *ret_place, struct strata_error *err)
{
	int64_t place = missing;
	size_t given = 1;
	int rc = native_input(call, input) ? native_input_ints(call, input, &place, 1, &given, err)
					   : 0;

	if (rc == 0 && (given != 1 || place < -count || place >= count))
		rc = native_refuse(call, err, "position %lld is outside of 0 to %lld",
				   (long long)place, (long long)count - 1);
	*ret_place = place < 0 ? place + count : place;
	return rc;
}

static int run_construct(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *first;
	size_t bytes = (call->input_count + 1) * sizeof(struct engine_value);
	int rc = native_tensor(call, 0, &first, err);

	for (size_t i = 1; rc == 0 && i < call->input_count; i++) {
		const struct engine_value *next;

		rc = native_typed(call, i, first->dtype, &next, err);
	}
	if (rc)
		return rc;
	struct engine_value *items = native_scratch(call, bytes, err);

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < call->input_count; i++)
		items[i] = *call->inputs[i];
	rc = engine_value_list(call->heap, ONNX_SEQUENCE, first->dtype, items, call->input_count,
			       &call->outputs[0], err);
	engine_heap_put(call->heap, items, bytes);
	return rc;
}

static int run_empty(struct native_call *call, struct strata_error *err)
{
	return engine_value_list(call->heap, ONNX_SEQUENCE,
				 (int)native_int(call, "dtype", ONNX_FLOAT), NULL, 0,
				 &call->outputs[0], err);
}

static int run_at(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *list = NULL;
	int64_t place = 0;
	int rc = sequence(call, 0, &list, err);

	if (rc == 0 && !native_input(call, 1))
		rc = native_refuse(call, err, "input 2 is missing");
	if (rc == 0)
		rc = read_place(call, 1, (int64_t)list->item_count, 0, &place, err);
	if (rc == 0)
		call->outputs[0] = engine_value_share(&list->items[place]);
	return rc;
}

static int run_length(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *list = NULL;
	int rc = sequence(call, 0, &list, err);

	if (rc == 0)
		rc = native_make(call, 0, ONNX_INT64, 0, NULL, err);
	if (rc == 0)
		*(int64_t *)call->outputs[0].data = (int64_t)list->item_count;
	return rc;
}

/* A sequence with one item more (at place) or less. */
static int changed(struct native_call *call, const struct engine_value *list, int64_t place,
		   const struct engine_value *added, struct strata_error *err)
{
	size_t count = list->item_count + (added ? 1 : 0) - (added ? 0 : 1);
	size_t bytes = (list->item_count + 1) * sizeof(struct engine_value), from = 0;
	struct engine_value *items = native_scratch(call, bytes, err);

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!added && from == (size_t)place)
			from++;
		items[i] = added && i == (size_t)place ? *added : list->items[from++];
	}
	int rc = engine_value_list(call->heap, ONNX_SEQUENCE, added ? added->dtype : list->dtype,
				   items, count, &call->outputs[0], err);

	engine_heap_put(call->heap, items, bytes);
	return rc;
}

static int run_insert(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *list = NULL, *added = NULL;
	int64_t place = 0;
	int rc = sequence(call, 0, &list, err);

	if (rc == 0)
		rc = native_tensor(call, 1, &added, err);
	if (rc)
		return rc;
	int64_t count = (int64_t)list->item_count;

	if (native_input(call, 2)) { /* the place behind the last is one too */
		size_t given;

		rc = native_input_ints(call, 2, &place, 1, &given, err);
		if (rc == 0 && (given != 1 || place < -count || place > count))
			rc = native_refuse(call, err, "position %lld is outside of 0 to %lld",
					   (long long)place, (long long)count);
		place += place < 0 ? count : 0;
	} else {
		place = count;
	}
	return rc ? rc : changed(call, list, place, added, err);
}

static int run_erase(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *list = NULL;
	int64_t place = 0;
	int rc = sequence(call, 0, &list, err);

	if (rc == 0)
		rc = read_place(call, 1, (int64_t)list->item_count, -1, &place, err);
	return rc ? rc : changed(call, list, place, NULL, err);
}

/* ---- tensors from sequences and back ---- */

/* Items as Concat's inputs; with new_axis each has one dimension more. */
static int run_concat(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *list = NULL;
	bool fresh = native_int(call, "new_axis", 0);
	size_t axis = 0;
	int rc = sequence(call, 0, &list, err);

	if (rc)
		return rc;
	if (list->item_count == 0)
		return native_refuse(call, err, "the sequence is empty");
	if (fresh) {
		rc = native_axis(call, native_int(call, "axis", 0), list->items[0].rank + 1, &axis,
				 err);
		return rc ? rc
			  : slice_stack(call->heap, list->items, list->item_count, axis, false,
					&call->outputs[0], err);
	}
	size_t bytes = list->item_count * sizeof(void *);
	const struct engine_value **inputs = native_scratch(call, bytes, err);
	struct native_call inner = *call;

	if (!inputs)
		return -ENOMEM;
	for (size_t i = 0; i < list->item_count; i++)
		inputs[i] = &list->items[i];
	inner.inputs = inputs;
	inner.input_count = list->item_count;
	rc = native_op_find("", "Concat")->run(&inner, err);
	engine_heap_put(call->heap, inputs, bytes);
	return rc;
}

/* Sizes of the parts: single ones, chunks of one size, or listed. */
struct parts {
	int64_t count, each, total;
	const int64_t *sizes; /* NULL: each */
	bool squeeze;
};

static int read_parts(struct native_call *call, int64_t length, struct parts *parts,
		      struct engine_value *ret_sizes, struct strata_error *err)
{
	const struct engine_value *split = native_input(call, 1);

	parts->each = 1;
	parts->total = length;
	parts->squeeze = !split && !native_int(call, "keepdims", 1);
	if (split && (split->kind != ONNX_TENSOR ||
		      (split->dtype != ONNX_INT64 && split->dtype != ONNX_INT32)))
		return native_refuse(call, err, "input 2 is not a list of sizes");
	if (split) {
		int rc = engine_value_cast(call->heap, split, ONNX_INT64, ret_sizes, err);

		if (rc)
			return rc;
	}
	const int64_t *sizes = ret_sizes->data;
	int64_t given = split ? engine_value_elements(split) : 0, sum = 0;

	if (split && split->rank == 0) {
		parts->each = sizes[0];
		if (parts->each < 1)
			return native_refuse(call, err, "a part has %lld", (long long)parts->each);
	}
	if (!split || split->rank == 0) {
		parts->count = length / parts->each + (length % parts->each != 0);
		return 0;
	}
	for (int64_t i = 0; i < given; i++)
		if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum))
			return native_refuse(call, err, "a part has %lld", (long long)sizes[i]);
	if (sum != length)
		return native_refuse(call, err, "the parts have %lld; the input has %lld",
				     (long long)sum, (long long)length);
	parts->count = given;
	parts->sizes = sizes;
	return 0;
}

static int split_into(struct native_call *call, const struct engine_value *x, size_t axis,
		      const struct parts *parts, struct strata_error *err)
{
	size_t bytes = ((size_t)parts->count + 1) * sizeof(struct engine_value);
	struct engine_value *items = native_scratch(call, bytes, err);
	int64_t at = 0, made = 0;
	int rc = items ? 0 : -ENOMEM;

	for (int64_t i = 0; rc == 0 && i < parts->count; i++) {
		int64_t size = parts->sizes                      ? parts->sizes[i]
			       : parts->each < parts->total - at ? parts->each
								 : parts->total - at;

		rc = slice_take(call->heap, x, axis, at, size, parts->squeeze, &items[i], err);
		made += rc == 0;
		at += size;
	}
	if (rc == 0)
		rc = engine_value_list(call->heap, ONNX_SEQUENCE, x->dtype, items,
				       (size_t)parts->count, &call->outputs[0], err);
	for (int64_t i = 0; i < made; i++)
		engine_value_drop(&items[i]);
	engine_heap_put(call->heap, items, bytes);
	return rc;
}

static int run_split(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x;
	struct engine_value sizes = { 0 };
	struct parts parts = { 0 };
	size_t axis = 0;
	int rc = native_tensor(call, 0, &x, err);

	if (rc == 0)
		rc = native_axis(call, native_int(call, "axis", 0), x->rank, &axis, err);
	if (rc == 0)
		rc = read_parts(call, x->dims[axis], &parts, &sizes, err);
	if (rc == 0)
		rc = split_into(call, x, axis, &parts, err);
	engine_value_drop(&sizes);
	return rc;
}

/* ---- optional values ---- */

static int run_optional(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, 0);

	return engine_value_list(call->heap, ONNX_OPTIONAL, value ? value->dtype : ONNX_NONE, value,
				 value ? 1 : 0, &call->outputs[0], err);
}

static int run_has(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, 0);
	int rc = native_make(call, 0, ONNX_BOOL, 0, NULL, err);

	if (rc == 0)
		*(uint8_t *)call->outputs[0].data =
			value && (value->kind != ONNX_OPTIONAL || value->item_count > 0);
	return rc;
}

static int run_get(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *value = native_input(call, 0);

	if (!value || (value->kind == ONNX_OPTIONAL && value->item_count == 0))
		return native_refuse(call, err, "there is no value in it");
	call->outputs[0] =
		engine_value_share(value->kind == ONNX_OPTIONAL ? &value->items[0] : value);
	return 0;
}

static const struct native_op ops[] = {
	{ "ConcatFromSequence", run_concat },
	{ "Optional", run_optional },
	{ "OptionalGetElement", run_get },
	{ "OptionalHasElement", run_has },
	{ "SequenceAt", run_at },
	{ "SequenceConstruct", run_construct },
	{ "SequenceEmpty", run_empty },
	{ "SequenceErase", run_erase },
	{ "SequenceInsert", run_insert },
	{ "SequenceLength", run_length },
	{ "SplitToSequence", run_split },
};

const struct native_family native_family_sequence = { "sequences", "", ops,
						      sizeof(ops) / sizeof(ops[0]) };
