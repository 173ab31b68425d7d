/* ONNX files written field by field, for tests of their readers: small, and wrong where a test wants them wrong. */
#ifndef ONNX_SAMPLE_H
#define ONNX_SAMPLE_H

#include "test.h"

#include <stdlib.h>
#include <string.h>

/* A message under construction. */
struct message {
	uint8_t bytes[1 << 16];
	size_t length;
};

static inline void put_varint(struct message *message, uint64_t value)
{
	CHECK(message->length + 10 < sizeof(message->bytes));
	for (; value > 127; value >>= 7)
		message->bytes[message->length++] = (uint8_t)(value | 128);
	message->bytes[message->length++] = (uint8_t)value;
}

static inline void put_int(struct message *message, uint32_t field, int64_t value)
{
	put_varint(message, (uint64_t)field << 3);
	put_varint(message, (uint64_t)value);
}

static inline void put_bytes(struct message *message, uint32_t field, const void *bytes,
			     size_t length)
{
	put_varint(message, (uint64_t)field << 3 | 2);
	put_varint(message, length);
	CHECK(message->length + length < sizeof(message->bytes));
	memcpy(message->bytes + message->length, bytes, length);
	message->length += length;
}

static inline void put_text(struct message *message, uint32_t field, const char *text)
{
	put_bytes(message, field, text, strlen(text));
}

static inline void put_message(struct message *message, uint32_t field, const struct message *inner)
{
	put_bytes(message, field, inner->bytes, inner->length);
}

/* A type: a dimension of "" is not known, of digits a number, else a name. dims NULL: no shape. */
static inline void put_tensor_type(struct message *message, uint32_t field, int dtype,
				   const char *const *dims)
{
	static struct message type, tensor, shape, dim;

	type.length = tensor.length = shape.length = 0;
	for (; dims && *dims; dims++) {
		dim.length = 0;
		if ((*dims)[0] >= '0' && (*dims)[0] <= '9')
			put_int(&dim, 1, atoll(*dims));
		else if ((*dims)[0])
			put_text(&dim, 2, *dims);
		put_message(&shape, 1, &dim);
	}
	put_int(&tensor, 1, dtype);
	if (dims)
		put_message(&tensor, 2, &shape);
	put_message(&type, 1, &tensor);
	put_message(message, field, &type);
}

/* An input (11), an output (12) or a value (13) of a graph. */
static inline void put_value(struct message *graph, uint32_t field, const char *name, int dtype,
			     const char *const *dims)
{
	static struct message value;

	value.length = 0;
	put_text(&value, 1, name);
	put_tensor_type(&value, 2, dtype, dims);
	put_message(graph, field, &value);
}

/* Words separated by blanks as fields of their own. "-" stands for an input that is left out. */
static inline void put_words(struct message *message, uint32_t field, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");

		put_bytes(message, field, words, length == 1 && *words == '-' ? 0 : length);
		words += length + (words[length] == ' ');
	}
}

static inline void begin_node(struct message *node, const char *kind, const char *inputs,
			      const char *outputs)
{
	node->length = 0;
	put_text(node, 4, kind);
	put_words(node, 1, inputs);
	put_words(node, 2, outputs);
}

static inline void put_node(struct message *graph, const char *kind, const char *inputs,
			    const char *outputs)
{
	static struct message node;

	begin_node(&node, kind, inputs, outputs);
	put_message(graph, 1, &node);
}

static inline void put_attr_int(struct message *node, const char *name, int64_t value)
{
	static struct message attribute;

	attribute.length = 0;
	put_text(&attribute, 1, name);
	put_int(&attribute, 3, value);
	put_int(&attribute, 20, 2);
	put_message(node, 5, &attribute);
}

static inline void put_attr_graph(struct message *node, const char *name,
				  const struct message *graph)
{
	static struct message attribute;

	attribute.length = 0;
	put_text(&attribute, 1, name);
	put_message(&attribute, 6, graph);
	put_int(&attribute, 20, 5);
	put_message(node, 5, &attribute);
}

/* A constant of int64 numbers: rank 1, or a scalar when count is 0 (then one number). */
static inline void put_integers(struct message *graph, const char *name, const int64_t *values,
				size_t count)
{
	static struct message tensor;

	tensor.length = 0;
	if (count)
		put_int(&tensor, 1, (int64_t)count);
	put_int(&tensor, 2, 7);
	put_text(&tensor, 8, name);
	put_bytes(&tensor, 9, values, (count ? count : 1) * sizeof(*values));
	put_message(graph, 5, &tensor);
}

/* Weights of f32, rows × columns, all 0. */
static inline void put_weights(struct message *graph, const char *name, int64_t rows,
			       int64_t columns)
{
	static struct message tensor;
	static const float zeros[1024];

	CHECK(rows * columns <= 1024);
	tensor.length = 0;
	put_int(&tensor, 1, rows);
	put_int(&tensor, 1, columns);
	put_int(&tensor, 2, 1);
	put_text(&tensor, 8, name);
	put_bytes(&tensor, 9, zeros, (size_t)(rows * columns) * sizeof(float));
	put_message(graph, 5, &tensor);
}

static inline void put_model(struct message *model, const struct message *graph)
{
	static struct message opset;

	model->length = opset.length = 0;
	put_int(model, 1, 8);
	put_message(model, 7, graph);
	put_int(&opset, 2, 17);
	put_message(model, 8, &opset);
}

#endif
