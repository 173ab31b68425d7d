/*
 * The wire form of protocol buffers: a message is a row of fields, each a number, a type and a value. This walks over one message that
 * is in memory (or mapped) and hands out its fields; what is nested is a run of bytes that is walked by another cursor. Nothing is copied,
 * nothing is read that is stepped over, so a file's weights stay untouched.
 */
#ifndef FORMATS_ONNX_WIRE_H
#define FORMATS_ONNX_WIRE_H

#include <strata/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct onnx_bytes {
	const uint8_t *at; /* borrowed from the file's bytes */
	size_t length;
};

struct onnx_field {
	uint32_t number;
	bool nested;             /* bytes: a text, a message, packed numbers; else value */
	uint8_t width;           /* of value: 8, 4, or 0 for a varint */
	uint64_t value;          /* as it was written: a number below 0 has its sign in bit 63 */
	struct onnx_bytes bytes; /* when nested */
};

struct onnx_wire {
	const uint8_t *at, *end;
};

static inline struct onnx_wire onnx_wire_of(struct onnx_bytes bytes)
{
	return (struct onnx_wire){ bytes.at, bytes.length ? bytes.at + bytes.length : bytes.at };
}

/* 1: *ret_field is the next field; 0: the message has ended; -EINVAL: it is damaged. */
int onnx_wire_next(struct onnx_wire *wire, struct onnx_field *ret_field, struct strata_error *err);

/* A varint; false, and nowhere, at the end or when it is damaged. */
bool onnx_wire_varint(struct onnx_wire *wire, uint64_t *ret_value);

/* How many numbers a field of a repeated number holds: 1, or as many as are packed into it. width as in the field: 0, 4, 8.
 * -EINVAL when the packed ones are damaged. */
int64_t onnx_wire_count(const struct onnx_field *field, uint8_t width);
/* The next of the packed numbers in a cursor over field.bytes. */
bool onnx_wire_number(struct onnx_wire *wire, uint8_t width, uint64_t *ret_value);

#endif
