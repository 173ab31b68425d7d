/*
 * Tensors of an ONNX file: their shape and where their contents are, and, for the few small ones that shapes are computed from, the
 * contents. The format has them as raw bytes, as numbers one by one in a field by type, or in another file.
 */
#include "formats/onnx/onnx_model.h"

#include "core/half.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { /* fields of TensorProto */
       TENSOR_DIMS = 1,
       TENSOR_TYPE = 2,
       TENSOR_SEGMENT = 3,
       TENSOR_FLOATS = 4,
       TENSOR_INT32S = 5,
       TENSOR_STRINGS = 6,
       TENSOR_INT64S = 7,
       TENSOR_NAME = 8,
       TENSOR_RAW = 9,
       TENSOR_DOUBLES = 10,
       TENSOR_UINT64S = 11,
       TENSOR_EXTERNAL = 13,
       TENSOR_LOCATION = 14,
};

static const uint8_t dtype_bits[ONNX_DTYPE_COUNT] = {
	[ONNX_FLOAT] = 32,         [ONNX_UINT8] = 8,          [ONNX_INT8] = 8,
	[ONNX_UINT16] = 16,        [ONNX_INT16] = 16,         [ONNX_INT32] = 32,
	[ONNX_INT64] = 64,         [ONNX_BOOL] = 8,           [ONNX_FLOAT16] = 16,
	[ONNX_DOUBLE] = 64,        [ONNX_UINT32] = 32,        [ONNX_UINT64] = 64,
	[ONNX_COMPLEX64] = 64,     [ONNX_COMPLEX128] = 128,   [ONNX_BFLOAT16] = 16,
	[ONNX_FLOAT8E4M3FN] = 8,   [ONNX_FLOAT8E4M3FNUZ] = 8, [ONNX_FLOAT8E5M2] = 8,
	[ONNX_FLOAT8E5M2FNUZ] = 8, [ONNX_UINT4] = 4,          [ONNX_INT4] = 4,
	[ONNX_FLOAT4E2M1] = 4,
};

unsigned onnx_dtype_bits(int dtype)
{
	return dtype > 0 && dtype < ONNX_DTYPE_COUNT ? dtype_bits[dtype] : 0;
}

bool onnx_dtype_real(int dtype)
{
	return dtype == ONNX_FLOAT || dtype == ONNX_DOUBLE || dtype == ONNX_FLOAT16 ||
	       dtype == ONNX_BFLOAT16 ||
	       (dtype >= ONNX_FLOAT8E4M3FN && dtype <= ONNX_FLOAT8E5M2FNUZ) ||
	       dtype == ONNX_FLOAT4E2M1;
}

/* ---- shape and place ---- */

static int add_dim(struct onnx_tensor *tensor, uint64_t value, struct strata_error *err)
{
	if (value > INT64_MAX)
		return strata_fail(err, -EINVAL, "a tensor has a dimension below 0");
	if (tensor->rank == STRATA_TENSOR_RANK_MAX)
		return strata_fail(err, -E2BIG, "a tensor has more than %d dimensions",
				   STRATA_TENSOR_RANK_MAX);
	tensor->dims[tensor->rank++] = (int64_t)value;
	return 0;
}

static int read_dims(struct onnx_tensor *tensor, const struct onnx_field *field,
		     struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(field->bytes);
	uint64_t value;
	int rc = 0;

	if (!field->nested)
		return add_dim(tensor, field->value, err);
	while (rc == 0 && wire.at < wire.end)
		if (onnx_wire_varint(&wire, &value))
			rc = add_dim(tensor, value, err);
		else
			rc = strata_fail(err, -EINVAL, "the dimensions of a tensor are damaged");
	return rc;
}

/* One row of external_data: a key and a value, both texts. */
static int read_external(struct onnx_reader *reader, struct onnx_tensor *tensor,
			 const struct onnx_field *row, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(row->bytes);
	struct onnx_field field;
	const char *key = "", *value = "";
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == 1 || field.number == 2) {
			rc = onnx_read_text(reader, &field, field.number == 1 ? &key : &value, err);
			if (rc)
				return rc;
		}
	if (rc)
		return rc;
	if (strcmp(key, "location") == 0) {
		tensor->location = value;
		return 0;
	}
	bool offset = strcmp(key, "offset") == 0;

	if (!offset && strcmp(key, "length") != 0)
		return 0;
	char *end;
	errno = 0;
	long long number = strtoll(value, &end, 10);

	if (errno || end == value || *end || number < 0)
		return strata_fail(
			err, -EINVAL,
			"the %s of a tensor in another file is '%.40s'; expected a number of bytes",
			key, value);
	*(offset ? &tensor->offset_bytes : &tensor->length_bytes) = number;
	return 0;
}

static int measure(struct onnx_tensor *tensor, struct strata_error *err)
{
	unsigned bits = onnx_dtype_bits(tensor->dtype);
	int64_t elements = 1, all_bits;

	for (size_t i = 0; i < tensor->rank; i++)
		if (__builtin_mul_overflow(elements, tensor->dims[i], &elements))
			return strata_fail(err, -EINVAL, "tensor '%.64s' has too many elements",
					   tensor->name);
	if (__builtin_mul_overflow(elements, (int64_t)bits, &all_bits) || all_bits > INT64_MAX - 7)
		return strata_fail(err, -EINVAL, "tensor '%.64s' has too many elements",
				   tensor->name);
	tensor->elements = elements;
	if (bits)
		tensor->bytes = (all_bits + 7) / 8;
	return 0;
}

static int check_contents(const struct onnx_tensor *tensor, bool external, struct strata_error *err)
{
	if (tensor->dtype <= 0 || tensor->dtype >= ONNX_DTYPE_COUNT)
		return strata_fail(err, -EINVAL,
				   "tensor '%.64s' has elements of the unknown type %d",
				   tensor->name, tensor->dtype);
	if (external && !tensor->location)
		return strata_fail(err, -EINVAL,
				   "tensor '%.64s' is in another file, which is not named",
				   tensor->name);
	if (tensor->length_bytes >= 0 && external && tensor->length_bytes != tensor->bytes)
		return strata_fail(err, -EINVAL,
				   "tensor '%.64s' has %lld bytes in '%.64s'; its shape needs %lld",
				   tensor->name, (long long)tensor->length_bytes, tensor->location,
				   (long long)tensor->bytes);
	if (tensor->raw.at && (int64_t)tensor->raw.length != tensor->bytes)
		return strata_fail(err, -EINVAL,
				   "tensor '%.64s' has %zu bytes of contents; its shape needs %lld",
				   tensor->name, tensor->raw.length, (long long)tensor->bytes);
	return 0;
}

static int read_tensor_field(struct onnx_reader *reader, const struct onnx_field *field,
			     struct onnx_tensor *tensor, bool *external, struct strata_error *err)
{
	switch (field->number) {
	case TENSOR_DIMS:
		return read_dims(tensor, field, err);
	case TENSOR_TYPE:
		tensor->dtype = field->value < ONNX_DTYPE_COUNT ? (int)field->value : -1;
		return 0;
	case TENSOR_SEGMENT:
		return strata_fail(err, -ENOTSUP, "tensors stored in segments are not supported");
	case TENSOR_NAME:
		return onnx_read_text(reader, field, &tensor->name, err);
	case TENSOR_RAW:
		tensor->raw = field->bytes;
		return 0;
	case TENSOR_STRINGS:
		tensor->bytes += (int64_t)field->bytes.length;
		return 0;
	case TENSOR_EXTERNAL:
		return read_external(reader, tensor, field, err);
	case TENSOR_LOCATION:
		*external = field->value == 1;
		return 0;
	default:
		return 0;
	}
}

int onnx_read_tensor(struct onnx_reader *reader, const struct onnx_field *outer,
		     struct onnx_tensor *ret_tensor, struct strata_error *err)
{
	struct onnx_tensor tensor = { .name = "", .message = outer->bytes, .length_bytes = -1 };
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_field field;
	bool external = false;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_tensor_field(reader, &field, &tensor, &external, err);
		if (rc)
			return rc;
	}
	if (rc == 0)
		rc = measure(&tensor, err);
	if (rc == 0)
		rc = check_contents(&tensor, external, err);
	if (rc)
		return rc;
	if (!external)
		tensor.location = NULL;
	*ret_tensor = tensor;
	return 0;
}

int onnx_read_sparse(struct onnx_reader *reader, const struct onnx_field *outer,
		     struct onnx_tensor *ret_tensor, struct strata_error *err)
{
	enum { SPARSE_VALUES = 1, SPARSE_INDICES = 2, SPARSE_DIMS = 3 };
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_tensor whole = { .name = "", .length_bytes = -1, .sparse = true };
	struct onnx_tensor values = { .name = "" }, indices = { .name = "" };
	struct onnx_field field;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		if (field.number == SPARSE_VALUES)
			rc = onnx_read_tensor(reader, &field, &values, err);
		else if (field.number == SPARSE_INDICES)
			rc = onnx_read_tensor(reader, &field, &indices, err);
		else if (field.number == SPARSE_DIMS)
			rc = read_dims(&whole, &field, err);
		if (rc < 0)
			return rc;
	}
	if (rc == 0)
		rc = measure(&whole, err); /* refuses shapes that no tensor can have */
	if (rc)
		return rc;
	whole.name = values.name;
	whole.dtype = values.dtype;
	if (__builtin_add_overflow(values.bytes, indices.bytes, &whole.bytes))
		return strata_fail(err, -EINVAL, "a sparse tensor is too large");
	*ret_tensor = whole;
	return 0;
}

/* ---- contents ---- */

/* An element by its bits, which are those of its type in the low end. */
static void take(int dtype, uint64_t bits, int64_t *integer, double *real)
{
	float single;
	uint32_t word = (uint32_t)bits;

	switch (dtype) {
	case ONNX_FLOAT:
		memcpy(&single, &word, sizeof(single));
		*real = single;
		break;
	case ONNX_DOUBLE:
		memcpy(real, &bits, sizeof(bits));
		break;
	case ONNX_FLOAT16:
		*real = half_to_float((uint16_t)bits);
		break;
	case ONNX_BFLOAT16:
		*real = bfloat_to_float((uint16_t)bits);
		break;
	case ONNX_INT8:
		*integer = (int8_t)bits;
		break;
	case ONNX_INT16:
		*integer = (int16_t)bits;
		break;
	case ONNX_INT32:
		*integer = (int32_t)bits;
		break;
	default: /* unsigned ones and the widest: a uint64 above 2^63 is none we compute with */
		*integer = (int64_t)bits;
		break;
	}
}

static int computable(const struct onnx_tensor *tensor, bool real, struct strata_error *err)
{
	bool known = onnx_dtype_real(tensor->dtype)
			     ? onnx_dtype_bits(tensor->dtype) >= 16
			     : tensor->dtype != ONNX_STRING && tensor->dtype != ONNX_COMPLEX64 &&
				       tensor->dtype != ONNX_COMPLEX128 &&
				       onnx_dtype_bits(tensor->dtype) >= 8;

	if (!known || tensor->location || tensor->sparse || onnx_dtype_real(tensor->dtype) != real)
		return strata_fail(err, -ENOTSUP, "tensor '%.64s' is not one to compute with",
				   tensor->name);
	return 0;
}

/* The field that holds the numbers of a type one by one, and their width on the wire. */
static uint32_t typed_field(int dtype, uint8_t *ret_width)
{
	*ret_width = dtype == ONNX_FLOAT ? 4 : dtype == ONNX_DOUBLE ? 8 : 0;
	switch (dtype) {
	case ONNX_FLOAT:
		return TENSOR_FLOATS;
	case ONNX_DOUBLE:
		return TENSOR_DOUBLES;
	case ONNX_INT64:
		return TENSOR_INT64S;
	case ONNX_UINT32:
	case ONNX_UINT64:
		return TENSOR_UINT64S;
	default:
		return TENSOR_INT32S;
	}
}

static int read_typed(const struct onnx_tensor *tensor, int64_t *integers, double *reals,
		      struct strata_error *err)
{
	uint8_t width;
	uint32_t number = typed_field(tensor->dtype, &width);
	struct onnx_wire wire = onnx_wire_of(tensor->message);
	struct onnx_field field;
	int64_t count = 0, unused_integer;
	double unused_real;
	uint64_t bits;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		if (field.number != number)
			continue;
		struct onnx_wire packed = onnx_wire_of(field.bytes);
		bool one = !field.nested;

		while (one || onnx_wire_number(&packed, width, &bits)) {
			if (one)
				bits = field.value;
			if (count < tensor->elements)
				take(tensor->dtype, bits,
				     integers ? &integers[count] : &unused_integer,
				     reals ? &reals[count] : &unused_real);
			count++;
			if (one)
				break;
		}
	}
	if (rc == 0 && count != tensor->elements)
		rc = strata_fail(err, -EINVAL,
				 "tensor '%.64s' has %lld elements; its shape needs %lld",
				 tensor->name, (long long)count, (long long)tensor->elements);
	return rc;
}

static int read_contents(const struct onnx_tensor *tensor, int64_t *integers, double *reals,
			 struct strata_error *err)
{
	size_t width = onnx_dtype_bits(tensor->dtype) / 8;
	int64_t unused_integer;
	double unused_real;

	if (!tensor->raw.at)
		return read_typed(tensor, integers, reals, err);
	for (int64_t i = 0; i < tensor->elements; i++) {
		uint64_t bits = 0;

		for (size_t k = 0; k < width; k++)
			bits |= (uint64_t)tensor->raw.at[(size_t)i * width + k] << 8 * k;
		take(tensor->dtype, bits, integers ? &integers[i] : &unused_integer,
		     reals ? &reals[i] : &unused_real);
	}
	return 0;
}

int onnx_tensor_integers(const struct onnx_tensor *tensor, int64_t *ret_values,
			 struct strata_error *err)
{
	int rc = computable(tensor, false, err);

	return rc ? rc : read_contents(tensor, ret_values, NULL, err);
}

int onnx_tensor_reals(const struct onnx_tensor *tensor, double *ret_values,
		      struct strata_error *err)
{
	int rc = computable(tensor, true, err);

	return rc ? rc : read_contents(tensor, NULL, ret_values, err);
}
