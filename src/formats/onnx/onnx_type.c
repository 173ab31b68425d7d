/* Types of an ONNX file: a tensor with a shape whose dimensions may have names, a sequence of such, or one that may be missing. */
#include "formats/onnx/onnx_model.h"

#include <errno.h>

enum { /* fields of TypeProto */
       TYPE_TENSOR = 1,
       TYPE_SEQUENCE = 4,
       TYPE_MAP = 5,
       TYPE_SPARSE = 8,
       TYPE_OPTIONAL = 9,
};

static int read_dim(struct onnx_reader *reader, const struct onnx_field *outer,
		    struct onnx_type *type, struct strata_error *err)
{
	enum { DIM_VALUE = 1, DIM_NAME = 2 };
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_field field;
	const char *name = NULL;
	int64_t value = -1;
	int rc;

	if (type->rank == STRATA_TENSOR_RANK_MAX)
		return strata_fail(err, -E2BIG, "a type has more than %d dimensions",
				   STRATA_TENSOR_RANK_MAX);
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == DIM_VALUE) {
			value = field.value <= INT64_MAX ? (int64_t)field.value : -1;
		} else if (field.number == DIM_NAME) {
			rc = onnx_read_text(reader, &field, &name, err);
			if (rc)
				return rc;
		}
	if (rc)
		return rc;
	type->dims[type->rank] = value;
	type->names[type->rank] = value < 0 && name && name[0] ? name : NULL;
	type->rank++;
	return 0;
}

static int read_shape(struct onnx_reader *reader, const struct onnx_field *outer,
		      struct onnx_type *type, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_field field;
	int rc;

	type->rank = 0;
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == 1) {
			rc = read_dim(reader, &field, type, err);
			if (rc)
				return rc;
		}
	type->ranked = true;
	return rc;
}

static int read_tensor_type(struct onnx_reader *reader, const struct onnx_field *outer,
			    struct onnx_type *type, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_field field;
	int rc;

	type->kind = ONNX_TENSOR;
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == 1) {
			type->dtype = field.value < ONNX_DTYPE_COUNT ? (int)field.value : ONNX_NONE;
		} else if (field.number == 2) {
			rc = read_shape(reader, &field, type, err);
			if (rc)
				return rc;
		}
	return rc;
}

/* Of a sequence or an optional: field 1 is the type of what is in it. */
static int read_item(struct onnx_reader *reader, const struct onnx_field *outer,
		     struct onnx_type *type, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_field field;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == 1) {
			struct onnx_type *item = strata_arena_get(reader->arena, sizeof(*item));

			rc = item ? onnx_read_type(reader, &field, item, err)
				  : strata_fail_memory(err);
			if (rc)
				return rc;
			type->item = item;
		}
	return rc;
}

static int read_type_field(struct onnx_reader *reader, const struct onnx_field *field,
			   struct onnx_type *type, struct strata_error *err)
{
	switch (field->number) {
	case TYPE_TENSOR:
	case TYPE_SPARSE:
		return read_tensor_type(reader, field, type, err);
	case TYPE_SEQUENCE:
	case TYPE_OPTIONAL:
		type->kind = field->number == TYPE_SEQUENCE ? ONNX_SEQUENCE : ONNX_OPTIONAL;
		return read_item(reader, field, type, err);
	case TYPE_MAP:
		type->kind = ONNX_OTHER;
		return 0;
	default:
		return 0;
	}
}

int onnx_read_type(struct onnx_reader *reader, const struct onnx_field *outer,
		   struct onnx_type *ret_type, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_type type = { 0 };
	struct onnx_field field;
	int rc;

	if (reader->depth == STRATA_ONNX_DEPTH_MAX)
		return strata_fail(err, -E2BIG, "types and graphs are nested more than %d deep",
				   STRATA_ONNX_DEPTH_MAX);
	reader->depth++;
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_type_field(reader, &field, &type, err);
		if (rc)
			break;
	}
	reader->depth--;
	if (rc == 0)
		*ret_type = type;
	return rc;
}
