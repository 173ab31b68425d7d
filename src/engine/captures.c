/* What nodes and graphs read from around them: see captures.h. The reader bounds the depth of graphs in graphs. */
#include "engine/captures.h"

#include <string.h>

static int note(struct map_text *map, const char *name, struct strata_error *err)
{
	return name[0] && map_text_put(map, name, strlen(name), map, NULL)
		       ? strata_fail_memory(err)
		       : 0;
}

static bool has(const struct map_text *map, const char *name)
{
	return map_text_get(map, name, strlen(name)) != NULL;
}

int engine_captures_of_node(const struct onnx_node *node, struct map_text *read,
			    struct strata_memory *memory, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < node->input_count; i++)
		rc = note(read, node->inputs[i], err);
	for (size_t i = 0; rc == 0 && i < node->attribute_count; i++)
		if (node->attributes[i].graph)
			rc = engine_captures_of_graph(node->attributes[i].graph, read, memory, err);
	return rc;
}

/* The names of a node that the graph has not made before it. */
static int scan_node(const struct onnx_node *node, struct map_text *own, struct map_text *captured,
		     struct strata_memory *memory, struct strata_error *err)
{
	struct map_text read;

	map_text_init(&read, memory);
	int rc = engine_captures_of_node(node, &read, memory, err);

	for (const struct map_text_entry *entry = map_text_next(&read, NULL); rc == 0 && entry;
	     entry = map_text_next(&read, entry))
		if (!has(own, entry->key))
			rc = note(captured, entry->key, err);
	map_text_fini(&read);
	for (size_t i = 0; rc == 0 && i < node->output_count; i++)
		rc = note(own, node->outputs[i], err);
	return rc;
}

int engine_captures_of_graph(const struct onnx_graph *graph, struct map_text *captured,
			     struct strata_memory *memory, struct strata_error *err)
{
	struct map_text own;
	int rc = 0;

	map_text_init(&own, memory);
	for (size_t i = 0; rc == 0 && i < graph->input_count; i++)
		rc = note(&own, graph->inputs[i].name, err);
	for (size_t i = 0; rc == 0 && i < graph->initializer_count; i++)
		rc = note(&own, graph->initializers[i].name, err);
	for (size_t i = 0; rc == 0 && i < graph->node_count; i++)
		rc = scan_node(&graph->nodes[i], &own, captured, memory, err);
	for (size_t i = 0; rc == 0 && i < graph->output_count; i++) /* passed through as it is */
		if (!has(&own, graph->outputs[i].name))
			rc = note(captured, graph->outputs[i].name, err);
	map_text_fini(&own);
	return rc;
}
