/*
 * The walk over a model's nodes. Each is looked up in the table of operators, or among the model's own functions; its rule sets the types
 * of its outputs; when all its inputs have elements and the result is small, it is computed. Graphs inside a node (If, Loop, Scan) and
 * functions are walked by the same code in a scope of their own.
 */
#include "formats/onnx/onnx_infer.h"
#include "formats/onnx/onnx_scope.h"

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- one node ---- */

static int bind_inputs(struct onnx_infer *infer, struct onnx_scope *scope,
		       const struct onnx_node *node, const struct onnx_value ***ret_inputs,
		       struct strata_error *err)
{
	const struct onnx_value **inputs =
		strata_arena_array(infer->arena, node->input_count, sizeof(*inputs));
	int rc = inputs ? 0 : strata_fail_memory(err);

	for (size_t i = 0; rc == 0 && i < node->input_count; i++) {
		rc = onnx_look_up(infer, scope, node->inputs[i], &inputs[i], err);
		if (rc == -ENOENT)
			rc = strata_fail(
				err, -EINVAL,
				"%.40s node '%.64s' reads '%.64s', which nothing before it makes",
				node->kind, node->name, node->inputs[i]);
	}
	*ret_inputs = inputs;
	return rc;
}

static const struct onnx_function *find_function(const struct onnx_model *model,
						 const struct onnx_node *node)
{
	for (size_t i = 0; i < model->function_count; i++)
		if (strcmp(model->functions[i].name, node->kind) == 0 &&
		    strcmp(model->functions[i].domain, node->domain) == 0)
			return &model->functions[i];
	return NULL;
}

/* ---- elements ---- */

static bool can_fold(const struct onnx_call *call, const struct onnx_op *op)
{
	int64_t elements = call->output_count ? onnx_elements(&call->outputs[0]) : -1;

	if (!op->fold || elements < 0 || elements > STRATA_ONNX_FOLD_MAX ||
	    onnx_has_elements(&call->outputs[0]) || call->outputs[0].dtype == ONNX_NONE ||
	    call->outputs[0].dtype == ONNX_STRING || call->input_count == 0)
		return false;
	for (size_t i = 0; i < call->input_count; i++)
		if (call->inputs[i] && !onnx_has_elements(call->inputs[i]))
			return false;
	return call->inputs[0];
}

/* Forgets the marks of unknown elements where there are none. */
static void tidy(struct onnx_value *value)
{
	int64_t count = value->open ? onnx_elements(value) : 0;

	for (int64_t i = 0; i < count; i++)
		if (value->open[i])
			return;
	value->open = NULL;
}

static bool all_shaped(const struct onnx_call *call)
{
	for (size_t i = 0; i < call->input_count; i++)
		if (call->inputs[i] && !onnx_shaped(call->inputs[i]))
			return false;
	return call->output_count > 0 && onnx_shaped(&call->outputs[0]);
}

static void forget_outputs(struct onnx_call *call)
{
	for (size_t i = 0; i < call->output_count; i++)
		call->outputs[i] = (struct onnx_value){ .length = -1 };
}

static int apply(struct onnx_call *call, const struct onnx_op *op,
		 const struct onnx_function *function, bool *clash, struct strata_error *err)
{
	struct onnx_infer *infer = call->infer;
	struct strata_error why = { 0 };
	int rc = op         ? op->shape(call, &why)
		 : function ? onnx_infer_function(call, function, &why)
			    : 0;

	if (rc == 0 && op && can_fold(call, op))
		rc = op->fold(call, &why);
	if (rc == 0 && op && op->flops && all_shaped(call))
		call->flops += op->flops(call);
	for (size_t i = 0; i < call->output_count; i++)
		tidy(&call->outputs[i]);
	if (rc == -EINVAL) { /* the model contradicts itself here: flagged, and no shape */
		*clash = true;
		call->flops = 0;
		forget_outputs(call);
		if (!infer->result->first_clash[0])
			snprintf(infer->result->first_clash, sizeof(infer->result->first_clash),
				 "%.190s", why.text);
		return 0;
	}
	if (rc && err)
		*err = why;
	return rc;
}

/* Constants stay constants through everything that is no chance and no graph of its own. */
static void mark_constant(struct onnx_call *call)
{
	bool constant = call->input_count > 0 && strncmp(call->node->kind, "Random", 6) != 0 &&
			strcmp(call->node->kind, "Bernoulli") != 0;

	for (size_t i = 0; constant && i < call->input_count; i++)
		constant = !call->inputs[i] || call->inputs[i]->constant;
	for (size_t i = 0; constant && i < call->node->attribute_count; i++)
		constant = !call->node->attributes[i].graph;
	for (size_t i = 0; i < call->output_count; i++)
		call->outputs[i].constant |= constant || (onnx_has_elements(&call->outputs[i]) &&
							  !call->outputs[i].open);
}

static int run_node(struct onnx_infer *infer, struct onnx_scope *scope,
		    const struct onnx_node *node, struct onnx_inferred_node *record, double *flops,
		    struct strata_error *err)
{
	const struct onnx_op *op = onnx_op_find(node->domain, node->kind);
	const struct onnx_function *function = op ? NULL : find_function(infer->model, node);
	struct onnx_call call = { infer, scope, node, .input_count = node->input_count,
				  .output_count = node->output_count };
	const struct onnx_value **inputs;
	bool clash = false;
	int rc = bind_inputs(infer, scope, node, &inputs, err);

	if (rc == 0 && infer->depth && infer->steps++ == STRATA_ONNX_STEPS_MAX)
		rc = strata_fail(err, -E2BIG,
				 "functions and graphs of the model call each other too often");
	if (rc)
		return rc;
	call.inputs = inputs;
	call.outputs = strata_arena_array(infer->arena, node->output_count, sizeof(*call.outputs));
	if (!call.outputs)
		return strata_fail_memory(err);
	forget_outputs(&call);
	rc = apply(&call, op, function, &clash, err);
	if (rc)
		return rc;
	mark_constant(&call);
	*flops += call.flops;
	if (record)
		*record = (struct onnx_inferred_node){ .node = node,
						       .inputs = inputs,
						       .outputs = call.outputs,
						       .input_count = node->input_count,
						       .flops = call.flops,
						       .known = op || function,
						       .clash = clash };
	for (size_t i = 0; rc == 0 && i < node->output_count; i++)
		rc = onnx_define(scope, node->outputs[i], &call.outputs[i], err);
	return rc;
}

int onnx_walk(struct onnx_infer *infer, struct onnx_scope *scope, const struct onnx_node *nodes,
	      size_t node_count, double *flops, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < node_count; i++)
		rc = run_node(infer, scope, &nodes[i], NULL, flops, err);
	return rc;
}

/* ---- the model ---- */

/* Holds an output against what the file declares; fills in from there when it may. */
static int compare(struct onnx_infer *infer, const struct onnx_type *type, struct onnx_value *value,
		   struct strata_error *err)
{
	struct onnx_value declared;
	bool believe = infer->flags & ONNX_BELIEVE_DECLARED, differs;
	int rc = onnx_value_of_type(infer, type, &declared, err);

	if (rc || declared.kind == ONNX_UNKNOWN)
		return rc;
	if (value->kind == ONNX_UNKNOWN) {
		if (believe)
			onnx_set_like(value, &declared);
		return 0;
	}
	differs = value->kind != declared.kind ||
		  (value->dtype && declared.dtype && value->dtype != declared.dtype);
	if (value->ranked && declared.ranked) {
		differs |= value->rank != declared.rank;
		for (size_t i = 0; !differs && i < value->rank; i++) {
			int64_t merged;

			differs = !onnx_merge_dim(value->dims[i], declared.dims[i], &merged);
			if (!differs && believe)
				value->dims[i] = merged;
		}
	} else if (believe && declared.ranked && !differs) {
		onnx_set_like(value, &declared);
	}
	if (believe && value->kind == ONNX_SEQUENCE && !onnx_shaped(value) && declared.item)
		value->item = declared.item;
	if (believe && !value->dtype)
		value->dtype = declared.dtype;
	infer->result->contradictions += differs;
	return 0;
}

static int finish_record(struct onnx_infer *infer, const struct map_text *declared,
			 struct onnx_inferred_node *record, struct strata_error *err)
{
	const struct onnx_node *node = record->node;
	struct onnx_captures *captures = &infer->captures;
	size_t count = node->input_count + captures->count;
	bool folded = node->output_count > 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < node->output_count; i++) {
		struct onnx_value *value = &record->outputs[i];
		const struct onnx_value_info *info =
			map_text_get(declared, node->outputs[i], strlen(node->outputs[i]));

		if (info && node->outputs[i][0])
			rc = compare(infer, &info->type, value, err);
		if (node->outputs[i][0]) {
			infer->result->output_total++;
			infer->result->output_shaped += onnx_shaped(value);
		}
		folded &= (onnx_has_elements(value) && !value->open) || value->tensor ||
			  value->same_as;
	}
	record->folded = folded;
	if (rc || !captures->count)
		return rc;
	const struct onnx_value **inputs = strata_arena_array(infer->arena, count, sizeof(*inputs));

	if (!inputs)
		return strata_fail_memory(err);
	if (node->input_count)
		memcpy(inputs, record->inputs, node->input_count * sizeof(*inputs));
	memcpy(inputs + node->input_count, captures->values, captures->count * sizeof(*inputs));
	record->inputs = inputs;
	record->input_count = count;
	captures->count = 0;
	return 0;
}

static int define_inputs(struct onnx_infer *infer, struct onnx_scope *scope,
			 const struct onnx_graph *graph, struct strata_error *err)
{
	struct onnx_inferred *result = infer->result;
	int rc = 0;

	result->initializers = strata_arena_array(infer->arena, graph->initializer_count,
						  sizeof(*result->initializers));
	result->inputs =
		strata_arena_array(infer->arena, graph->input_count, sizeof(*result->inputs));
	if (!result->initializers || !result->inputs)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		rc = onnx_value_of_tensor(infer, &graph->initializers[i], &result->initializers[i],
					  err);
		if (rc == 0)
			rc = onnx_define(scope, graph->initializers[i].name,
					 &result->initializers[i], err);
	}
	for (size_t i = 0; rc == 0 && i < graph->input_count; i++) {
		const char *name = graph->inputs[i].name;
		struct onnx_value *value = &result->inputs[i];
		struct onnx_value *constant = map_text_get(&scope->names, name, strlen(name));

		rc = onnx_value_of_type(infer, &graph->inputs[i].type, value, err);
		if (rc)
			break;
		if (!constant)
			rc = onnx_define(scope, name, value, err);
		else if (
			constant->tensor) /* with a value of its own that callers may replace: old files list all so */
			value->tensor = constant->tensor;
		else
			rc = strata_fail(err, -EINVAL, "two inputs are called '%.64s'", name);
	}
	return rc;
}

static int declare(struct map_text *declared, const struct onnx_value_info *values, size_t count,
		   struct strata_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (map_text_put(declared, values[i].name, strlen(values[i].name),
				 (void *)&values[i], NULL))
			return strata_fail_memory(err);
	return 0;
}

static int walk_top(struct onnx_infer *infer, struct onnx_scope *scope, struct map_text *declared,
		    struct strata_error *err)
{
	const struct onnx_graph *graph = &infer->model->graph;
	struct onnx_inferred *result = infer->result;
	int rc = declare(declared, graph->values, graph->value_count, err);
	const uint32_t *order = NULL;
	double flops = 0;

	if (rc == 0)
		rc = declare(declared, graph->outputs, graph->output_count, err);
	if (rc == 0)
		rc = define_inputs(infer, scope, graph, err);
	if (rc == 0)
		rc = onnx_sort_nodes(graph, infer->arena, &order, err);
	if (rc)
		return rc;
	result->nodes = strata_arena_array(infer->arena, graph->node_count, sizeof(*result->nodes));
	result->outputs =
		strata_arena_array(infer->arena, graph->output_count, sizeof(*result->outputs));
	if (!result->nodes || !result->outputs)
		return strata_fail_memory(err);
	for (size_t k = 0; rc == 0 && k < graph->node_count; k++) {
		size_t i = order ? order[k] : k;

		rc = run_node(infer, scope, &graph->nodes[i], &result->nodes[i], &flops, err);
		if (rc == 0)
			rc = finish_record(infer, declared, &result->nodes[i], err);
	}
	for (size_t i = 0; rc == 0 && i < graph->output_count; i++) {
		rc = onnx_look_up(infer, scope, graph->outputs[i].name, &result->outputs[i], err);
		if (rc == -ENOENT)
			rc = strata_fail(err, -EINVAL, "nothing makes the output '%.64s'",
					 graph->outputs[i].name);
	}
	return rc;
}

/* Every dimension that was given must be one of the model's. */
static int check_given(const struct onnx_infer *infer, struct strata_error *err)
{
	for (size_t i = 0; i < infer->dim_count; i++) {
		struct text_closest closest;
		const char *name = infer->dims[i].name;

		if (infer->used[i] || strcmp(name, "*") == 0)
			continue;
		text_closest_init(&closest, name, strlen(name));
		for (size_t k = 0; k < infer->name_count; k++)
			text_closest_offer(&closest, infer->names[k]);
		if (closest.best)
			return strata_fail(
				err, -EINVAL,
				"the model has no dimension '%.64s'; did you mean '%.64s'?", name,
				closest.best);
		return strata_fail(err, -EINVAL, "the model has no dimension '%.64s'%s%.64s", name,
				   infer->name_count ? "; one that it has is " : "",
				   infer->name_count ? infer->names[0] : "");
	}
	return 0;
}

int onnx_infer(const struct onnx_model *model, const struct onnx_dim *dims, size_t dim_count,
	       unsigned flags, struct strata_arena *arena, struct onnx_inferred *ret_inferred,
	       struct strata_error *err)
{
	struct onnx_inferred result = { .model = model };
	struct onnx_scope top = { 0 };
	struct map_text declared;
	struct onnx_infer infer = { .model = model,
				    .arena = arena,
				    .dims = dims,
				    .dim_count = dim_count,
				    .flags = flags,
				    .top = &top,
				    .result = &result,
				    .used = strata_arena_array(arena, dim_count, sizeof(bool)) };

	if (!infer.used)
		return strata_fail_memory(err);
	map_text_init(&top.names, arena->memory);
	map_text_init(&declared, arena->memory);
	int rc = walk_top(&infer, &top, &declared, err);

	map_text_fini(&declared);
	map_text_fini(&top.names);
	if (rc == 0)
		rc = check_given(&infer, err);
	if (rc)
		return rc;
	result.dim_names = infer.names;
	result.dim_count = infer.name_count;
	*ret_inferred = result;
	return 0;
}
