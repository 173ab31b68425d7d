/* A few nodes of the native backend that are run as they are and fused: what both give, and in how many steps. */
#ifndef FUSED_NODES_H
#define FUSED_NODES_H

#include "test.h"

#include "engine/native/fuse.h"
#include "engine/team.h"

#include <string.h>

enum { NODES_MAX = 16, VALUES_MAX = 12 };

/* Names are single words; an input that is "" is left out. */
struct fused_nodes {
	struct onnx_node nodes[NODES_MAX];
	const char *texts[NODES_MAX][4], *output_texts[NODES_MAX];
	struct onnx_attribute attributes[NODES_MAX][2];
	size_t node_count;
	struct onnx_tensor weights[VALUES_MAX];
	struct engine_value weight_values[VALUES_MAX];
	const char *weight_names[VALUES_MAX];
	size_t weight_count;
	const char *input_names[VALUES_MAX];
	struct engine_value inputs[VALUES_MAX];
	size_t input_count;
	const char *outputs[4];
	size_t output_count;
	struct strata_memory memory;
	struct engine_heap heap;
	int threads;
	int64_t opset;
};

static inline void fused_init(struct fused_nodes *all, int threads)
{
	*all = (struct fused_nodes){ .threads = threads, .opset = 13 };
	engine_heap_init(&all->heap, &all->memory);
}

static inline struct onnx_node *fused_node(struct fused_nodes *all, const char *kind,
					   const char *output, const char *a, const char *b)
{
	size_t at = all->node_count++;
	struct onnx_node *node = &all->nodes[at];

	CHECK(at < NODES_MAX);
	all->texts[at][0] = a;
	all->texts[at][1] = b;
	all->output_texts[at] = output;
	*node = (struct onnx_node){ .name = output, .kind = kind, .domain = "",
				    .inputs = all->texts[at], .input_count = b ? 2 : 1,
				    .outputs = &all->output_texts[at], .output_count = 1,
				    .attributes = all->attributes[at] };
	return node;
}

static inline void fused_axes(struct fused_nodes *all, const int64_t *axis)
{
	all->attributes[all->node_count - 1][0] = (struct onnx_attribute){
		.name = "axes", .type = ONNX_ATTR_INTS, .integers = axis, .count = 1
	};
	all->nodes[all->node_count - 1].attribute_count = 1;
}

static inline void fused_int(struct fused_nodes *all, const char *name, int64_t value)
{
	all->attributes[all->node_count - 1][0] =
		(struct onnx_attribute){ .name = name, .type = ONNX_ATTR_INT, .integer = value };
	all->nodes[all->node_count - 1].attribute_count = 1;
}

static inline struct engine_value fused_fill(struct fused_nodes *all, size_t rank,
					     const int64_t *dims, uint32_t seed)
{
	struct strata_error err = { 0 };
	struct engine_value value;

	CHECK_OK(engine_value_make(&all->heap, ONNX_FLOAT, rank, dims, &value, &err));
	for (int64_t i = 0; i < engine_value_elements(&value); i++) {
		seed = seed * 1664525u + 1013904223u;
		((float *)value.data)[i] = (float)(int32_t)seed * 0x1p-30f;
	}
	return value;
}

static inline void fused_input_of(struct fused_nodes *all, const char *name, size_t rank,
				  const int64_t *dims)
{
	all->input_names[all->input_count] = name;
	all->inputs[all->input_count] =
		fused_fill(all, rank, dims, (uint32_t)all->input_count * 77 + 5);
	all->input_count++;
}

static inline void fused_scalar(struct fused_nodes *all, const char *name, float number)
{
	fused_input_of(all, name, 0, NULL);
	*(float *)all->inputs[all->input_count - 1].data = number;
}

/* Whole numbers, as Reshape takes them. */
static inline void fused_shape(struct fused_nodes *all, const char *name, int64_t count,
			       const int64_t *dims)
{
	struct strata_error err = { 0 };
	size_t at = all->input_count++;

	all->input_names[at] = name;
	CHECK_OK(engine_value_make(&all->heap, ONNX_INT64, 1, &count, &all->inputs[at], &err));
	memcpy(all->inputs[at].data, dims, (size_t)count * sizeof(*dims));
}

static inline void fused_weight(struct fused_nodes *all, const char *name, size_t rank,
				const int64_t *dims)
{
	size_t at = all->weight_count++;

	all->weight_names[at] = name;
	all->weight_values[at] = fused_fill(all, rank, dims, (uint32_t)at * 99 + 7);
	all->weights[at] = (struct onnx_tensor){ .name = name, .dtype = ONNX_FLOAT, .rank = rank };
	memcpy(all->weights[at].dims, dims, rank * sizeof(*dims));
}

static inline void fused_count(void *context, const struct onnx_node *node, int64_t begin_ns,
			       int64_t end_ns)
{
	(void)node, (void)begin_ns, (void)end_ns;
	++*(int *)context;
}

/* One run; the first output. Returns the number of steps. */
static inline int fused_run(struct fused_nodes *all, bool apart, struct engine_value *ret_output)
{
	const struct onnx_model model = { .opset = all->opset,
					  .graph = { .initializers = all->weights,
						     .initializer_count = all->weight_count } };
	const struct onnx_node *nodes[NODES_MAX];
	struct engine_team team = { all->threads };
	struct engine_value outputs[4];
	struct native_program *program;
	struct strata_error err = { 0 };
	int steps = 0;

	for (size_t i = 0; i < all->node_count; i++)
		nodes[i] = &all->nodes[i];
	const struct native_source source = { .model = &model,
					      .nodes = nodes,
					      .node_count = all->node_count,
					      .inputs = all->input_names,
					      .input_count = all->input_count,
					      .weights = all->weight_names,
					      .weight_count = all->weight_count,
					      .weights_stay = true,
					      .outputs = all->outputs,
					      .output_count = all->output_count,
					      .apart = apart };
	const struct native_run run = { .inputs = all->inputs,
					.weights = all->weight_values,
					.watch = fused_count,
					.watch_context = &steps };

	CHECK_OK(native_program_new(&source, &all->heap, &team, &program, &err));
	CHECK_OK(native_program_run(program, &run, outputs, &err));
	*ret_output = outputs[0];
	for (size_t i = 1; i < all->output_count; i++)
		engine_value_drop(&outputs[i]);
	native_program_free(program);
	return steps;
}

static inline void fused_fini(struct fused_nodes *all)
{
	for (size_t i = 0; i < all->input_count; i++)
		engine_value_drop(&all->inputs[i]);
	for (size_t i = 0; i < all->weight_count; i++)
		engine_value_drop(&all->weight_values[i]);
	engine_heap_fini(&all->heap);
	CHECK_INT(all->memory.used_bytes, 0);
}

/* Both ways give the same bits; fused it takes `steps`. */
static inline void fused_check(struct fused_nodes *all, int steps)
{
	struct engine_value fused, apart;

	CHECK_INT(fused_run(all, true, &apart), (int)all->node_count);
	CHECK_INT(fused_run(all, false, &fused), steps);
	CHECK_INT(fused.rank, apart.rank);
	CHECK_BYTES(fused.dims, apart.dims, apart.rank * sizeof(*apart.dims));
	CHECK_BYTES(fused.data, apart.data, engine_value_bytes(&apart));
	engine_value_drop(&fused);
	engine_value_drop(&apart);
}

#endif
