/*
 * From the bytes of a file to a model in memory. Each message is walked twice: once to count what it repeats, once to fill arrays of that
 * size. Graphs in graphs are read by the same function up to a depth.
 */
#include "formats/onnx/onnx_model.h"

#include <errno.h>
#include <string.h>

enum { /* fields of GraphProto */
       GRAPH_NODE = 1,
       GRAPH_NAME = 2,
       GRAPH_INITIALIZER = 5,
       GRAPH_INPUT = 11,
       GRAPH_OUTPUT = 12,
       GRAPH_VALUE = 13,
       GRAPH_SPARSE = 15,
};

static int read_value(struct onnx_reader *reader, const struct onnx_field *outer,
		      struct onnx_value_info *ret_value, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_value_info value = { .name = "" };
	struct onnx_field field;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		if (field.number == 1)
			rc = onnx_read_text(reader, &field, &value.name, err);
		else if (field.number == 2)
			rc = onnx_read_type(reader, &field, &value.type, err);
		if (rc < 0)
			return rc;
	}
	if (rc == 0)
		*ret_value = value;
	return rc;
}

struct graph_arrays {
	struct onnx_node *nodes;
	struct onnx_tensor *initializers;
	struct onnx_value_info *inputs, *outputs, *values;
};

static int make_arrays(struct onnx_reader *reader, const size_t *counts,
		       struct graph_arrays *arrays, struct strata_error *err)
{
	struct strata_arena *arena = reader->arena;

	arrays->nodes = strata_arena_array(arena, counts[GRAPH_NODE], sizeof(*arrays->nodes));
	arrays->initializers = strata_arena_array(arena,
						  counts[GRAPH_INITIALIZER] + counts[GRAPH_SPARSE],
						  sizeof(*arrays->initializers));
	arrays->inputs = strata_arena_array(arena, counts[GRAPH_INPUT], sizeof(*arrays->inputs));
	arrays->outputs = strata_arena_array(arena, counts[GRAPH_OUTPUT], sizeof(*arrays->outputs));
	arrays->values = strata_arena_array(arena, counts[GRAPH_VALUE], sizeof(*arrays->values));
	return arrays->nodes && arrays->initializers && arrays->inputs && arrays->outputs &&
			       arrays->values
		       ? 0
		       : strata_fail_memory(err);
}

static int read_graph_field(struct onnx_reader *reader, const struct onnx_field *field,
			    struct onnx_graph *graph, const struct graph_arrays *arrays,
			    struct strata_error *err)
{
	switch (field->number) {
	case GRAPH_NODE:
		return onnx_read_node(reader, field, &arrays->nodes[graph->node_count++], err);
	case GRAPH_NAME:
		return onnx_read_text(reader, field, &graph->name, err);
	case GRAPH_INITIALIZER:
		return onnx_read_tensor(reader, field,
					&arrays->initializers[graph->initializer_count++], err);
	case GRAPH_SPARSE:
		return onnx_read_sparse(reader, field,
					&arrays->initializers[graph->initializer_count++], err);
	case GRAPH_INPUT:
		return read_value(reader, field, &arrays->inputs[graph->input_count++], err);
	case GRAPH_OUTPUT:
		return read_value(reader, field, &arrays->outputs[graph->output_count++], err);
	case GRAPH_VALUE:
		return read_value(reader, field, &arrays->values[graph->value_count++], err);
	default:
		return 0;
	}
}

int onnx_read_graph(struct onnx_reader *reader, const struct onnx_field *outer,
		    struct onnx_graph *ret_graph, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_graph graph = { .name = "" };
	size_t counts[GRAPH_SPARSE + 1];
	struct graph_arrays arrays;
	struct onnx_field field;
	int rc = onnx_count_fields(outer->bytes, counts, GRAPH_SPARSE + 1, err);

	if (rc == 0 && reader->depth == STRATA_ONNX_DEPTH_MAX)
		rc = strata_fail(err, -E2BIG, "types and graphs are nested more than %d deep",
				 STRATA_ONNX_DEPTH_MAX);
	if (rc == 0)
		rc = make_arrays(reader, counts, &arrays, err);
	if (rc)
		return rc;
	reader->depth++;
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_graph_field(reader, &field, &graph, &arrays, err);
		if (rc)
			break;
	}
	reader->depth--;
	graph.nodes = arrays.nodes;
	graph.initializers = arrays.initializers;
	graph.inputs = arrays.inputs;
	graph.outputs = arrays.outputs;
	graph.values = arrays.values;
	if (rc == 0)
		*ret_graph = graph;
	return rc;
}

/* ---- functions ---- */

enum { /* fields of FunctionProto */
       FUNCTION_NAME = 1,
       FUNCTION_INPUT = 4,
       FUNCTION_OUTPUT = 5,
       FUNCTION_NODE = 7,
       FUNCTION_DOMAIN = 10,
};

static int read_function_field(struct onnx_reader *reader, const struct onnx_field *field,
			       struct onnx_function *function, struct onnx_node *nodes,
			       struct strata_error *err)
{
	switch (field->number) {
	case FUNCTION_NAME:
		return onnx_read_text(reader, field, &function->name, err);
	case FUNCTION_INPUT:
		return onnx_read_text(reader, field, &function->inputs[function->input_count++],
				      err);
	case FUNCTION_OUTPUT:
		return onnx_read_text(reader, field, &function->outputs[function->output_count++],
				      err);
	case FUNCTION_NODE:
		return onnx_read_node(reader, field, &nodes[function->node_count++], err);
	case FUNCTION_DOMAIN:
		return onnx_read_text(reader, field, &function->domain, err);
	default:
		return 0;
	}
}

static int read_function(struct onnx_reader *reader, const struct onnx_field *outer,
			 struct onnx_function *ret_function, struct strata_error *err)
{
	struct onnx_function function = { .name = "", .domain = "" };
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	size_t counts[FUNCTION_DOMAIN + 1];
	struct onnx_field field;
	int rc = onnx_count_fields(outer->bytes, counts, FUNCTION_DOMAIN + 1, err);

	if (rc)
		return rc;
	struct onnx_node *nodes =
		strata_arena_array(reader->arena, counts[FUNCTION_NODE], sizeof(*nodes));

	function.inputs =
		strata_arena_array(reader->arena, counts[FUNCTION_INPUT], sizeof(*function.inputs));
	function.outputs = strata_arena_array(reader->arena, counts[FUNCTION_OUTPUT],
					      sizeof(*function.outputs));
	function.nodes = nodes;
	if (!nodes || !function.inputs || !function.outputs)
		return strata_fail_memory(err);
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_function_field(reader, &field, &function, nodes, err);
		if (rc)
			return rc;
	}
	if (rc == 0)
		*ret_function = function;
	return rc;
}

/* ---- the model ---- */

enum { /* fields of ModelProto */
       MODEL_PRODUCER = 2,
       MODEL_GRAPH = 7,
       MODEL_OPSET = 8,
       MODEL_FUNCTION = 25,
};

static int read_opset(struct onnx_reader *reader, const struct onnx_field *outer,
		      struct onnx_model *model, struct strata_error *err)
{
	struct onnx_wire wire = onnx_wire_of(outer->bytes);
	struct onnx_field field;
	const char *domain = "";
	int64_t version = 0;
	int rc;

	while ((rc = onnx_wire_next(&wire, &field, err)) > 0)
		if (field.number == 1) {
			rc = onnx_read_text(reader, &field, &domain, err);
			if (rc)
				return rc;
		} else if (field.number == 2) {
			version = (int64_t)field.value;
		}
	if (rc == 0 && (!domain[0] || strcmp(domain, "ai.onnx") == 0))
		model->opset = version;
	return rc;
}

static int read_model_field(struct onnx_reader *reader, const struct onnx_field *field,
			    struct onnx_model *model, struct onnx_function *functions,
			    struct strata_error *err)
{
	switch (field->number) {
	case MODEL_PRODUCER:
		return onnx_read_text(reader, field, &model->producer, err);
	case MODEL_GRAPH:
		return onnx_read_graph(reader, field, &model->graph, err);
	case MODEL_OPSET:
		return read_opset(reader, field, model, err);
	case MODEL_FUNCTION:
		return read_function(reader, field, &functions[model->function_count++], err);
	default:
		return 0;
	}
}

int onnx_model_read(const void *bytes, size_t length, struct strata_arena *arena,
		    struct onnx_model *ret_model, struct strata_error *err)
{
	struct onnx_model model = { .file = { bytes, length }, .producer = "" };
	struct onnx_wire wire = onnx_wire_of(model.file);
	struct onnx_reader reader = { .arena = arena };
	size_t counts[MODEL_FUNCTION + 1];
	struct onnx_field field;
	int rc = onnx_count_fields(model.file, counts, MODEL_FUNCTION + 1, err);

	if (rc)
		return rc;
	if (counts[MODEL_GRAPH] != 1)
		return strata_fail(err, -EINVAL,
				   "there are %zu graphs in the file; a model has one",
				   counts[MODEL_GRAPH]);
	struct onnx_function *functions =
		strata_arena_array(arena, counts[MODEL_FUNCTION], sizeof(*functions));

	if (!functions)
		return strata_fail_memory(err);
	model.functions = functions;
	while ((rc = onnx_wire_next(&wire, &field, err)) > 0) {
		rc = read_model_field(&reader, &field, &model, functions, err);
		if (rc)
			return rc;
	}
	model.node_count = reader.node_count;
	if (rc == 0)
		*ret_model = model;
	return rc;
}
