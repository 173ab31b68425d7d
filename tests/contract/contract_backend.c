/*
 * What every backend promises: the same results for the same model and inputs, within rounding; with a budget the same as without (`native`: to the bit); a model that
 * it cannot run is refused with a reason; a stop ends a call. Held to it are all backends of the list, on the models of the reference data with inputs that are made
 * up. A backend that needs a library which is not here is skipped by name.
 */
#include "kept.h"

#include "engine/backend.h"

#include <strata/engine.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS_MAX = 8, RESULT_BYTES_MAX = 1 << 20 };

static const char *const models[] = {
	"bert_cls.onnx",       "clip_mini.onnx",
	"gpt2_decode.onnx",    "gpt2_decode_dynamic.onnx",
	"gpt2_prefill.onnx",   "llama_gqa_decode.onnx",
	"lstm_lm.onnx",	       "mobilenet_mini.onnx",
	"resnet_mini.onnx",    "sd_unet_mini.onnx",
	"vae_decoder_mini.onnx",
};
enum { MODELS = sizeof(models) / sizeof(models[0]) };

static struct strata_memory memory;
static struct strata_error err;

/* All outputs of a call, one behind the other. */
struct result {
	char *bytes;
	size_t length;
	size_t streaming; /* subgraphs whose weights came and went */
};

static void need(const char *backend)
{
	struct strata_arena arena;
	struct strata_spec spec;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_spec_build(&strata_backend_kind, backend, &arena, &spec, &err));
	const struct engine_backend_class *cls = (const struct engine_backend_class *)spec.cls;
	int rc = cls->probe ? cls->probe(spec.conf, &err) : 0;

	strata_arena_fini(&arena);
	if (rc == -ENOENT)
		test_skip("%s: %s", backend, err.text);
	CHECK_OK(rc);
}

/* Reals between -1 and 1, whole numbers from 0 to 9, kinds of tokens 0 and 1: small enough for the tables of these models. */
static void make_up(struct strata_engine *engine, const struct strata_engine_port *port,
		    size_t salt, struct strata_array *ret_array)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], past = strstr(port->name, "type") ? 2 : 10;

	for (uint32_t i = 0; i < port->rank; i++)
		dims[i] = port->dims[i] >= 0 ? port->dims[i]
					     : 2 + (int64_t)strlen(port->dim_names[i]) % 4;
	CHECK_OK(strata_array_make(engine, port->dtype, port->rank, dims, ret_array, &err));
	for (int64_t i = 0; i < strata_array_elements(ret_array); i++)
		if (port->dtype == STRATA_DTYPE_I64)
			((int64_t *)ret_array->data)[i] = (i * 7 + (int64_t)salt) % past;
		else
			((float *)ret_array->data)[i] = sinf((float)(i * 37 + (int64_t)salt));
}

static void keep(struct result *result, const struct strata_array *array)
{
	size_t bytes = strata_array_bytes(array);

	CHECK_INT(array->dtype, STRATA_DTYPE_F32);
	CHECK(result->length + bytes <= RESULT_BYTES_MAX);
	memcpy(result->bytes + result->length, array->data, bytes);
	result->length += bytes;
}

/* Two calls, whose results must be equal; the second's is kept. */
static int call_twice(struct strata_engine *engine, struct strata_engine_model *model,
		      struct result *result)
{
	struct strata_array inputs[PORTS_MAX] = { 0 }, outputs[PORTS_MAX] = { 0 };
	struct result first = { .bytes = malloc(RESULT_BYTES_MAX) };
	size_t input_count = strata_engine_input_count(model);
	size_t output_count = strata_engine_output_count(model);
	int rc = 0;

	CHECK(input_count <= PORTS_MAX && output_count <= PORTS_MAX);
	for (size_t i = 0; i < input_count; i++)
		make_up(engine, strata_engine_input_at(model, i), i, &inputs[i]);
	for (int call = 0; rc == 0 && call < 2; call++) {
		rc = strata_engine_run(model, inputs, outputs, &err);
		for (size_t i = 0; rc == 0 && i < output_count; i++) {
			keep(call ? result : &first, &outputs[i]);
			strata_array_drop(&outputs[i]);
		}
	}
	if (rc == 0)
		CHECK_BYTES(result->bytes, first.bytes, first.length);
	for (size_t i = 0; i < input_count; i++)
		strata_array_drop(&inputs[i]);
	free(first.bytes);
	return rc;
}

static int run(const char *path, const char *backend, int64_t budget_bytes, struct result *result)
{
	const struct strata_engine_conf conf = { .devices = "cpu:0", .backend = backend };
	const struct strata_engine_model_conf how = { .budget_bytes = budget_bytes };
	struct strata_engine_subgraph subgraph;
	struct strata_engine_model *model = NULL;
	struct strata_engine *engine;

	*result = (struct result){ .bytes = malloc(RESULT_BYTES_MAX) };
	CHECK_OK(strata_engine_new(&conf, &memory, &engine, &err));
	int rc = strata_engine_open(engine, path, &how, &model, &err);

	if (rc == 0)
		rc = call_twice(engine, model, result);
	for (size_t i = 0; rc == 0 && strata_engine_subgraph_at(model, i, &subgraph); i++)
		result->streaming += subgraph.streams;
	strata_engine_close(model);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
	return rc;
}

/* The largest difference over the largest number. */
static double apart(const struct result *a, const struct result *b)
{
	const float *x = (const float *)a->bytes, *y = (const float *)b->bytes;
	double most = 0, largest = 0;

	CHECK_INT(a->length, b->length);
	for (size_t i = 0; i < a->length / sizeof(float); i++) {
		CHECK(isfinite(x[i]) && isfinite(y[i]));
		most = fmax(most, fabs((double)x[i] - y[i]));
		largest = fmax(largest, fabs((double)y[i]));
	}
	CHECK(largest > 0);
	return most / largest;
}

static int64_t weight_bytes(const char *path)
{
	struct strata_engine_model *model;
	struct strata_engine *engine;

	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_engine_open(engine, path, NULL, &model, &err));
	int64_t bytes = strata_engine_weight_bytes(model);

	strata_engine_close(model);
	strata_engine_free(engine);
	return bytes;
}

/* With a third of what the weights take, or as many thirds as this small model needs. */
static void run_with_little(const char *path, const char *backend, struct result *result)
{
	int64_t bytes = weight_bytes(path), budget_bytes = bytes / 3;

	int rc = run(path, backend, budget_bytes, result);

	while (rc == -E2BIG && budget_bytes < bytes) {
		free(result->bytes);
		budget_bytes += bytes / 3 + 1;
		rc = run(path, backend, budget_bytes, result);
	}
	CHECK_OK(rc);
}

TEST(backends_agree)
{
	struct result native, other;
	size_t compared = 0;

	need("onnxruntime");
	for (size_t i = 0; i < MODELS; i++) {
		const char *path = kept_file("onnx", models[i]);

		CHECK_OK(run(path, "onnxruntime", 0, &other));
		int rc = run(path, "native", 0, &native);

		if (rc)
			printf("# %s: %s\n", models[i], err.text);
		CHECK(rc == 0 || rc == -ENOTSUP);
		if (rc == 0) {
			double far = apart(&native, &other);

			if (far > 1e-4)
				test_fail(__FILE__, __LINE__, "%s: %g apart", models[i], far);
			compared++;
		}
		free(native.bytes);
		free(other.bytes);
	}
	CHECK(compared >= MODELS - 1); /* `native` may lack LSTM */
}

static void with_a_budget(const char *backend, double most)
{
	struct result all, some = { 0 };
	size_t streamed = 0;

	need(backend);
	for (size_t i = 0; i < MODELS; i++) {
		const char *path = kept_file("onnx", models[i]);
		int rc = run(path, backend, 0, &all);

		CHECK(rc == 0 || rc == -ENOTSUP);
		if (rc == 0) {
			run_with_little(path, backend, &some);
			streamed += some.streaming > 1;
			double far = apart(&all, &some);

			if (far > most)
				test_fail(__FILE__, __LINE__, "%s: %g apart", models[i], far);
			free(some.bytes);
		}
		free(all.bytes);
	}
	CHECK(streamed >= MODELS / 2);
}

TEST(native_is_the_same_to_the_bit_with_a_budget)
{
	with_a_budget("native", 0);
}

TEST(onnxruntime_is_the_same_within_rounding_with_a_budget)
{
	with_a_budget("onnxruntime", 1e-4);
}

TEST(onnxruntime_is_the_same_to_the_bit_without_packing_and_fusing)
{
	with_a_budget("onnxruntime:prepack=no:optimization=none", 0);
}

