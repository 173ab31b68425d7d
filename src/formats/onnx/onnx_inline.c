/*
 * Functions of a model put in place of their calls. Exporters write a module as a function and the model as calls of modules; what can be
 * placed is what is in them. Names inside a call get the call's name in front, so that every call has values of its own; inputs and
 * outputs of the function become those of the call. Calls inside the graphs of If and Loop stay calls.
 */
#include "formats/onnx/onnx_graph.h"

#include <errno.h>
#include <string.h>

struct frame {
	const struct onnx_function *function;
	const struct onnx_node *call; /* with names and attributes as they are outside */
	const char *prefix;           /* of names of nodes */
	const char *values;           /* of names of values: another one for each call */
};

struct inliner {
	const struct onnx_model *model;
	struct strata_arena *arena;
	struct onnx_node *nodes;
	size_t count, room, calls;
	size_t steps; /* nodes inside functions so far */
	unsigned depth;
};

/* ---- names ---- */

static const char *actual(const char *const *formals, size_t formal_count, const char **actuals,
			  size_t actual_count, const char *name)
{
	for (size_t i = 0; i < formal_count; i++)
		if (strcmp(formals[i], name) == 0)
			return i < actual_count ? actuals[i] : "";
	return NULL;
}

/* What a name inside a function is outside; NULL for lack of memory. */
static const char *rename_value(const struct inliner *inliner, const struct frame *frame,
				const char *name)
{
	const struct onnx_function *function = frame->function;
	const char *found;

	if (!name[0])
		return "";
	found = actual(function->inputs, function->input_count, frame->call->inputs,
		       frame->call->input_count, name);
	if (found)
		return found;
	found = actual(function->outputs, function->output_count, frame->call->outputs,
		       frame->call->output_count, name);
	return found && found[0]
		       ? found
		       : strata_arena_printf(inliner->arena, "%s/%s", frame->values, name);
}

static int rename_list(const struct inliner *inliner, const struct frame *frame, const char **names,
		       size_t count, const char ***ret_names, struct strata_error *err)
{
	const char **renamed = strata_arena_array(inliner->arena, count, sizeof(*renamed));

	if (!renamed)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		renamed[i] = rename_value(inliner, frame, names[i]);
		if (!renamed[i])
			return strata_fail_memory(err);
	}
	*ret_names = renamed;
	return 0;
}

/* ---- copies ---- */

static int copy_node(struct inliner *inliner, const struct frame *frame,
		     const struct onnx_node *node, struct onnx_node *ret_node,
		     struct strata_error *err);

static int copy_values(const struct inliner *inliner, const struct frame *frame,
		       const struct onnx_value_info *values, size_t count,
		       const struct onnx_value_info **ret_values, struct strata_error *err)
{
	struct onnx_value_info *copies = strata_arena_array(inliner->arena, count, sizeof(*copies));

	if (!copies)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		copies[i] = values[i];
		copies[i].name = rename_value(inliner, frame, values[i].name);
		if (!copies[i].name)
			return strata_fail_memory(err);
	}
	*ret_values = copies;
	return 0;
}

static int copy_graph(struct inliner *inliner, const struct frame *frame,
		      const struct onnx_graph *graph, const struct onnx_graph **ret_graph,
		      struct strata_error *err)
{
	struct onnx_graph *copy = strata_arena_get(inliner->arena, sizeof(*copy));
	struct onnx_node *nodes =
		strata_arena_array(inliner->arena, graph->node_count, sizeof(*nodes));
	struct onnx_tensor *tensors =
		strata_arena_array(inliner->arena, graph->initializer_count, sizeof(*tensors));
	int rc = copy && nodes && tensors ? 0 : strata_fail_memory(err);

	if (rc)
		return rc;
	*copy = *graph;
	for (size_t i = 0; rc == 0 && i < graph->node_count; i++)
		rc = copy_node(inliner, frame, &graph->nodes[i], &nodes[i], err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		tensors[i] = graph->initializers[i];
		tensors[i].name = rename_value(inliner, frame, tensors[i].name);
		if (!tensors[i].name)
			rc = strata_fail_memory(err);
	}
	if (rc == 0)
		rc = copy_values(inliner, frame, graph->inputs, graph->input_count, &copy->inputs,
				 err);
	if (rc == 0)
		rc = copy_values(inliner, frame, graph->outputs, graph->output_count,
				 &copy->outputs, err);
	copy->nodes = nodes;
	copy->initializers = tensors;
	copy->value_count = 0; /* types of inner values are for the outermost graph only */
	*ret_graph = copy;
	return rc;
}

/* Attributes that stand for one of the call become that one, or nothing when the call has none. */
static int copy_attributes(struct inliner *inliner, const struct frame *frame,
			   const struct onnx_node *node, struct onnx_node *copy,
			   struct strata_error *err)
{
	struct onnx_attribute *attributes =
		strata_arena_array(inliner->arena, node->attribute_count, sizeof(*attributes));
	int rc = attributes ? 0 : strata_fail_memory(err);

	copy->attributes = attributes;
	copy->attribute_count = 0;
	for (size_t i = 0; rc == 0 && i < node->attribute_count; i++) {
		const struct onnx_attribute *from = &node->attributes[i];
		struct onnx_attribute *to = &attributes[copy->attribute_count];

		if (from->refers_to) {
			const char *name = from->name;

			from = onnx_attribute_find(frame->call, from->refers_to);
			if (!from)
				continue;
			*to = *from;
			to->name = name;
		} else {
			*to = *from;
			if (from->graph)
				rc = copy_graph(inliner, frame, from->graph, &to->graph, err);
		}
		copy->attribute_count++;
	}
	return rc;
}

static int copy_node(struct inliner *inliner, const struct frame *frame,
		     const struct onnx_node *node, struct onnx_node *ret_node,
		     struct strata_error *err)
{
	struct onnx_node copy = *node;
	int rc = rename_list(inliner, frame, node->inputs, node->input_count, &copy.inputs, err);

	if (rc == 0)
		rc = rename_list(inliner, frame, node->outputs, node->output_count, &copy.outputs,
				 err);
	if (rc == 0)
		rc = copy_attributes(inliner, frame, node, &copy, err);
	if (rc)
		return rc;
	copy.name = strata_arena_printf(inliner->arena, "%s/%s", frame->prefix,
					node->name[0] ? node->name : node->kind);
	if (!copy.name)
		return strata_fail_memory(err);
	*ret_node = copy;
	return 0;
}

/* ---- calls ---- */

static const struct onnx_function *called(const struct onnx_model *model,
					  const struct onnx_node *node)
{
	if (onnx_op_find(node->domain, node->kind))
		return NULL;
	for (size_t i = 0; i < model->function_count; i++)
		if (strcmp(model->functions[i].name, node->kind) == 0 &&
		    strcmp(model->functions[i].domain, node->domain) == 0)
			return &model->functions[i];
	return NULL;
}

static int append(struct inliner *inliner, const struct onnx_node *node, struct strata_error *err)
{
	if (inliner->count == inliner->room) {
		size_t room = inliner->room ? 2 * inliner->room : 64;
		struct onnx_node *nodes = strata_arena_array(inliner->arena, room, sizeof(*nodes));

		if (!nodes)
			return strata_fail_memory(err);
		if (inliner->count)
			memcpy(nodes, inliner->nodes, inliner->count * sizeof(*nodes));
		inliner->nodes = nodes;
		inliner->room = room;
	}
	inliner->nodes[inliner->count++] = *node;
	return 0;
}

/* An output of a function that is one of its inputs is made by nobody: an Identity makes it. */
static int pass_through(struct inliner *inliner, const struct frame *frame,
			struct strata_error *err)
{
	const struct onnx_function *function = frame->function;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < function->output_count && i < frame->call->output_count;
	     i++) {
		const char *from = actual(function->inputs, function->input_count,
					  frame->call->inputs, frame->call->input_count,
					  function->outputs[i]);
		const char **names = strata_arena_array(inliner->arena, 2, sizeof(*names));

		if (!names)
			return strata_fail_memory(err);
		names[0] = from;
		names[1] = frame->call->outputs[i];
		if (from && from[0] && names[1][0])
			rc = append(inliner,
				    &(struct onnx_node){ .name = frame->prefix,
							 .kind = "Identity",
							 .domain = "",
							 .inputs = &names[0],
							 .outputs = &names[1],
							 .input_count = 1,
							 .output_count = 1 },
				    err);
	}
	return rc;
}

static int place(struct inliner *inliner, const struct onnx_node *node, struct strata_error *err)
{
	const struct onnx_function *function = called(inliner->model, node);
	struct frame frame = { .function = function, .call = node };
	int rc = 0;

	if (inliner->depth && inliner->steps++ == STRATA_ONNX_STEPS_MAX)
		return strata_fail(err, -E2BIG,
				   "functions of the model have more than %d nodes in all",
				   STRATA_ONNX_STEPS_MAX);
	if (!function)
		return append(inliner, node, err);
	if (inliner->depth == STRATA_ONNX_DEPTH_MAX)
		return strata_fail(err, -E2BIG, "functions and graphs are nested more than %d deep",
				   STRATA_ONNX_DEPTH_MAX);
	inliner->calls++;
	frame.prefix = node->name[0] ? node->name : node->kind;
	frame.values = strata_arena_printf(inliner->arena, "%s#%zu", frame.prefix, inliner->calls);
	if (!frame.values)
		return strata_fail_memory(err);
	inliner->depth++;
	for (size_t i = 0; rc == 0 && i < function->node_count; i++) {
		struct onnx_node copy;

		rc = copy_node(inliner, &frame, &function->nodes[i], &copy, err);
		if (rc == 0)
			rc = place(inliner, &copy, err);
	}
	if (rc == 0)
		rc = pass_through(inliner, &frame, err);
	inliner->depth--;
	return rc;
}

int onnx_inline(struct onnx_model *model, struct strata_arena *arena, struct strata_error *err)
{
	struct inliner inliner = { .model = model, .arena = arena };
	struct onnx_graph *graph = &model->graph;
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < graph->node_count && model->function_count; i++)
		any |= called(model, &graph->nodes[i]) != NULL;
	for (size_t i = 0; any && rc == 0 && i < graph->node_count; i++)
		rc = place(&inliner, &graph->nodes[i], err);
	if (rc == 0 && any) {
		graph->nodes = inliner.nodes;
		graph->node_count = inliner.count;
	}
	return rc;
}
