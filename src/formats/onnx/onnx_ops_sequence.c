/* Sequences, values that may be missing, and texts. Of a sequence we know what its items have in common and, often, how many there are. */
#include "formats/onnx/onnx_infer.h"

#include <string.h>

static const struct onnx_value *items_of(const struct onnx_value *value)
{
	return value && value->kind == ONNX_SEQUENCE ? value->item : NULL;
}

static void set_sequence(struct onnx_value *to, const struct onnx_value *item, int64_t length)
{
	to->kind = ONNX_SEQUENCE;
	to->item = item;
	to->length = length;
}

/* A copy without what only one value has: its elements, its place in the file. */
static int keep_item(struct onnx_call *call, const struct onnx_value *value,
		     struct onnx_value **ret_item, struct strata_error *err)
{
	struct onnx_value plain = { .length = -1 };

	onnx_set_like(&plain, value);
	*ret_item = onnx_keep(call, &plain);
	return *ret_item ? 0 : strata_fail_memory(err);
}

static int shape_sequence_empty(struct onnx_call *call, struct strata_error *err)
{
	int64_t dtype = onnx_call_int(call, "dtype", ONNX_FLOAT);
	struct onnx_value item = { .length = -1 }, *kept;

	onnx_set_type(&item, dtype > 0 && dtype < ONNX_DTYPE_COUNT ? (int)dtype : ONNX_NONE);
	int rc = keep_item(call, &item, &kept, err);

	if (rc == 0)
		set_sequence(onnx_output(call, 0), kept, 0);
	return rc;
}

static int shape_sequence_construct(struct onnx_call *call, struct strata_error *err)
{
	struct onnx_value *item = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->input_count; i++) {
		const struct onnx_value *value = onnx_input(call, i);

		if (!value)
			return 0;
		if (!item)
			rc = keep_item(call, value, &item, err);
		else
			onnx_either(item, value);
	}
	if (rc == 0)
		set_sequence(onnx_output(call, 0), item, (int64_t)call->input_count);
	return rc;
}

static int shape_sequence_insert(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *sequence = onnx_input(call, 0), *value = onnx_input(call, 1);
	struct onnx_value *item;

	if (!sequence || sequence->kind != ONNX_SEQUENCE || !value)
		return 0;
	int rc = keep_item(call, value, &item, err);

	if (rc)
		return rc;
	if (sequence->length != 0 && sequence->item)
		onnx_either(item, sequence->item);
	set_sequence(onnx_output(call, 0), item, sequence->length < 0 ? -1 : sequence->length + 1);
	return 0;
}

static int shape_sequence_erase(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *sequence = onnx_input(call, 0);

	(void)err;
	if (sequence && sequence->kind == ONNX_SEQUENCE)
		set_sequence(onnx_output(call, 0), sequence->item,
			     sequence->length > 0 ? sequence->length - 1 : -1);
	return 0;
}

static int shape_sequence_at(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), items_of(onnx_input(call, 0)));
	return 0;
}

static int shape_sequence_length(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *sequence = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);

	onnx_set_scalar(to, ONNX_INT64);
	if (!sequence || sequence->kind != ONNX_SEQUENCE || sequence->length < 0)
		return 0;
	int rc = onnx_make_elements(call, to, err);

	if (rc == 0)
		to->integers[0] = sequence->length;
	return rc;
}

static int shape_concat_from_sequence(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *sequence = onnx_input(call, 0), *item = items_of(sequence);
	bool fresh = onnx_call_int(call, "new_axis", 0) != 0;
	struct onnx_value *to = onnx_output(call, 0);
	size_t axis;

	if (!item || item->kind != ONNX_TENSOR)
		return 0;
	onnx_set_type(to, item->dtype);
	if (!item->ranked || item->rank + fresh > STRATA_TENSOR_RANK_MAX)
		return 0;
	if (!onnx_axis(onnx_call_int(call, "axis", 0), item->rank + fresh, &axis))
		return onnx_clash(call, err, "there is no such axis");
	onnx_set_rank(to, item->dtype, item->rank + fresh);
	for (size_t i = 0, k = 0; i < to->rank; i++)
		if (!fresh || i != axis)
			to->dims[i] = item->dims[k++];
	if (fresh)
		to->dims[axis] = sequence->length;
	else if (sequence->length < 0 || to->dims[axis] < 0 ||
		 __builtin_mul_overflow(to->dims[axis], sequence->length, &to->dims[axis]))
		to->dims[axis] = -1;
	return 0;
}

/* Parts and their size by a list or a number; -1 where they differ or are not known. */
static void split_parts(const struct onnx_value *split, int64_t whole, int64_t *ret_size,
			int64_t *ret_count)
{
	*ret_size = *ret_count = -1;
	if (!split) {
		*ret_size = 1;
		*ret_count = whole;
		return;
	}
	if (!split->integers || split->open)
		return;
	int64_t n = onnx_elements(split), size = n > 0 ? split->integers[0] : -1;

	if (split->ranked && split->rank == 1) {
		*ret_count = n;
		*ret_size = size < 0 ? -1 : size;
		for (int64_t i = 1; i < n; i++)
			if (split->integers[i] != size)
				*ret_size = -1;
	} else if (size > 0 && whole >= 0) {
		*ret_count = whole / size + (whole % size != 0);
		*ret_size = whole % size == 0 ? size : -1;
	}
}

static int shape_split_to_sequence(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0), *split = onnx_input(call, 1);
	struct onnx_value part = { .length = -1 }, *item;
	int64_t size, count = -1;
	size_t axis;

	if (!from || from->kind != ONNX_TENSOR)
		return 0;
	onnx_set_like(&part, from);
	if (from->ranked) {
		if (!onnx_axis(onnx_call_int(call, "axis", 0), from->rank, &axis))
			return onnx_clash(call, err, "there is no such axis");
		split_parts(split, from->dims[axis], &size, &count);
		part.dims[axis] = size;
		if (!split && !onnx_call_int(call, "keepdims", 1)) {
			memmove(part.dims + axis, part.dims + axis + 1,
				(part.rank - axis - 1) * sizeof(*part.dims));
			part.rank--;
		}
	}
	int rc = keep_item(call, &part, &item, err);

	if (rc == 0)
		set_sequence(onnx_output(call, 0), item, count);
	return rc;
}

/* ---- values that may be missing ---- */

static int shape_optional(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *type = onnx_call_attribute(call, "type", ONNX_ATTR_TYPE);
	const struct onnx_value *value = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0), *item = NULL, declared;
	int rc = 0;

	if (value)
		rc = keep_item(call, value, &item, err);
	else if (type && type->value_type)
		rc = onnx_value_of_type(call->infer, type->value_type, &declared, err);
	if (rc == 0 && !value && type && type->value_type)
		rc = keep_item(call, &declared, &item, err);
	to->kind = ONNX_OPTIONAL;
	to->item = item;
	return rc;
}

static int shape_optional_get(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *value = onnx_input(call, 0);

	(void)err;
	if (value)
		onnx_set_like(onnx_output(call, 0),
			      value->kind == ONNX_OPTIONAL ? value->item : value);
	return 0;
}

static int shape_optional_has(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_scalar(onnx_output(call, 0), ONNX_BOOL);
	return 0;
}

/* ---- texts ---- */

/* Words that are stopped are left out, so how many there are is not known unless none is. */
static int shape_string_normalizer(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_value *from = onnx_input(call, 0);
	const struct onnx_attribute *stops =
		onnx_call_attribute(call, "stopwords", ONNX_ATTR_STRINGS);
	struct onnx_value *to = onnx_output(call, 0);

	(void)err;
	onnx_set_like(to, from);
	if (!from || !from->ranked || from->rank == 0)
		return 0;
	if (stops && stops->count)
		to->dims[to->rank - 1] = -1;
	return 0;
}

static int shape_tf_idf(struct onnx_call *call, struct strata_error *err)
{
	const struct onnx_attribute *places =
		onnx_call_attribute(call, "ngram_indexes", ONNX_ATTR_INTS);
	const struct onnx_value *from = onnx_input(call, 0);
	struct onnx_value *to = onnx_output(call, 0);
	int64_t last = -1;

	(void)err;
	onnx_set_type(to, ONNX_FLOAT);
	if (!from || !from->ranked || from->rank == 0 || from->rank > 2 || !places)
		return 0;
	for (size_t i = 0; i < places->count; i++)
		if (places->integers[i] > last && places->integers[i] < INT64_MAX)
			last = places->integers[i];
	onnx_set_rank(to, ONNX_FLOAT, from->rank);
	to->dims[0] = from->dims[0];
	to->dims[to->rank - 1] = last + 1;
	return 0;
}

static int shape_string_concat(struct onnx_call *call, struct strata_error *err)
{
	onnx_output(call, 0)->dtype = ONNX_STRING;
	return onnx_broadcast(call, onnx_input(call, 0), onnx_input(call, 1), onnx_output(call, 0),
			      err);
}

static int shape_regex(struct onnx_call *call, struct strata_error *err)
{
	(void)err;
	onnx_set_like(onnx_output(call, 0), onnx_input(call, 0));
	onnx_output(call, 0)->dtype = ONNX_BOOL;
	return 0;
}

/* clang-format off */
static const struct onnx_op ops[] = {
	{ "ConcatFromSequence", shape_concat_from_sequence },
	{ "Optional", shape_optional },
	{ "OptionalGetElement", shape_optional_get },
	{ "OptionalHasElement", shape_optional_has },
	{ "RegexFullMatch", shape_regex },
	{ "SequenceAt", shape_sequence_at },
	{ "SequenceConstruct", shape_sequence_construct },
	{ "SequenceEmpty", shape_sequence_empty },
	{ "SequenceErase", shape_sequence_erase },
	{ "SequenceInsert", shape_sequence_insert },
	{ "SequenceLength", shape_sequence_length },
	{ "SplitToSequence", shape_split_to_sequence },
	{ "StringConcat", shape_string_concat },
	{ "StringNormalizer", shape_string_normalizer },
	{ "TfIdfVectorizer", shape_tf_idf },
};
/* clang-format on */

const struct onnx_family onnx_family_sequence = { "sequences and texts", "", ops,
						  sizeof(ops) / sizeof(ops[0]) };
