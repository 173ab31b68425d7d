/* Nodes inside nodes: the graphs of If and Loop, which see what is around them, and functions of the model, which see nothing but their inputs. */
#include "formats/onnx/onnx_infer.h"
#include "formats/onnx/onnx_scope.h"

#include <errno.h>
#include <string.h>

static int enter(struct onnx_infer *infer, struct strata_error *err)
{
	if (infer->depth == STRATA_ONNX_DEPTH_MAX)
		return strata_fail(err, -E2BIG, "functions and graphs are nested more than %d deep",
				   STRATA_ONNX_DEPTH_MAX);
	infer->depth++;
	return 0;
}

/* A function of the model: its nodes with its own names, and nothing else in sight. */
int onnx_infer_function(struct onnx_call *call, const struct onnx_function *function,
			struct strata_error *err)
{
	struct onnx_scope scope = { .outer = call->scope, .sealed = true, .caller = call->node };
	struct onnx_infer *infer = call->infer;
	const struct onnx_value *found;
	int rc = enter(infer, err);

	if (rc)
		return rc;
	map_text_init(&scope.names, infer->arena->memory);
	for (size_t i = 0; rc == 0 && i < function->input_count; i++) {
		static const struct onnx_value nothing = { .length = -1 };
		const struct onnx_value *given = onnx_input(call, i);
		struct onnx_value *value = onnx_keep(call, given ? given : &nothing);

		rc = value ? onnx_define(&scope, function->inputs[i], value, err)
			   : strata_fail_memory(err);
	}
	if (rc == 0)
		rc = onnx_walk(infer, &scope, function->nodes, function->node_count, &call->flops,
			       err);
	for (size_t i = 0; rc == 0 && i < function->output_count && i < call->output_count; i++)
		if (onnx_look_up(infer, &scope, function->outputs[i], &found, NULL) == 0 && found) {
			onnx_set_like(&call->outputs[i], found);
			call->outputs[i].integers = found->integers;
			call->outputs[i].reals = found->reals;
			call->outputs[i].open = found->open;
		}
	map_text_fini(&scope.names);
	infer->depth--;
	return rc;
}

static int define_graph_values(struct onnx_call *call, struct onnx_scope *scope,
			       const struct onnx_graph *graph, const struct onnx_value *inputs,
			       size_t input_count, struct strata_error *err)
{
	struct onnx_infer *infer = call->infer;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < graph->input_count; i++) {
		struct onnx_value *value = strata_arena_get(infer->arena, sizeof(*value));

		if (!value)
			return strata_fail_memory(err);
		if (i < input_count && inputs[i].kind != ONNX_UNKNOWN)
			*value = inputs[i];
		else
			rc = onnx_value_of_type(infer, &graph->inputs[i].type, value, err);
		value->constant = false; /* another one in each round */
		value->tensor = NULL;
		if (rc == 0)
			rc = onnx_define(scope, graph->inputs[i].name, value, err);
	}
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		struct onnx_value *value = strata_arena_get(infer->arena, sizeof(*value));
		const char *name = graph->initializers[i].name;

		if (!value)
			return strata_fail_memory(err);
		rc = onnx_value_of_tensor(infer, &graph->initializers[i], value, err);
		if (rc == 0 && !map_text_get(&scope->names, name, strlen(name)))
			rc = onnx_define(scope, name, value, err);
	}
	return rc;
}

int onnx_infer_body(struct onnx_call *call, const struct onnx_graph *graph,
		    const struct onnx_value *inputs, size_t input_count,
		    struct onnx_value *ret_outputs, size_t output_count, double *ret_flops,
		    struct strata_error *err)
{
	struct onnx_scope scope = { .outer = call->scope };
	const struct onnx_value *found;
	double flops = 0;
	int rc = enter(call->infer, err);

	if (rc)
		return rc;
	map_text_init(&scope.names, call->infer->arena->memory);
	rc = define_graph_values(call, &scope, graph, inputs, input_count, err);
	if (rc == 0)
		rc = onnx_walk(call->infer, &scope, graph->nodes, graph->node_count, &flops, err);
	for (size_t i = 0; rc == 0 && i < output_count; i++) {
		ret_outputs[i] = (struct onnx_value){ .length = -1 };
		if (i >= graph->output_count)
			continue;
		rc = onnx_look_up(call->infer, &scope, graph->outputs[i].name, &found, err);
		if (rc == 0 && found)
			ret_outputs[i] = *found;
		else if (rc == -ENOENT)
			rc = strata_fail(
				err, -EINVAL, "the graph of %.40s '%.64s' does not make '%.64s'",
				call->node->kind, call->node->name, graph->outputs[i].name);
	}
	map_text_fini(&scope.names);
	call->infer->depth--;
	if (rc == 0)
		*ret_flops = flops;
	return rc;
}
