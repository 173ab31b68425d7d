/* Nodes of an ONNX graph with their attributes; an attribute may hold a graph of its own. */
#include "formats/onnx/onnx_model.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

int onnx_read_text(struct onnx_reader *reader, const struct onnx_field *field,
		   const char **ret_text, struct strata_error *err)
{
	const char *at = (const char *)field->bytes.at;
	size_t length = field->bytes.length;

	if (!field->nested)
		return strata_fail(err, -EINVAL, "field %u is a number; expected a text",
				   field->number);
	if (length > STRATA_ONNX_NAME_BYTES_MAX)
		return strata_fail(err, -E2BIG, "a name has %zu bytes; at most %d are read", length,
				   STRATA_ONNX_NAME_BYTES_MAX);
	if (memchr(at, 0, length) || !text_valid(at, length))
		return strata_fail(err, -EINVAL, "a name is not valid UTF-8");
	char *text = strata_arena_text(reader->arena, at, length);

	if (!text)
		return strata_fail_memory(err);
	*ret_text = text;
	return 0;
}

int onnx_count_fields(struct onnx_bytes message, size_t *counts, size_t room,
		      struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(message);
	struct onnx_field field;
	int rc;

	memset(counts, 0, room * sizeof(*counts));
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number < room)
			counts[field.number]++;
	return rc;
}

/* ---- attributes ---- */

enum { /* fields of AttributeProto */
       ATTR_NAME = 1,
       ATTR_FLOAT = 2,
       ATTR_INT = 3,
       ATTR_TEXT = 4,
       ATTR_TENSOR = 5,
       ATTR_GRAPH = 6,
       ATTR_FLOATS = 7,
       ATTR_INTS = 8,
       ATTR_TEXTS = 9,
       ATTR_VALUE_TYPE = 14,
       ATTR_TYPE = 20,
       ATTR_REFERS_TO = 21,
       ATTR_SPARSE = 22,
};

static double single(uint64_t bits)
{
	uint32_t word = (uint32_t)bits;
	float value;

	memcpy(&value, &word, sizeof(value));
	return value;
}

/* How many numbers there are in all fields of this number, packed or not. */
static int count_numbers(struct onnx_bytes message, uint32_t number, uint8_t width,
			 size_t *ret_count, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(message);
	struct onnx_field field;
	size_t count = 0;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == number) {
			int64_t more = onnx_wire_count(&field, width);

			if (more < 0)
				return strata_fail(err, -EINVAL,
						   "the numbers of field %u are damaged", number);
			count += (size_t)more;
		}
	*ret_count = count;
	return rc;
}

static int read_numbers(struct onnx_reader *reader, struct onnx_bytes message, uint32_t number,
			struct onnx_attribute *attribute, struct strata_error *err)
{
	uint8_t width = number == ATTR_FLOATS ? 4 : 0;
	struct onnx_wire wire = onnx_wire_of(message);
	struct onnx_field field;
	size_t count = 0, filled = 0;
	int rc = count_numbers(message, number, width, &count, err);

	if (rc)
		return rc;
	int64_t *integers = strata_arena_array(reader->arena, count, sizeof(*integers));
	double *reals = (double *)integers; /* both are 8 bytes, and one of them is used */

	if (!integers)
		return strata_fail_memory(err);
	while (onnx_wire_next(&wire, &field, NULL) > 0) {
		struct onnx_wire packed = onnx_wire_of(field.bytes);
		uint64_t bits = field.value;

		if (field.number != number)
			continue;
		while (!field.nested || onnx_wire_number(&packed, width, &bits)) {
			if (width)
				reals[filled++] = single(bits);
			else
				integers[filled++] = (int64_t)bits;
			if (!field.nested)
				break;
		}
	}
	attribute->integers = width ? NULL : integers;
	attribute->reals = width ? reals : NULL;
	attribute->count = count;
	return 0;
}

static int read_attribute_tensor(struct onnx_reader *reader, const struct onnx_field *field,
				 struct onnx_attribute *attribute, struct strata_error *err)
{
	struct onnx_tensor *tensor = strata_arena_get(reader->arena, sizeof(*tensor));

	attribute->tensor = tensor;
	if (!tensor)
		return strata_fail_memory(err);
	return field->number == ATTR_SPARSE ? onnx_read_sparse(reader, field, tensor, err)
					    : onnx_read_tensor(reader, field, tensor, err);
}

static int read_attribute_graph(struct onnx_reader *reader, const struct onnx_field *field,
				struct onnx_attribute *attribute, struct strata_error *err)
{
	struct onnx_graph *graph = strata_arena_get(reader->arena, sizeof(*graph));

	attribute->graph = graph;
	return graph ? onnx_read_graph(reader, field, graph, err) : strata_fail_memory(err);
}

/* Texts of attributes may be any bytes: those that are no text count as empty. */
static int read_attribute_text(struct onnx_reader *reader, const struct onnx_field *field,
			       const char **ret_text, struct strata_error *err)
{
	int rc = onnx_read_text(reader, field, ret_text, NULL);

	if (rc == -ENOMEM)
		return strata_fail_memory(err);
	if (rc)
		*ret_text = "";
	return 0;
}

/* The same for a list of them. */
static int read_attribute_texts(struct onnx_reader *reader, struct onnx_bytes message, size_t count,
				struct onnx_attribute *attribute, struct strata_error *err)
{
	const char **texts = strata_arena_array(reader->arena, count, sizeof(*texts));
	struct onnx_wire wire = onnx_wire_of(message);
	struct onnx_field field;
	size_t filled = 0;
	int rc = 0;

	if (!texts)
		return strata_fail_memory(err);
	while (rc == 0 && filled < count && onnx_wire_next(&wire, &field, NULL) > 0)
		if (field.number == ATTR_TEXTS)
			rc = read_attribute_text(reader, &field, &texts[filled++], err);
	attribute->texts = texts;
	attribute->count = filled;
	return rc;
}

/* A type whose contents are missing is none: nobody looks for what is not there. */
static void check_contents(struct onnx_attribute *attribute)
{
	if (attribute->type == ONNX_ATTR_STRING && !attribute->text)
		attribute->text = "";
	if (((attribute->type == ONNX_ATTR_TENSOR || attribute->type == ONNX_ATTR_SPARSE) &&
	     !attribute->tensor) ||
	    (attribute->type == ONNX_ATTR_GRAPH && !attribute->graph) ||
	    (attribute->type == ONNX_ATTR_TYPE && !attribute->value_type))
		attribute->type = ONNX_ATTR_NONE;
}

static int read_attribute_field(struct onnx_reader *reader, const struct onnx_field *field,
				struct onnx_attribute *attribute, struct strata_error *err)
{
	struct onnx_type *type;

	switch (field->number) {
	case ATTR_NAME:
		return onnx_read_text(reader, field, &attribute->name, err);
	case ATTR_FLOAT:
		attribute->real = single(field->value);
		return 0;
	case ATTR_INT:
		attribute->integer = (int64_t)field->value;
		return 0;
	case ATTR_TEXT:
		return read_attribute_text(reader, field, &attribute->text, err);
	case ATTR_TENSOR:
	case ATTR_SPARSE:
		return read_attribute_tensor(reader, field, attribute, err);
	case ATTR_GRAPH:
		return read_attribute_graph(reader, field, attribute, err);
	case ATTR_VALUE_TYPE:
		type = strata_arena_get(reader->arena, sizeof(*type));
		attribute->value_type = type;
		return type ? onnx_read_type(reader, field, type, err) : strata_fail_memory(err);
	case ATTR_TYPE:
		attribute->type = field->value <= ONNX_ATTR_TYPE ? (int)field->value
								 : ONNX_ATTR_NONE;
		return 0;
	case ATTR_REFERS_TO:
		return onnx_read_text(reader, field, &attribute->refers_to, err);
	default:
		return 0;
	}
}

/* Old files leave the type out: then it is what is there. */
static int guess_type(const struct onnx_attribute *attribute, const size_t *counts)
{
	return attribute->tensor       ? ONNX_ATTR_TENSOR
	       : attribute->graph      ? ONNX_ATTR_GRAPH
	       : attribute->value_type ? ONNX_ATTR_TYPE
	       : counts[ATTR_INTS]     ? ONNX_ATTR_INTS
	       : counts[ATTR_FLOATS]   ? ONNX_ATTR_FLOATS
	       : counts[ATTR_TEXTS]    ? ONNX_ATTR_STRINGS
	       : attribute->text       ? ONNX_ATTR_STRING
	       : counts[ATTR_FLOAT]    ? ONNX_ATTR_FLOAT
				       : ONNX_ATTR_INT;
}

int onnx_read_attribute(struct onnx_reader *reader, const struct onnx_field *outer,
			struct onnx_attribute *ret_attribute, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_attribute attribute = { .name = "" };
	size_t counts[ATTR_SPARSE + 1];
	struct onnx_field field;
	int rc = onnx_count_fields(outer->bytes, counts, ATTR_SPARSE + 1, err);

	if (rc)
		return rc;
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_attribute_field(reader, &field, &attribute, err);
		if (rc)
			return rc;
	}
	if (rc == 0 && attribute.type == ONNX_ATTR_NONE)
		attribute.type = guess_type(&attribute, counts);
	if (rc == 0 && attribute.type == ONNX_ATTR_INTS)
		rc = read_numbers(reader, outer->bytes, ATTR_INTS, &attribute, err);
	else if (rc == 0 && attribute.type == ONNX_ATTR_FLOATS)
		rc = read_numbers(reader, outer->bytes, ATTR_FLOATS, &attribute, err);
	else if (rc == 0 && attribute.type == ONNX_ATTR_STRINGS)
		rc = read_attribute_texts(reader, outer->bytes, counts[ATTR_TEXTS], &attribute, err);
	if (rc == 0) {
		check_contents(&attribute);
		*ret_attribute = attribute;
	}
	return rc;
}

const struct onnx_attribute *onnx_attribute_find(const struct onnx_node *node, const char *name)
{
	for (size_t i = 0; i < node->attribute_count; i++)
		if (strcmp(node->attributes[i].name, name) == 0)
			return &node->attributes[i];
	return NULL;
}

/* ---- nodes ---- */

enum { /* fields of NodeProto */
       NODE_INPUT = 1,
       NODE_OUTPUT = 2,
       NODE_NAME = 3,
       NODE_KIND = 4,
       NODE_ATTRIBUTE = 5,
       NODE_DOMAIN = 7,
};

static int read_node_field(struct onnx_reader *reader, const struct onnx_field *field,
			   struct onnx_node *node, struct onnx_attribute *attributes,
			   struct strata_error *err)
{
	switch (field->number) {
	case NODE_INPUT:
		return onnx_read_text(reader, field, &node->inputs[node->input_count++], err);
	case NODE_OUTPUT:
		return onnx_read_text(reader, field, &node->outputs[node->output_count++], err);
	case NODE_NAME:
		return onnx_read_text(reader, field, &node->name, err);
	case NODE_KIND:
		return onnx_read_text(reader, field, &node->kind, err);
	case NODE_ATTRIBUTE:
		return onnx_read_attribute(reader, field, &attributes[node->attribute_count++],
					   err);
	case NODE_DOMAIN:
		return onnx_read_text(reader, field, &node->domain, err);
	default:
		return 0;
	}
}

int onnx_read_node(struct onnx_reader *reader, const struct onnx_field *outer,
		   struct onnx_node *ret_node, struct strata_error *err)
{
	struct onnx_node node = { .name = "", .kind = "", .domain = "" };
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	size_t counts[NODE_DOMAIN + 1];
	struct onnx_field field;
	int rc = onnx_count_fields(outer->bytes, counts, NODE_DOMAIN + 1, err);

	if (rc)
		return rc;
	if (reader->node_count++ == STRATA_ONNX_NODES_MAX)
		return strata_fail(err, -E2BIG, "the model has more than %d nodes",
				   STRATA_ONNX_NODES_MAX);
	struct onnx_attribute *attributes =
		strata_arena_array(reader->arena, counts[NODE_ATTRIBUTE], sizeof(*attributes));

	node.inputs = strata_arena_array(reader->arena, counts[NODE_INPUT], sizeof(*node.inputs));
	node.outputs =
		strata_arena_array(reader->arena, counts[NODE_OUTPUT], sizeof(*node.outputs));
	node.attributes = attributes;
	if (!attributes || !node.inputs || !node.outputs)
		return strata_fail_memory(err);
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_node_field(reader, &field, &node, attributes, err);
		if (rc)
			return rc;
	}
	if (rc == 0 && !node.kind[0])
		rc = strata_fail(err, -EINVAL, "node '%.64s' has no operator", node.name);
	if (rc == 0 && strcmp(node.domain, "ai.onnx") == 0)
		node.domain = "";
	if (rc == 0)
		*ret_node = node;
	return rc;
}
