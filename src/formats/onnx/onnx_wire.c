/* The cursor of onnx_wire.h. Every length is held against what is left before it is believed. */
#include "formats/onnx/onnx_wire.h"

#include <errno.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5, VARINT_BYTES_MAX = 10 };

bool onnx_wire_varint(struct onnx_wire *wire, uint64_t *ret_value)
{
	const uint8_t *at = wire->at;
	uint64_t value = 0;

	for (unsigned shift = 0; at < wire->end && shift < 7 * VARINT_BYTES_MAX; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			return false; /* more than 64 bits */
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			wire->at = at;
			*ret_value = value;
			return true;
		}
	}
	return false;
}

static bool fixed(struct onnx_wire *wire, size_t width, uint64_t *ret_value)
{
	uint64_t value = 0;

	if ((size_t)(wire->end - wire->at) < width)
		return false;
	for (size_t i = 0; i < width; i++)
		value |= (uint64_t)wire->at[i] << 8 * i;
	wire->at += width;
	*ret_value = value;
	return true;
}

static bool nested(struct onnx_wire *wire, struct onnx_bytes *ret_bytes)
{
	uint64_t length;

	if (!onnx_wire_varint(wire, &length) || length > (uint64_t)(wire->end - wire->at))
		return false;
	*ret_bytes = (struct onnx_bytes){ wire->at, (size_t)length };
	wire->at += length;
	return true;
}

int onnx_wire_next(struct onnx_wire *wire, struct onnx_field *ret_field, struct strata_error *err)
{
	struct onnx_field field = { 0 };
	uint64_t key;
	bool whole;

	if (wire->at == wire->end)
		return 0;
	if (!onnx_wire_varint(wire, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX >> 3)
		return strata_fail(err, -EINVAL, "a field begins with bytes that are no key");
	field.number = (uint32_t)(key >> 3);
	switch (key & 7) {
	case WIRE_VARINT:
		whole = onnx_wire_varint(wire, &field.value);
		break;
	case WIRE_8:
	case WIRE_4:
		field.width = (key & 7) == WIRE_8 ? 8 : 4;
		whole = fixed(wire, field.width, &field.value);
		break;
	case WIRE_BYTES:
		field.nested = true;
		whole = nested(wire, &field.bytes);
		break;
	default:
		return strata_fail(err, -EINVAL, "field %u has the unknown wire type %u",
				   field.number, (unsigned)(key & 7));
	}
	if (!whole)
		return strata_fail(err, -EINVAL, "field %u reaches past the end of its message",
				   field.number);
	*ret_field = field;
	return 1;
}

bool onnx_wire_number(struct onnx_wire *wire, uint8_t width, uint64_t *ret_value)
{
	return width ? fixed(wire, width, ret_value) : onnx_wire_varint(wire, ret_value);
}

int64_t onnx_wire_count(const struct onnx_field *field, uint8_t width)
{
	struct onnx_wire wire = onnx_wire_of(field->bytes);
	uint64_t value;
	int64_t count = 0;

	if (!field->nested)
		return 1;
	if (width)
		return field->bytes.length % width ? -EINVAL
						   : (int64_t)(field->bytes.length / width);
	for (; wire.at < wire.end; count++)
		if (!onnx_wire_varint(&wire, &value))
			return -EINVAL;
	return count;
}
