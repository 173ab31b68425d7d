/* Graphs inside nodes: compiling them, running them. */
#include "engine/native/body.h"

#include "core/map.h"
#include "engine/captures.h"

#include <errno.h>
#include <string.h>

/* ---- making ---- */

static int load_weights(struct native_body *body, const struct native_body_conf *conf,
			struct strata_arena *arena, struct strata_error *err)
{
	const struct onnx_graph *graph = body->graph;
	int rc = 0;

	body->weights = strata_arena_array(arena, graph->initializer_count, sizeof(*body->weights));
	if (!body->weights)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++) {
		rc = engine_value_of_tensor(conf->heap, &graph->initializers[i],
					    conf->source->directory, true, &body->weights[i], err);
		body->weight_count += rc == 0;
	}
	return rc;
}

static int list_captures(struct native_body *body, const struct native_body_conf *conf,
			 struct strata_arena *arena, struct strata_error *err)
{
	struct map_text captured;

	map_text_init(&captured, conf->memory);
	int rc = engine_captures_of_graph(body->graph, &captured, conf->memory, err);

	if (rc == 0) {
		body->captures = strata_arena_array(arena, captured.count, sizeof(char *));
		body->capture_slots = strata_arena_array(arena, captured.count, sizeof(uint32_t));
		if (!body->captures || !body->capture_slots)
			rc = strata_fail_memory(err);
	}
	for (const struct map_text_entry *entry = map_text_next(&captured, NULL); rc == 0 && entry;
	     entry = map_text_next(&captured, entry)) {
		const char *name = strata_arena_text(arena, entry->key, entry->key_bytes);

		if (!name)
			rc = strata_fail_memory(err);
		else
			body->captures[body->capture_count++] = name;
	}
	map_text_fini(&captured);
	return rc;
}

static int compile(struct native_body *body, const struct native_body_conf *conf,
		   struct strata_arena *arena, struct strata_error *err)
{
	const struct onnx_graph *graph = body->graph;
	size_t input_count = graph->input_count + body->capture_count;
	const struct onnx_node **nodes = strata_arena_array(arena, graph->node_count, sizeof(*nodes));
	const char **inputs = strata_arena_array(arena, input_count, sizeof(*inputs));
	const char **weights = strata_arena_array(arena, graph->initializer_count, sizeof(*weights));
	const char **outputs = strata_arena_array(arena, graph->output_count, sizeof(*outputs));

	body->inputs = strata_arena_array(arena, input_count, sizeof(*body->inputs));
	if (!nodes || !inputs || !weights || !outputs || !body->inputs)
		return strata_fail_memory(err);
	for (size_t i = 0; i < graph->node_count; i++)
		nodes[i] = &graph->nodes[i];
	for (size_t i = 0; i < graph->input_count; i++)
		inputs[i] = graph->inputs[i].name;
	memcpy(inputs + graph->input_count, body->captures, body->capture_count * sizeof(*inputs));
	for (size_t i = 0; i < graph->initializer_count; i++)
		weights[i] = graph->initializers[i].name;
	for (size_t i = 0; i < graph->output_count; i++)
		outputs[i] = graph->outputs[i].name;
	const struct native_source source = { .model = conf->source->model,
					      .directory = conf->source->directory,
					      .nodes = nodes,
					      .node_count = graph->node_count,
					      .inputs = inputs,
					      .input_count = input_count,
					      .weights = weights,
					      .weight_count = graph->initializer_count,
					      .weights_stay = true,
					      .outputs = outputs,
					      .output_count = graph->output_count };

	return native_program_new(&source, conf->heap, conf->team, &body->program, err);
}

static int body_new(const struct native_body_conf *conf, const struct onnx_attribute *attribute,
		    struct strata_arena *arena, struct native_body **ret_body,
		    struct strata_error *err)
{
	struct native_body *body = strata_arena_get(arena, sizeof(*body));

	if (!body)
		return strata_fail_memory(err);
	*ret_body = body; /* what is made so far is freed with the rest */
	body->attribute = attribute->name;
	body->graph = attribute->graph;
	int rc = list_captures(body, conf, arena, err);

	if (rc == 0)
		rc = load_weights(body, conf, arena, err);
	return rc ? rc : compile(body, conf, arena, err);
}

int native_bodies_new(const struct native_body_conf *conf, const struct onnx_node *node,
		      struct strata_arena *arena, struct native_body ***ret_bodies,
		      size_t *ret_count, struct strata_error *err)
{
	size_t count = 0;
	int rc = 0;

	for (size_t i = 0; i < node->attribute_count; i++)
		count += node->attributes[i].graph != NULL;
	*ret_bodies = strata_arena_array(arena, count, sizeof(**ret_bodies));
	if (!*ret_bodies)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < node->attribute_count; i++)
		if (node->attributes[i].graph) {
			rc = body_new(conf, &node->attributes[i], arena, &(*ret_bodies)[*ret_count],
				      err);
			*ret_count += (*ret_bodies)[*ret_count] != NULL;
		}
	return rc;
}

void native_bodies_free(struct native_body **bodies, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		native_program_free(bodies[i]->program);
		for (size_t k = 0; k < bodies[i]->weight_count; k++)
			engine_value_drop(&bodies[i]->weights[k]);
	}
}

/* ---- running ---- */

struct native_body *native_body_of(const struct native_call *call, const char *attribute)
{
	for (size_t i = 0; i < call->body_count; i++)
		if (strcmp(call->bodies[i]->attribute, attribute) == 0)
			return call->bodies[i];
	return NULL;
}

size_t native_body_inputs(const struct native_body *body)
{
	return body->graph->input_count;
}

size_t native_body_outputs(const struct native_body *body)
{
	return body->graph->output_count;
}

int native_body_run(struct native_call *call, struct native_body *body,
		    const struct engine_value *inputs, size_t input_count,
		    struct engine_value *ret_outputs, size_t output_count, struct strata_error *err)
{
	if (input_count != body->graph->input_count || output_count != body->graph->output_count)
		return native_refuse(call, err,
				     "its graph takes %zu values and gives %zu; expected %zu and %zu",
				     body->graph->input_count, body->graph->output_count,
				     input_count, output_count);
	for (size_t i = 0; i < input_count; i++)
		body->inputs[i] = inputs[i];
	for (size_t i = 0; i < body->capture_count; i++)
		body->inputs[input_count + i] = call->around[body->capture_slots[i]];
	const struct native_run run = { .inputs = body->inputs,
					.weights = body->weights,
					.stop = call->run ? call->run->stop : NULL,
					.stop_context = call->run ? call->run->stop_context : NULL };

	return native_program_run(body->program, &run, ret_outputs, err);
}
