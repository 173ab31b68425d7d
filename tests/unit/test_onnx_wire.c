#include "test.h"

#include "formats/onnx/onnx_wire.h"

#include <errno.h>

static struct strata_error err;

static int next_of(const char *bytes, size_t length, struct onnx_field *field)
{
	struct onnx_wire wire = onnx_wire_of((struct onnx_bytes){ (const uint8_t *)bytes, length });

	return onnx_wire_next(&wire, field, &err);
}

TEST(fields_come_one_after_the_other)
{
	static const uint8_t bytes[] = { 0x08, 0x96, 0x01,             /* 1: 150 */
					 0x12, 0x02, 'h',  'i',        /* 2: "hi" */
					 0x1d, 0,    0,    0x80, 0x3f, /* 3: four bytes, 1.0f */
					 0x21, 1,    0,    0,    0,    0, 0, 0, 0 }; /* 4: eight */
	struct onnx_wire wire = onnx_wire_of((struct onnx_bytes){ bytes, sizeof(bytes) });
	struct onnx_field field;

	CHECK_INT(onnx_wire_next(&wire, &field, &err), 1);
	CHECK(field.number == 1 && !field.nested && field.value == 150);
	CHECK_INT(onnx_wire_next(&wire, &field, &err), 1);
	CHECK(field.number == 2 && field.nested && field.bytes.length == 2);
	CHECK(field.bytes.at == bytes + 5); /* in place */
	CHECK_INT(onnx_wire_next(&wire, &field, &err), 1);
	CHECK(field.number == 3 && field.width == 4 && field.value == 0x3f800000);
	CHECK_INT(onnx_wire_next(&wire, &field, &err), 1);
	CHECK(field.number == 4 && field.width == 8 && field.value == 1);
	CHECK_INT(onnx_wire_next(&wire, &field, &err), 0);
}

TEST(a_varint_has_at_most_64_bits)
{
	struct onnx_field field;

	CHECK_INT(next_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &field), 1);
	CHECK(field.value == UINT64_MAX);
	CHECK_ERROR(next_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, &field), -EINVAL,
		    "field 1 reaches past the end");
	CHECK_ERROR(next_of("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12, &field),
		    -EINVAL, "field 1");
}

TEST(nothing_reaches_past_its_message)
{
	struct onnx_field field;

	CHECK_ERROR(next_of("\x08", 1, &field), -EINVAL, "field 1 reaches past the end");
	CHECK_ERROR(next_of("\x12\x03hi", 4, &field), -EINVAL, "field 2 reaches past the end");
	CHECK_ERROR(next_of("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, &field), -EINVAL,
		    "field 2 reaches past the end");
	CHECK_ERROR(next_of("\x1d\0\0\0", 4, &field), -EINVAL, "field 3 reaches past the end");
	CHECK_ERROR(next_of("\x21\0\0\0\0\0\0\0", 8, &field), -EINVAL, "field 4");
	CHECK_ERROR(next_of("\x80", 1, &field), -EINVAL, "no key");
	CHECK_ERROR(next_of("\x00", 1, &field), -EINVAL, "no key");
	CHECK_ERROR(next_of("\x0b", 1, &field), -EINVAL, "unknown wire type 3");
	CHECK_ERROR(next_of("\x0f", 1, &field), -EINVAL, "unknown wire type 7");
}

TEST(packed_numbers_are_counted)
{
	struct onnx_field field;

	CHECK_INT(next_of("\x0a\x04\x01\x96\x01\x03", 6, &field), 1);
	CHECK_INT(onnx_wire_count(&field, 0), 3);
	CHECK_INT(onnx_wire_count(&field, 4), 1);
	CHECK_INT(onnx_wire_count(&field, 8), -EINVAL);
	CHECK_INT(next_of("\x0a\x02\x01\x96", 4, &field), 1);
	CHECK_INT(onnx_wire_count(&field, 0), -EINVAL);
	CHECK_INT(next_of("\x08\x05", 2, &field), 1);
	CHECK_INT(onnx_wire_count(&field, 0), 1);
}
