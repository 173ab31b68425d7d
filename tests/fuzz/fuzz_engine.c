/*
 * A model, run: inputs are made up from what it declares, with a limit on memory and on steps. Whatever it asks for, it gets results or a sentence, and all memory
 * comes back.
 */
#include "engine_whole.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 1 << 20, STEPS = 500, ELEMENTS = 1024, INPUTS = 16, DEPTH = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool stop(void *context)
{
	int *left = context;

	return --*left < 0;
}

/* ---- inputs ---- */

/* Small numbers, some below 0 and some not whole, so that indices, shapes and conditions get through. */
static int fill(struct engine_heap *heap, struct engine_value *value, struct strata_error *err)
{
	int64_t count = engine_value_elements(value);
	struct engine_value wide, cast;
	int rc = engine_value_make(heap, ONNX_DOUBLE, value->rank, value->dims, &wide, err);

	if (rc)
		return rc;
	for (int64_t i = 0; i < count; i++)
		((double *)wide.data)[i] = (double)(i * 7 % 5) - (i % 3 == 2 ? 1.5 : 0);
	rc = engine_value_cast(heap, &wide, value->dtype, &cast, err);
	if (rc == 0) {
		engine_value_drop(value);
		*value = cast;
	}
	engine_value_drop(&wide);
	return rc;
}

static int make_tensor(struct engine_heap *heap, const struct onnx_type *type,
		       struct engine_value *ret, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX], elements = 1;
	int dtype = type->dtype == ONNX_FLOAT16 || type->dtype == ONNX_BFLOAT16 ? ONNX_FLOAT
										: type->dtype;

	for (size_t i = 0; i < type->rank; i++) {
		dims[i] = type->dims[i] < 0 ? 2 : type->dims[i];
		if (dims[i] > ELEMENTS || (elements *= dims[i] ? dims[i] : 1) > ELEMENTS)
			return -E2BIG;
	}
	int rc = engine_value_make(heap, dtype, type->rank, dims, ret, err);

	if (rc)
		return rc;
	rc = fill(heap, ret, err);
	if (rc)
		engine_value_drop(ret);
	return rc;
}

static int make_input(struct engine_heap *heap, const struct onnx_type *type, int depth,
		      struct engine_value *ret, struct strata_error *err)
{
	struct engine_value item = { 0 };

	if (type->kind != ONNX_SEQUENCE && type->kind != ONNX_OPTIONAL)
		return make_tensor(heap, type, ret, err);
	if (!type->item || depth == DEPTH)
		return -E2BIG;
	int rc = make_input(heap, type->item, depth + 1, &item, err);

	if (rc)
		return rc;
	const struct engine_value items[2] = { item, item };

	rc = engine_value_list(heap, type->kind, item.dtype, items,
			       type->kind == ONNX_SEQUENCE ? 2 : 1, ret, err);
	engine_value_drop(&item);
	return rc;
}

/* ---- running ---- */

static void check_value(const struct engine_value *value)
{
	assert(value->kind == ONNX_TENSOR || value->kind == ONNX_SEQUENCE ||
	       value->kind == ONNX_OPTIONAL);
	assert(value->rank <= STRATA_TENSOR_RANK_MAX);
	for (size_t i = 0; i < value->item_count; i++)
		check_value(&value->items[i]);
	if (value->kind != ONNX_TENSOR)
		return;
	assert(engine_value_elements(value) >= 0 && value->data);
	for (int64_t i = 0; value->dtype == ONNX_STRING && i < engine_value_elements(value); i++)
		assert(strlen(((char *const *)value->data)[i]) < MEMORY);
}

static void run(struct engine_whole *whole, struct engine_value *inputs)
{
	struct engine_value outputs[INPUTS] = { 0 };
	struct strata_error err = { 0 };

	for (int again = 0; again < 2; again++) { /* the second run has what the first one kept */
		int left = STEPS;
		const struct native_run how = { .inputs = inputs,
						.weights = whole->weights,
						.stop = stop,
						.stop_context = &left };
		int rc = native_program_run(whole->program, &how, outputs, &err);

		assert(rc <= 0 && (rc == 0 || err.text[0]));
		for (size_t i = 0; rc == 0 && i < whole->model->onnx.graph.output_count; i++) {
			check_value(&outputs[i]);
			engine_value_drop(&outputs[i]);
		}
	}
}

static void run_made_up(struct engine_whole *whole)
{
	struct engine_value inputs[INPUTS] = { 0 };
	struct strata_error err = { 0 };
	size_t made = 0;

	if (whole->model->input_count > INPUTS || whole->model->onnx.graph.output_count > INPUTS)
		return;
	while (made < whole->model->input_count &&
	       make_input(&whole->heap, &whole->model->input_infos[made]->type, 0, &inputs[made],
			  &err) == 0)
		made++;
	if (made == whole->model->input_count)
		run(whole, inputs);
	for (size_t i = 0; i < made; i++)
		engine_value_drop(&inputs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[32];
	struct strata_memory memory = { .limit_bytes = MEMORY };
	struct strata_error err = { 0 };
	struct engine_whole whole;

	if (fd < 0) {
		fd = memfd_create("model", MFD_CLOEXEC);
		assert(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, (off_t)size) || (size && pwrite(fd, data, size, 0) != (ssize_t)size))
		return 0;
	int rc = engine_whole_open(&whole, path, 1, &memory, &err);

	assert(rc <= 0 && (rc == 0 || err.text[0]));
	if (rc == 0) {
		run_made_up(&whole);
		engine_whole_close(&whole);
	}
	assert(memory.used_bytes == 0);
	return 0;
}
