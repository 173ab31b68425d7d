/* Models of tests/data/onnx, run by an engine: inputs that are the same each time, results as one number. */
#ifndef ENGINE_KEPT_H
#define ENGINE_KEPT_H

#include "kept.h"

#include <strata/engine.h>

#include <string.h>

enum { KEPT_PORTS_MAX = 32 };

struct kept_engine {
	struct strata_memory memory;
	struct strata_error err;
	struct strata_engine *engine;
	struct strata_engine_model *model;
	struct strata_array inputs[KEPT_PORTS_MAX], outputs[KEPT_PORTS_MAX];
	size_t input_count, output_count;
};

static inline void kept_engine_new(struct kept_engine *kept, const struct strata_engine_conf *conf)
{
	struct strata_error err = { 0 };

	*kept = (struct kept_engine){ 0 };
	CHECK_OK(strata_engine_new(conf, &kept->memory, &kept->engine, &err));
}

/* Small whole numbers and small reals, by position. */
static inline void kept_fill(struct strata_array *array, size_t seed)
{
	int64_t count = strata_array_elements(array);

	memset(array->data, 0, strata_array_bytes(array));
	for (int64_t i = 0; i < count; i++)
		if (array->dtype == STRATA_DTYPE_F32)
			((float *)array->data)[i] =
				(float)((i * 7919 + (int64_t)seed * 104729) % 2001 - 1000) / 1000;
		else if (array->dtype == STRATA_DTYPE_I64)
			((int64_t *)array->data)[i] = i % 2;
}

static inline void kept_engine_open(struct kept_engine *kept, const char *path, int64_t budget_bytes)
{
	const struct strata_engine_model_conf conf = { .budget_bytes = budget_bytes };
	struct strata_error err = { 0 };

	CHECK_OK(strata_engine_open(kept->engine, path, &conf, &kept->model, &err));
	kept->input_count = strata_engine_input_count(kept->model);
	kept->output_count = strata_engine_output_count(kept->model);
	CHECK(kept->input_count <= KEPT_PORTS_MAX && kept->output_count <= KEPT_PORTS_MAX);
	for (size_t i = 0; i < kept->input_count; i++) {
		const struct strata_engine_port *port = strata_engine_input_at(kept->model, i);
		int64_t dims[STRATA_TENSOR_RANK_MAX];

		for (uint32_t k = 0; k < port->rank; k++)
			dims[k] = port->dims[k] < 0 ? 2 : port->dims[k];
		CHECK_OK(strata_array_make(kept->engine, port->dtype, port->rank, dims,
					   &kept->inputs[i], &err));
		kept_fill(&kept->inputs[i], i);
	}
}

static inline uint64_t kept_digest(const struct strata_array *arrays, size_t count)
{
	uint64_t digest = 14695981039346656037u;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < strata_array_bytes(&arrays[i]); k++)
			digest = (digest ^ ((const uint8_t *)arrays[i].data)[k]) * 1099511628211u;
	return digest;
}

/* One call; the outputs as a number. */
static inline uint64_t kept_engine_run(struct kept_engine *kept)
{
	struct strata_error err = { 0 };

	CHECK_OK(strata_engine_run(kept->model, kept->inputs, kept->outputs, &err));
	uint64_t digest = kept_digest(kept->outputs, kept->output_count);

	for (size_t i = 0; i < kept->output_count; i++)
		strata_array_drop(&kept->outputs[i]);
	return digest;
}

static inline void kept_engine_close(struct kept_engine *kept)
{
	strata_engine_close(kept->model);
	for (size_t i = 0; i < kept->input_count; i++)
		strata_array_drop(&kept->inputs[i]);
	kept->model = NULL;
}

/* Nothing may be left. */
static inline void kept_engine_free(struct kept_engine *kept)
{
	kept_engine_close(kept);
	strata_engine_free(kept->engine);
	CHECK_INT(kept->memory.used_bytes, 0);
}

#endif
