/*
 * What every backend promises: the same results for the same model and inputs, within rounding;
 * with a budget the same as without (`native`: to the bit); a model that it cannot run is refused
 * with a reason; a stop ends a call. Held to it are all backends of the list, on the models of the
 * reference data with inputs that are made up. A backend that needs a library which is not here is
 * skipped by name.
 */
#include "kept.h"
#include "unit/onnx_sample.h"

#include "core/half.h"
#include "engine/backend.h"

#include <strata/engine.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PORTS_MAX = 8, RESULT_BYTES_MAX = 1 << 20 };

static const char *const models[] = {
	"bert_cls.onnx",         "clip_mini.onnx",
	"gpt2_decode.onnx",      "gpt2_decode_dynamic.onnx",
	"gpt2_prefill.onnx",     "llama_gqa_decode.onnx",
	"lstm_lm.onnx",          "mobilenet_mini.onnx",
	"resnet_mini.onnx",      "sd_unet_mini.onnx",
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

/* Reals between -1 and 1, whole numbers from 0 to 9, kinds of tokens 0 and 1: small enough for
 * the tables of these models. */
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

/* ---- small models of our own ---- */

static struct message model_bytes, graph, node, inner, tensor;

static const char *written(void)
{
	static char path[4096];

	put_model(&model_bytes, &graph);
	snprintf(path, sizeof(path), "%s/small.onnx", test_temp_dir());
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(model_bytes.bytes, 1, model_bytes.length, file) == model_bytes.length);
	fclose(file);
	return path;
}

/* The bits of a float16 between -2 and 2. */
static uint16_t half_bits(int64_t i)
{
	return (uint16_t)(0x2c00 + i * 7919 % 0x1400 + i % 2 * 0x8000);
}

static void put_halves(const char *name, int64_t rows, int64_t columns)
{
	static uint16_t values[256 * 64];

	for (int64_t i = 0; i < rows * columns; i++)
		values[i] = half_bits(i);
	tensor.length = 0;
	put_int(&tensor, 1, rows);
	put_int(&tensor, 1, columns);
	put_int(&tensor, 2, 10);
	put_text(&tensor, 8, name);
	put_bytes(&tensor, 9, values, (size_t)(rows * columns) * sizeof(values[0]));
	put_message(&graph, 5, &tensor);
}

static void put_cast(const char *input, const char *output, int dtype)
{
	begin_node(&node, "Cast", input, output);
	put_attr_int(&node, "to", dtype);
	put_message(&graph, 1, &node);
}

/* A table of which rows are looked up, two matrices and a cast down and up again, all of
 * float16. */
static const char *half_model(void)
{
	graph.length = 0;
	put_value(&graph, 11, "ids", 7, (const char *const[]){ "2", "5", NULL });
	put_value(&graph, 12, "y", 1, NULL);
	put_halves("table", 256, 64);
	put_halves("w", 64, 64);
	put_halves("v", 64, 64);
	put_node(&graph, "Gather", "table ids", "e");
	put_node(&graph, "MatMul", "e w", "a");
	put_node(&graph, "Tanh", "a", "b");
	put_cast("b", "c", 1);
	put_cast("c", "d", 10);
	put_node(&graph, "MatMul", "d v", "f");
	put_cast("f", "y", 1);
	return written();
}

TEST(weights_of_float16_agree_with_and_without_a_budget)
{
	struct result native, other, some;

	need("onnxruntime");
	const char *path = half_model();

	CHECK_OK(run(path, "native", 0, &native));
	CHECK_OK(run(path, "onnxruntime", 0, &other));
	CHECK(apart(&native, &other) < 1e-4);
	run_with_little(path, "onnxruntime", &some);
	CHECK(some.streaming > 0);
	CHECK(apart(&native, &some) < 1e-4);
	free(native.bytes);
	free(other.bytes);
	free(some.bytes);
}

enum { CHAIN = 12, ROWS = 32, COLUMNS = 34 };

/* x times a weight plus a weight, and so on: nothing that a backend would keep a packed copy of. */
static const char *chain_model(void)
{
	static float values[ROWS * COLUMNS];
	char words[64], name[16];

	graph.length = 0;
	put_value(&graph, 11, "v0", 1, (const char *const[]){ "32", "34", NULL });
	put_value(&graph, 12, "v12", 1, NULL);
	for (int k = 0; k < CHAIN; k++) {
		for (int i = 0; i < ROWS * COLUMNS; i++)
			values[i] = sinf((float)(i + 100 * k));
		tensor.length = 0;
		put_int(&tensor, 1, ROWS);
		put_int(&tensor, 1, COLUMNS);
		put_int(&tensor, 2, 1);
		snprintf(name, sizeof(name), "w%d", k);
		put_text(&tensor, 8, name);
		put_bytes(&tensor, 9, values, sizeof(values));
		put_message(&graph, 5, &tensor);
		snprintf(words, sizeof(words), "v%d w%d", k, k);
		snprintf(name, sizeof(name), "v%d", k + 1);
		put_node(&graph, k % 2 ? "Add" : "Mul", words, name);
	}
	return written();
}

TEST(weights_that_come_and_go_are_read_where_they_are_now)
{
	struct result native, other;

	need("onnxruntime");
	const char *path = chain_model();

	CHECK_OK(run(path, "native", 0, &native));
	run_with_little(path, "onnxruntime", &other);
	CHECK(other.streaming > 2);
	CHECK(apart(&native, &other) < 1e-5);
	free(native.bytes);
	free(other.bytes);
}

/* If the mean of x is above 0, x + w, else x - w: branches that read a value and a weight from
 * around them. */
static const char *branch_model(void)
{
	graph.length = 0;
	put_value(&graph, 11, "x", 1, (const char *const[]){ "64", "16", NULL });
	put_value(&graph, 12, "y", 1, NULL);
	put_halves("h", 64, 16);
	put_cast("h", "w", 1);
	put_node(&graph, "ReduceMean", "x", "m");
	put_node(&graph, "Sub", "m m", "zero");
	put_node(&graph, "Greater", "m zero", "big");
	begin_node(&node, "If", "big", "y");
	for (int branch = 0; branch < 2; branch++) {
		inner.length = 0;
		put_text(&inner, 2, "branch");
		put_node(&inner, branch ? "Sub" : "Add", "x w", "r");
		put_value(&inner, 12, "r", 1, NULL);
		put_attr_graph(&node, branch ? "else_branch" : "then_branch", &inner);
	}
	put_message(&graph, 1, &node);
	return written();
}

static void branches(const char *backend)
{
	struct result got;
	double mean = 0;

	need(backend);
	int rc = run(branch_model(), backend, 0, &got);

	if (rc == -ENOTSUP) {
		free(got.bytes);
		test_skip("%s: %s", backend, err.text);
	}
	CHECK_OK(rc);
	CHECK_INT(got.length, 64 * 16 * sizeof(float));
	for (int64_t i = 0; i < 64 * 16; i++)
		mean += sinf((float)(i * 37));
	for (int64_t i = 0; i < 64 * 16; i++) {
		double w = half_to_float(half_bits(i));

		CHECK_NEAR(((float *)got.bytes)[i], sinf((float)(i * 37)) + (mean > 0 ? w : -w),
			   1e-6);
	}
	free(got.bytes);
}

TEST(native_runs_graphs_inside_nodes)
{
	branches("native");
}

TEST(onnxruntime_runs_graphs_inside_nodes)
{
	branches("onnxruntime");
}

static const char *twice_model(const char *kind)
{
	graph.length = 0;
	put_value(&graph, 11, "x", 1, NULL);
	put_value(&graph, 12, "y", 1, NULL);
	put_node(&graph, kind, "x x", "y");
	return written();
}

static void shapes_may_change(const char *backend)
{
	static const int64_t shapes[4][2] = { { 3, 4 }, { 5, 2 }, { 1, 1 }, { 0, 7 } };
	const struct strata_engine_conf conf = { .devices = "cpu:0", .backend = backend };
	struct strata_engine_model *model;
	struct strata_engine *engine;

	need(backend);
	CHECK_OK(strata_engine_new(&conf, &memory, &engine, &err));
	CHECK_OK(strata_engine_open(engine, twice_model("Add"), NULL, &model, &err));
	for (size_t i = 0; i < 8; i++) { /* first as vectors, then as matrices */
		const int64_t *dims = shapes[i % 4];
		struct strata_array input, output;

		CHECK_OK(
			strata_array_make(engine, STRATA_DTYPE_F32, 1 + i / 4, dims, &input, &err));
		for (int64_t k = 0; k < strata_array_elements(&input); k++)
			((float *)input.data)[k] = (float)k;
		CHECK_OK(strata_engine_run(model, &input, &output, &err));
		CHECK_INT(output.rank, 1 + i / 4);
		CHECK_INT(strata_array_elements(&output), strata_array_elements(&input));
		for (int64_t k = 0; k < strata_array_elements(&output); k++)
			CHECK_NEAR(((float *)output.data)[k], 2.0 * (double)k, 0);
		strata_array_drop(&input);
		strata_array_drop(&output);
	}
	strata_engine_close(model);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(shapes_may_change_between_calls_of_native)
{
	shapes_may_change("native");
}

TEST(shapes_may_change_between_calls_of_onnxruntime)
{
	shapes_may_change("onnxruntime");
}

/* One call of a model with a vector of numbers. */
static int call_once(const char *path, const char *backend, struct strata_memory *from,
		     struct strata_error *why)
{
	const struct strata_engine_conf conf = { .devices = "cpu", .backend = backend };
	struct strata_engine_model *model = NULL;
	struct strata_engine *engine;
	float numbers[4] = { 1, 2, 3, 4 };
	const struct strata_array input = {
		.dtype = STRATA_DTYPE_F32, .rank = 1, .dims = { 4 }, .data = numbers
	};
	struct strata_array output = { 0 };
	int rc = strata_engine_new(&conf, from, &engine, why);

	if (rc)
		return rc;
	rc = strata_engine_open(engine, path, NULL, &model, why);
	if (rc == 0)
		rc = strata_engine_run(model, &input, &output, why);
	if (rc == 0)
		test_result(output.data, strata_array_bytes(&output));
	strata_array_drop(&output);
	strata_engine_close(model);
	strata_engine_free(engine);
	return rc;
}

TEST(what_it_lacks_is_named)
{
	const char *path = twice_model("NoSuchOperator");

	CHECK_ERROR(call_once(path, "native", &memory, &err), -ENOTSUP, "NoSuchOperator");
	need("onnxruntime");
	CHECK_ERROR(call_once(path, "onnxruntime", &memory, &err), -ENOTSUP, "NoSuchOperator");
	CHECK_INT(memory.used_bytes, 0);
}

static int allocate(struct strata_memory *from, void *context, struct strata_error *why)
{
	return call_once(context, "onnxruntime:threads=1", from, why);
}

TEST(onnxruntime_without_memory_leaves_nothing)
{
	need("onnxruntime");
	CHECK(test_every_own_allocation(allocate, (void *)twice_model("Mul")) > 20);
}

/* ---- stopping ---- */

/* Counts to more than anybody waits for. */
static const char *endless_model(void)
{
	graph.length = inner.length = 0;
	put_value(&graph, 11, "x", 1, (const char *const[]){ "4", NULL });
	put_value(&graph, 12, "y", 1, NULL);
	put_integers(&graph, "times", (int64_t[]){ INT64_MAX }, 0);
	begin_node(&node, "Loop", "times - x", "y");
	put_text(&inner, 2, "body");
	put_value(&inner, 11, "i", 7, (const char *const[]){ NULL });
	put_value(&inner, 11, "go", 9, (const char *const[]){ NULL });
	put_value(&inner, 11, "in", 1, (const char *const[]){ "4", NULL });
	put_value(&inner, 12, "still", 9, (const char *const[]){ NULL });
	put_value(&inner, 12, "out", 1, (const char *const[]){ "4", NULL });
	put_node(&inner, "Identity", "go", "still");
	put_node(&inner, "Cos", "in", "out");
	put_attr_graph(&node, "body", &inner);
	put_message(&graph, 1, &node);
	return written();
}

static void *stop_soon(void *engine)
{
	const struct timespec pause = { 0, 50000000 };

	nanosleep(&pause, NULL);
	strata_engine_stop(engine, true);
	return NULL;
}

TEST(a_stop_ends_a_run_of_onnxruntime)
{
	const struct strata_engine_conf conf = { .devices = "cpu", .backend = "onnxruntime" };
	struct strata_engine_model *model;
	struct strata_engine *engine;
	float numbers[4] = { 1, 2, 3, 4 };
	const struct strata_array input = {
		.dtype = STRATA_DTYPE_F32, .rank = 1, .dims = { 4 }, .data = numbers
	};
	struct strata_array output = { 0 };
	pthread_t thread;

	need("onnxruntime");
	CHECK_OK(strata_engine_new(&conf, &memory, &engine, &err));
	CHECK_OK(strata_engine_open(engine, endless_model(), NULL, &model, &err));
	for (int i = 0; i < 2; i++) { /* the second begins with a flag that was taken back */
		CHECK_INT(pthread_create(&thread, NULL, stop_soon, engine), 0);
		CHECK_ERROR(strata_engine_run(model, &input, &output, &err), -ECANCELED, "stopped");
		pthread_join(thread, NULL);
		CHECK_ERROR(strata_engine_run(model, &input, &output, &err), -ECANCELED, "stopped");
		strata_engine_stop(engine, false);
	}
	strata_engine_close(model);
	strata_engine_free(engine);
	CHECK_INT(memory.used_bytes, 0);
}
