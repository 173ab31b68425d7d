/* Writing subgraphs: see ort_write.h. A message's length stands before it and is known after it:
 * five bytes are kept for it. */
#include "engine/ort_write.h"

#include <errno.h>
#include <string.h>

enum { /* fields of the format, by message */
       MODEL_IR_VERSION = 1,
       MODEL_PRODUCER = 2,
       MODEL_GRAPH = 7,
       MODEL_OPSET = 8,
       GRAPH_NODE = 1,
       GRAPH_NAME = 2,
       GRAPH_INITIALIZER = 5,
       GRAPH_INPUT = 11,
       GRAPH_OUTPUT = 12,
       NODE_INPUT = 1,
       NODE_OUTPUT = 2,
       NODE_NAME = 3,
       NODE_KIND = 4,
       NODE_ATTRIBUTE = 5,
       NODE_DOMAIN = 7,
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
       TENSOR_DIM = 1,
       TENSOR_DTYPE = 2,
       TENSOR_TEXT = 6,
       TENSOR_NAME = 8,
       TENSOR_RAW = 9,
       TENSOR_EXTERNAL = 13,
       TENSOR_WHERE = 14,
       PAIR_KEY = 1,
       PAIR_VALUE = 2,
       INFO_NAME = 1,
       INFO_TYPE = 2,
       TYPE_TENSOR = 1,
       TYPE_SEQUENCE = 4,
       TYPE_OPTIONAL = 9,
       TENSOR_TYPE_DTYPE = 1,
       TENSOR_TYPE_SHAPE = 2,
       ITEM_TYPE = 1,
       SHAPE_DIM = 1,
       DIM_VALUE = 1,
       DIM_NAME = 2,
};

enum {
	IR_VERSION = 8, /* weights need not be inputs since 4 */
	WHERE_EXTERNAL = 1,
	LENGTH_BYTES = 5,
	VARINT_BYTES = 10,
	ROOM_FIRST = 4096,
};

struct writer {
	const struct ort_source *source;
	struct ort_bytes *out;
};

/* ---- bytes ---- */

static bool make_room(struct ort_bytes *out, size_t more)
{
	size_t room = out->room ? out->room : ROOM_FIRST;

	while (room - out->length < more)
		room *= 2;
	if (room == out->room)
		return true;
	uint8_t *at = engine_heap_get(out->heap, room);

	out->failed = !at;
	if (!at)
		return false;
	if (out->length)
		memcpy(at, out->at, out->length);
	engine_heap_put(out->heap, out->at, out->room);
	out->at = at;
	out->room = room;
	return true;
}

void ort_bytes_free(struct ort_bytes *bytes)
{
	engine_heap_put(bytes->heap, bytes->at, bytes->room);
	*bytes = (struct ort_bytes){ .heap = bytes->heap };
}

static void add_bytes(struct ort_bytes *out, const void *bytes, size_t length)
{
	if (out->failed || !make_room(out, length))
		return;
	if (length)
		memcpy(out->at + out->length, bytes, length);
	out->length += length;
}

static void add_varint(struct ort_bytes *out, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES];
	size_t length = 0;

	do {
		bytes[length++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	add_bytes(out, bytes, length);
}

static void add_key(struct ort_bytes *out, unsigned field, unsigned wire_type)
{
	add_varint(out, (uint64_t)field << 3 | wire_type);
}

static void add_integer(struct ort_bytes *out, unsigned field, int64_t value)
{
	add_key(out, field, 0);
	add_varint(out, (uint64_t)value);
}

static void add_single(struct ort_bytes *out, unsigned field, double value)
{
	float single = (float)value;

	add_key(out, field, 5);
	add_bytes(out, &single, sizeof(single));
}

static void add_blob(struct ort_bytes *out, unsigned field, const void *bytes, size_t length)
{
	add_key(out, field, 2);
	add_varint(out, length);
	add_bytes(out, bytes, length);
}

static void add_text(struct ort_bytes *out, unsigned field, const char *text)
{
	add_blob(out, field, text, strlen(text));
}

/* A message inside: what is added up to its _end. */
static size_t begin(struct ort_bytes *out, unsigned field)
{
	static const uint8_t none[LENGTH_BYTES];

	add_key(out, field, 2);
	add_bytes(out, none, sizeof(none));
	return out->length;
}

static void end(struct ort_bytes *out, size_t begun)
{
	size_t length = out->length - begun;

	if (out->failed)
		return;
	for (unsigned i = 0; i < LENGTH_BYTES; i++, length >>= 7)
		out->at[begun - LENGTH_BYTES + i] =
			(uint8_t)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* ---- types ---- */

static bool is_half(int64_t dtype)
{
	return dtype == ONNX_FLOAT16 || dtype == ONNX_BFLOAT16;
}

static int widened(int64_t dtype)
{
	return is_half(dtype) ? ONNX_FLOAT : (int)dtype;
}

static void write_shape(struct ort_bytes *out, size_t rank, const int64_t *dims,
			const char *const *names)
{
	size_t shape = begin(out, TENSOR_TYPE_SHAPE);

	for (size_t i = 0; i < rank; i++) {
		size_t dim = begin(out, SHAPE_DIM);

		if (dims[i] >= 0)
			add_integer(out, DIM_VALUE, dims[i]);
		else if (names && names[i])
			add_text(out, DIM_NAME, names[i]);
		end(out, dim);
	}
	end(out, shape);
}

static void write_type(struct ort_bytes *out, const struct onnx_type *type)
{
	size_t inside;

	switch (type->kind) {
	case ONNX_TENSOR:
		inside = begin(out, TYPE_TENSOR);
		add_integer(out, TENSOR_TYPE_DTYPE, widened(type->dtype));
		if (type->ranked)
			write_shape(out, type->rank, type->dims, type->names);
		end(out, inside);
		break;
	case ONNX_SEQUENCE:
	case ONNX_OPTIONAL:
		inside = begin(out, type->kind == ONNX_SEQUENCE ? TYPE_SEQUENCE : TYPE_OPTIONAL);
		if (type->item) {
			size_t item = begin(out, ITEM_TYPE);

			write_type(out, type->item);
			end(out, item);
		}
		end(out, inside);
		break;
	case ONNX_UNKNOWN:
	case ONNX_OTHER:
		break;
	}
}

static void write_info(struct ort_bytes *out, unsigned field, const char *name,
		       const struct onnx_type *type)
{
	size_t info = begin(out, field);

	add_text(out, INFO_NAME, name);
	if (type && type->kind != ONNX_UNKNOWN && type->kind != ONNX_OTHER) {
		size_t inside = begin(out, INFO_TYPE);

		write_type(out, type);
		end(out, inside);
	}
	end(out, info);
}

/* ---- tensors ---- */

/* All of TensorProto but the contents. */
static size_t begin_tensor(struct ort_bytes *out, unsigned field, const char *name,
			   const struct engine_value *value)
{
	size_t tensor = begin(out, field);

	for (size_t i = 0; i < value->rank; i++)
		add_integer(out, TENSOR_DIM, value->dims[i]);
	add_integer(out, TENSOR_DTYPE, value->dtype);
	add_text(out, TENSOR_NAME, name);
	return tensor;
}

static void write_value(struct ort_bytes *out, unsigned field, const char *name,
			const struct engine_value *value)
{
	size_t tensor = begin_tensor(out, field, name, value);
	int64_t count = engine_value_elements(value);

	if (value->dtype == ONNX_STRING)
		for (int64_t i = 0; i < count; i++)
			add_text(out, TENSOR_TEXT, ((char *const *)value->data)[i]);
	else
		add_blob(out, TENSOR_RAW, value->data, engine_value_bytes(value));
	end(out, tensor);
}

/* The format wants to know which file they are in; it is never opened, because they are handed
 * over. */
static void write_external(struct ort_bytes *out, const char *name,
			   const struct engine_value *value)
{
	size_t tensor = begin_tensor(out, GRAPH_INITIALIZER, name, value);
	size_t pair = begin(out, TENSOR_EXTERNAL);

	add_text(out, PAIR_KEY, "location");
	add_text(out, PAIR_VALUE, "weights");
	end(out, pair);
	add_integer(out, TENSOR_WHERE, WHERE_EXTERNAL);
	end(out, tensor);
}

static int write_tensor(const struct writer *writer, unsigned field,
			const struct onnx_tensor *tensor, struct strata_error *err)
{
	struct engine_value value = { 0 };
	int rc = engine_value_of_tensor(writer->source->heap, tensor,
					writer->source->model->directory, true, &value, err);

	if (rc == 0)
		write_value(writer->out, field, tensor->name, &value);
	engine_value_drop(&value);
	return rc;
}

/* ---- nodes ---- */

static int write_graph(const struct writer *writer, unsigned field, const struct onnx_graph *graph,
		       struct strata_error *err);

/* Attributes whose number is a type of elements. */
static bool names_dtype(const char *name)
{
	static const char *const names[] = { "to",           "dtype",
					     "output_dtype", "output_datatype",
					     "stash_type",   "softmax_precision" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void write_list(struct ort_bytes *out, const struct onnx_attribute *attribute)
{
	for (size_t i = 0; i < attribute->count; i++)
		if (attribute->type == ONNX_ATTR_INTS)
			add_integer(out, ATTR_INTS, attribute->integers[i]);
		else if (attribute->type == ONNX_ATTR_FLOATS)
			add_single(out, ATTR_FLOATS, attribute->reals[i]);
		else
			add_text(out, ATTR_TEXTS, attribute->texts[i]);
}

static void write_type_attribute(struct ort_bytes *out, const struct onnx_type *type)
{
	size_t inside = begin(out, ATTR_VALUE_TYPE);

	write_type(out, type);
	end(out, inside);
}

static int write_attribute(const struct writer *writer, const struct onnx_node *node,
			   const struct onnx_attribute *attribute, struct strata_error *err)
{
	struct ort_bytes *out = writer->out;
	size_t inside = begin(out, NODE_ATTRIBUTE);
	int rc = 0;

	add_text(out, ATTR_NAME, attribute->name);
	add_integer(out, ATTR_TYPE, attribute->type);
	switch (attribute->type) {
	case ONNX_ATTR_FLOAT:
		add_single(out, ATTR_FLOAT, attribute->real);
		break;
	case ONNX_ATTR_INT:
		add_integer(out, ATTR_INT,
			    names_dtype(attribute->name) ? widened(attribute->integer)
							 : attribute->integer);
		break;
	case ONNX_ATTR_STRING:
		add_text(out, ATTR_TEXT, attribute->text ? attribute->text : "");
		break;
	case ONNX_ATTR_TENSOR:
		rc = write_tensor(writer, ATTR_TENSOR, attribute->tensor, err);
		break;
	case ONNX_ATTR_GRAPH:
		rc = write_graph(writer, ATTR_GRAPH, attribute->graph, err);
		break;
	case ONNX_ATTR_FLOATS:
	case ONNX_ATTR_INTS:
	case ONNX_ATTR_STRINGS:
		write_list(out, attribute);
		break;
	case ONNX_ATTR_TYPE:
		write_type_attribute(out, attribute->value_type);
		break;
	default:
		rc = strata_fail(
			err, -ENOTSUP,
			"attribute '%.64s' of node '%.64s' (%.32s) has a type that cannot be run",
			attribute->name, node->name, node->kind);
	}
	end(out, inside);
	return rc;
}

/* Of a file's node that has an attribute without its contents (a damaged file) nothing is made. */
static bool is_whole(const struct onnx_attribute *attribute)
{
	return (attribute->type != ONNX_ATTR_TENSOR || attribute->tensor) &&
	       (attribute->type != ONNX_ATTR_GRAPH || attribute->graph) &&
	       (attribute->type != ONNX_ATTR_TYPE || attribute->value_type);
}

static int write_node(const struct writer *writer, const struct onnx_node *node,
		      struct strata_error *err)
{
	struct ort_bytes *out = writer->out;
	size_t inside = begin(out, GRAPH_NODE);
	int rc = 0;

	for (size_t i = 0; i < node->input_count; i++)
		add_text(out, NODE_INPUT, node->inputs[i]);
	for (size_t i = 0; i < node->output_count; i++)
		add_text(out, NODE_OUTPUT, node->outputs[i]);
	add_text(out, NODE_NAME, node->name);
	add_text(out, NODE_KIND, node->kind);
	if (node->domain[0])
		add_text(out, NODE_DOMAIN, node->domain);
	for (size_t i = 0; rc == 0 && i < node->attribute_count; i++)
		rc = is_whole(&node->attributes[i])
			     ? write_attribute(writer, node, &node->attributes[i], err)
			     : strata_fail(err, -EINVAL,
					   "attribute '%.64s' of node '%.64s' is empty",
					   node->attributes[i].name, node->name);
	end(out, inside);
	return rc;
}

static int write_graph(const struct writer *writer, unsigned field, const struct onnx_graph *graph,
		       struct strata_error *err)
{
	struct ort_bytes *out = writer->out;
	size_t inside = begin(out, field);
	int rc = 0;

	add_text(out, GRAPH_NAME, graph->name && graph->name[0] ? graph->name : "graph");
	for (size_t i = 0; rc == 0 && i < graph->node_count; i++)
		rc = write_node(writer, &graph->nodes[i], err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++)
		rc = write_tensor(writer, GRAPH_INITIALIZER, &graph->initializers[i], err);
	for (size_t i = 0; i < graph->input_count; i++)
		write_info(out, GRAPH_INPUT, graph->inputs[i].name, &graph->inputs[i].type);
	for (size_t i = 0; i < graph->output_count; i++)
		write_info(out, GRAPH_OUTPUT, graph->outputs[i].name, &graph->outputs[i].type);
	end(out, inside);
	return rc;
}

/* ---- the subgraph ---- */

static const struct onnx_type *declared(const struct engine_model *model, const char *name)
{
	for (size_t i = 0; i < model->input_count; i++)
		if (strcmp(model->inputs[i], name) == 0)
			return &model->input_infos[i]->type;
	for (size_t i = 0; i < model->onnx.graph.value_count; i++)
		if (strcmp(model->onnx.graph.values[i].name, name) == 0)
			return &model->onnx.graph.values[i].type;
	return NULL;
}

/* The type is that of the value that came; of its dimensions, those that the file declares are
 * fixed, if the value has them. */
static int write_input(const struct writer *writer, const char *name,
		       const struct engine_value *value, struct strata_error *err)
{
	const struct onnx_type *known = declared(writer->source->model, name);
	struct onnx_type type = {
		.kind = ONNX_TENSOR, .dtype = value->dtype, .ranked = true, .rank = value->rank
	};
	bool fits = known && known->kind == ONNX_TENSOR && known->ranked &&
		    known->rank == value->rank;

	if (value->kind != ONNX_TENSOR || value->dtype == ONNX_STRING)
		return strata_fail(
			err, -ENOTSUP,
			"value '%.64s' is a sequence or has texts, which onnxruntime does not "
			"get from here; the backend native takes it",
			name);
	for (size_t i = 0; i < type.rank; i++) {
		type.dims[i] = fits && known->dims[i] == value->dims[i] ? value->dims[i] : -1;
		type.names[i] = fits ? known->names[i] : NULL;
	}
	write_info(writer->out, GRAPH_INPUT, name, &type);
	return 0;
}

static void write_weight(struct ort_bytes *out, const char *name, const struct engine_value *value,
			 enum ort_role role)
{
	struct onnx_type type = {
		.kind = ONNX_TENSOR, .dtype = value->dtype, .ranked = true, .rank = value->rank
	};

	switch (role) {
	case ORT_INLINE:
		write_value(out, GRAPH_INITIALIZER, name, value);
		break;
	case ORT_EXTERNAL:
		write_external(out, name, value);
		break;
	case ORT_INPUT:
		memcpy(type.dims, value->dims, sizeof(type.dims));
		write_info(out, GRAPH_INPUT, name, &type);
		break;
	}
}

static int write_subgraph(const struct writer *writer, struct strata_error *err)
{
	const struct ort_source *source = writer->source;
	const struct engine_subgraph *subgraph = source->subgraph;
	struct ort_bytes *out = writer->out;
	size_t graph = begin(out, MODEL_GRAPH);
	int rc = 0;

	add_text(out, GRAPH_NAME, "subgraph");
	for (size_t i = 0; rc == 0 && i < subgraph->node_count; i++)
		rc = write_node(writer, subgraph->nodes[i], err);
	for (size_t i = 0; i < subgraph->weight_count; i++)
		write_weight(out, subgraph->weights[i], &source->weights[i], source->roles[i]);
	for (size_t i = 0; rc == 0 && i < subgraph->input_count; i++)
		rc = write_input(writer, subgraph->inputs[i], &source->inputs[i], err);
	for (size_t i = 0; i < subgraph->output_count; i++)
		write_info(out, GRAPH_OUTPUT, subgraph->outputs[i], NULL);
	end(out, graph);
	return rc;
}

/* Versions of operators, as the model's file names them; and the format's own, which is at least
 * one that we know how to write. */
static int write_versions(const struct writer *writer, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(writer->source->model->onnx.file);
	int64_t ir_version = IR_VERSION;
	struct onnx_field field;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == MODEL_OPSET && field.nested)
			add_blob(writer->out, MODEL_OPSET, field.bytes.at, field.bytes.length);
		else if (field.number == MODEL_IR_VERSION && (int64_t)field.value > ir_version)
			ir_version = (int64_t)field.value;
	add_integer(writer->out, MODEL_IR_VERSION, ir_version);
	add_text(writer->out, MODEL_PRODUCER, "strata");
	return rc;
}

int ort_write(const struct ort_source *source, struct ort_bytes *ret_bytes,
	      struct strata_error *err)
{
	*ret_bytes = (struct ort_bytes){ .heap = source->heap };
	const struct writer writer = { source, ret_bytes };
	int rc = write_versions(&writer, err);

	if (rc == 0)
		rc = write_subgraph(&writer, err);
	return rc == 0 && ret_bytes->failed ? strata_fail_memory(err) : rc;
}
