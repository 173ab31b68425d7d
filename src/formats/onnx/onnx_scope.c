/* Values by name: constants of the file, types it declares, and what graphs inside a node read from around it. */
#include "formats/onnx/onnx_scope.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

enum { REALS_MAX = 64 }; /* real numbers shapes are made of are few: scales, a range */

/* ---- dimensions with names ---- */

/* The dimension of that name or, when it was not given, the "*" that stands for all others. */
static const struct onnx_dim *find_given(struct onnx_infer *infer, const char *name)
{
	const struct onnx_dim *any = NULL;

	for (size_t i = 0; i < infer->dim_count; i++) {
		bool exact = strcmp(infer->dims[i].name, name) == 0;

		infer->used[i] |= exact;
		if (exact)
			return &infer->dims[i];
		if (strcmp(infer->dims[i].name, "*") == 0)
			any = &infer->dims[i];
	}
	return any;
}

int onnx_dim_by_name(struct onnx_infer *infer, const char *name, int64_t *ret_dim,
		     struct strata_error *err)
{
	const struct onnx_dim *given = find_given(infer, name);

	if (given) {
		*ret_dim = given->value;
		return 0;
	}
	for (size_t i = 0; i < infer->name_count; i++)
		if (strcmp(infer->names[i], name) == 0) {
			*ret_dim = -2 - (int64_t)i;
			return 0;
		}
	if (infer->name_count == infer->name_room) {
		size_t room = infer->name_room ? 2 * infer->name_room : 16;
		const char **names = strata_arena_array(infer->arena, room, sizeof(*names));

		if (!names)
			return strata_fail_memory(err);
		if (infer->name_count)
			memcpy(names, infer->names, infer->name_count * sizeof(*names));
		infer->names = names;
		infer->name_room = room;
	}
	infer->names[infer->name_count] = name;
	*ret_dim = -2 - (int64_t)infer->name_count++;
	return 0;
}

int onnx_value_of_type(struct onnx_infer *infer, const struct onnx_type *type,
		       struct onnx_value *ret_value, struct strata_error *err)
{
	struct onnx_value value = { .kind = type->kind,
				    .dtype = type->dtype,
				    .ranked = type->ranked,
				    .rank = type->rank,
				    .length = -1 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < type->rank; i++) {
		value.dims[i] = type->dims[i];
		if (type->names[i])
			rc = onnx_dim_by_name(infer, type->names[i], &value.dims[i], err);
	}
	if (rc == 0 && type->item) { /* no deeper than the reader lets types be */
		struct onnx_value *item = strata_arena_get(infer->arena, sizeof(*item));

		rc = item ? onnx_value_of_type(infer, type->item, item, err)
			  : strata_fail_memory(err);
		value.item = item;
	}
	if (rc == 0)
		*ret_value = value;
	return rc;
}

/* ---- constants ---- */

int onnx_value_of_tensor(struct onnx_infer *infer, const struct onnx_tensor *tensor,
			 struct onnx_value *ret_value, struct strata_error *err)
{
	struct onnx_value value = { .tensor = tensor, .constant = true, .length = -1 };
	bool real = onnx_dtype_real(tensor->dtype);
	int rc = 0;

	onnx_set_shape(&value, tensor->dtype, tensor->rank, tensor->dims);
	if (tensor->elements <= (real ? REALS_MAX : STRATA_ONNX_FOLD_MAX)) {
		void *block = strata_arena_array(infer->arena, (size_t)tensor->elements + 1,
						 sizeof(int64_t));

		if (!block)
			return strata_fail_memory(err);
		rc = real ? onnx_tensor_reals(tensor, block, err)
			  : onnx_tensor_integers(tensor, block, err);
		if (rc == 0 && real)
			value.reals = block;
		else if (rc == 0)
			value.integers = block;
	}
	if (rc && rc != -ENOTSUP)
		return rc;
	*ret_value = value;
	return 0;
}

/* ---- names ---- */

int onnx_define(struct onnx_scope *scope, const char *name, struct onnx_value *value,
		struct strata_error *err)
{
	void *old = NULL;

	if (!name[0])
		return 0;
	value->name = name;
	if (map_text_put(&scope->names, name, strlen(name), value, &old))
		return strata_fail_memory(err);
	if (old)
		return strata_fail(err, -EINVAL, "two nodes make '%.64s'", name);
	return 0;
}

static int capture(struct onnx_infer *infer, const struct onnx_value *value,
		   struct strata_error *err)
{
	struct onnx_captures *captures = &infer->captures;

	for (size_t i = 0; i < captures->count; i++)
		if (captures->values[i] == value)
			return 0;
	if (captures->count == captures->room) {
		size_t room = captures->room ? 2 * captures->room : 8;
		const struct onnx_value **values =
			strata_arena_array(infer->arena, room, sizeof(*values));

		if (!values)
			return strata_fail_memory(err);
		if (captures->count)
			memcpy(values, captures->values, captures->count * sizeof(*values));
		captures->values = values;
		captures->room = room;
	}
	captures->values[captures->count++] = value;
	return 0;
}

int onnx_look_up(struct onnx_infer *infer, struct onnx_scope *scope, const char *name,
		 const struct onnx_value **ret_value, struct strata_error *err)
{
	struct onnx_value *value = NULL;
	struct onnx_scope *at = scope;

	*ret_value = NULL;
	if (!name[0])
		return 0;
	for (; at; at = at->sealed ? NULL : at->outer) {
		value = map_text_get(&at->names, name, strlen(name));
		if (value)
			break;
	}
	if (!value)
		return strata_fail(err, -ENOENT, "'%.64s' is read, but nothing before makes it",
				   name);
	*ret_value = value;
	return at == infer->top && scope != infer->top ? capture(infer, value, err) : 0;
}
