/* Small models for tests of what opens and runs them: written to a file of the test's own directory. */
#ifndef ENGINE_MODEL_SAMPLE_H
#define ENGINE_MODEL_SAMPLE_H

#include "engine_sample.h"
#include "onnx_sample.h"

#include <stdio.h>

static inline const char *write_model(const struct message *graph)
{
	static struct message model;
	static char path[4096];

	put_model(&model, graph);
	snprintf(path, sizeof(path), "%s/model.onnx", test_temp_dir());
	FILE *file = fopen(path, "w");

	CHECK(file && fwrite(model.bytes, model.length, 1, file) == 1);
	fclose(file);
	return path;
}

/* y = x · w + x, with w of zeros; and s = the shape of w, which never changes. */
static inline void put_small_graph(struct message *graph)
{
	static const char *const dims[] = { "n", "4", NULL };

	graph->length = 0;
	put_node(graph, "MatMul", "x w", "product");
	put_node(graph, "Add", "product x", "y");
	put_node(graph, "Shape", "w", "s");
	put_weights(graph, "w", 4, 4);
	put_value(graph, 11, "x", ONNX_FLOAT, dims);
	put_value(graph, 12, "y", ONNX_FLOAT, dims);
	put_value(graph, 12, "s", ONNX_INT64, NULL);
}

/* then: y = a + a; else: y = −a; a is from around. */
static inline void put_branches(struct message *graph)
{
	static struct message branch, node;

	graph->length = branch.length = 0;
	put_node(graph, "Abs", "x", "a");
	begin_node(&node, "If", "c", "y");
	put_node(&branch, "Add", "a a", "sum");
	put_value(&branch, 12, "sum", ONNX_FLOAT, NULL);
	put_attr_graph(&node, "then_branch", &branch);
	branch.length = 0;
	put_node(&branch, "Neg", "a", "minus");
	put_value(&branch, 12, "minus", ONNX_FLOAT, NULL);
	put_attr_graph(&node, "else_branch", &branch);
	put_message(graph, 1, &node);
	put_value(graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(graph, 11, "c", ONNX_BOOL, NULL);
	put_value(graph, 12, "y", ONNX_FLOAT, NULL);
}

#endif
