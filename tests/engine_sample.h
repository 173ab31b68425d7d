/* Operators of the native backend without a model around them: a node is made up, its operator run on tensors of the test. */
#ifndef ENGINE_SAMPLE_H
#define ENGINE_SAMPLE_H

#include "test.h"

#include "engine/native/native.h"
#include "engine/team.h"

#include <errno.h>
#include <string.h>

struct engine_sample {
	struct strata_memory memory;
	struct engine_heap heap;
	struct engine_team team;
};

static inline void engine_sample_init(struct engine_sample *sample, int thread_count)
{
	*sample = (struct engine_sample){ .team = { thread_count } };
	engine_heap_init(&sample->heap, &sample->memory);
}

/* Everything must have been given back. */
static inline void engine_sample_fini(struct engine_sample *sample)
{
	CHECK_INT(sample->heap.live_bytes, 0);
	engine_heap_fini(&sample->heap);
	CHECK_INT(sample->memory.used_bytes, 0);
}

struct sample_node {
	const char *domain, *kind;
	struct onnx_attribute attributes[8];
	size_t attribute_count, outputs;
	int64_t opset;
};

static inline void sample_int(struct sample_node *node, const char *name, int64_t value)
{
	node->attributes[node->attribute_count++] =
		(struct onnx_attribute){ .name = name, .type = ONNX_ATTR_INT, .integer = value };
}

static inline void sample_real(struct sample_node *node, const char *name, double value)
{
	node->attributes[node->attribute_count++] =
		(struct onnx_attribute){ .name = name, .type = ONNX_ATTR_FLOAT, .real = value };
}

static inline void sample_text(struct sample_node *node, const char *name, const char *value)
{
	node->attributes[node->attribute_count++] =
		(struct onnx_attribute){ .name = name, .type = ONNX_ATTR_STRING, .text = value };
}

static inline void sample_ints(struct sample_node *node, const char *name, const int64_t *values,
			       size_t count)
{
	node->attributes[node->attribute_count++] = (struct onnx_attribute){
		.name = name, .type = ONNX_ATTR_INTS, .integers = values, .count = count
	};
}

/* Runs a node's operator; inputs may be NULL where they are left out. */
static inline int sample_run(struct engine_sample *sample, const struct sample_node *node,
			     const struct engine_value *const *inputs, size_t input_count,
			     struct engine_value *ret_outputs, struct strata_error *err)
{
	static const char *names[] = { "y0", "y1", "y2", "y3" };
	const struct native_op *op = native_op_find(node->domain ? node->domain : "", node->kind);
	const struct onnx_node made = { .name = "sample",
					.kind = node->kind,
					.domain = node->domain ? node->domain : "",
					.outputs = names,
					.output_count = node->outputs ? node->outputs : 1,
					.input_count = input_count,
					.attributes = node->attributes,
					.attribute_count = node->attribute_count };
	const bool nothing[8] = { 0 };
	struct native_state *state = NULL;
	struct native_call call = { .node = &made,
				    .inputs = inputs,
				    .input_count = input_count,
				    .outputs = ret_outputs,
				    .output_count = made.output_count,
				    .opset = node->opset ? node->opset : 17,
				    .heap = &sample->heap,
				    .team = &sample->team,
				    .directory = "",
				    .last_use = nothing,
				    .constant = nothing,
				    .state = &state };

	CHECK(op);
	CHECK(input_count <= 8);
	memset(ret_outputs, 0, made.output_count * sizeof(*ret_outputs));
	int rc = op->run(&call, err);

	if (state)
		state->free(state);
	for (size_t i = 0; rc && i < made.output_count; i++)
		engine_value_drop(&ret_outputs[i]);
	return rc;
}

/* A tensor of float32 with numbers that repeat late: no two rows are alike. */
static inline struct engine_value sample_floats(struct engine_sample *sample, size_t rank,
						const int64_t *dims, uint32_t seed)
{
	struct engine_value value;
	struct strata_error err = { 0 };

	CHECK_OK(engine_value_make(&sample->heap, ONNX_FLOAT, rank, dims, &value, &err));
	int64_t count = engine_value_elements(&value);

	for (int64_t i = 0; i < count; i++) {
		seed = seed * 1664525u + 1013904223u;
		((float *)value.data)[i] = (float)(int32_t)seed * 0x1p-31f;
	}
	return value;
}

static inline struct engine_value sample_whole(struct engine_sample *sample, size_t count,
					       const int64_t *numbers)
{
	struct engine_value value;
	struct strata_error err = { 0 };

	CHECK_OK(engine_value_make(&sample->heap, ONNX_INT64, 1, (int64_t[]){ (int64_t)count },
				   &value, &err));
	memcpy(value.data, numbers, count * sizeof(*numbers));
	return value;
}

/* Member `index` of the first dimension, borrowed. */
static inline struct engine_value sample_member(const struct engine_value *value, int64_t index)
{
	struct engine_value member = *value;
	size_t bytes = engine_value_bytes(value) / (size_t)value->dims[0];

	member.buffer = NULL;
	member.dims[0] = 1;
	member.data = (char *)value->data + (size_t)index * bytes;
	return member;
}

#endif
