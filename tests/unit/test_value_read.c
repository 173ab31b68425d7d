#include "engine_sample.h"

#include "onnx_sample.h"

#include "formats/onnx/onnx_graph.h"

#include <stdio.h>

/* A tensor of the format, read from a message of the test. */
static struct onnx_tensor tensor_of(struct strata_arena *arena, const struct message *message)
{
	struct onnx_reader reader = { .arena = arena };
	struct onnx_field field = { .nested = true, .bytes = { message->bytes, message->length } };
	struct onnx_tensor tensor;
	struct strata_error err = { 0 };

	CHECK_OK(onnx_read_tensor(&reader, &field, &tensor, &err));
	return tensor;
}

TEST(raw_bytes_and_single_numbers_are_the_same_tensor)
{
	static struct message raw, single;
	struct engine_sample sample;
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct engine_value a, b;
	const int64_t numbers[3] = { 5, -7, INT64_MAX };

	engine_sample_init(&sample, 1);
	strata_arena_init(&arena, &sample.memory, 0);
	raw.length = single.length = 0;
	put_int(&raw, 1, 3);
	put_int(&raw, 2, ONNX_INT64);
	put_bytes(&raw, 9, numbers, sizeof(numbers));
	put_int(&single, 1, 3);
	put_int(&single, 2, ONNX_INT64);
	for (int i = 0; i < 3; i++)
		put_int(&single, 7, numbers[i]);
	struct onnx_tensor one = tensor_of(&arena, &raw), other = tensor_of(&arena, &single);

	CHECK_OK(engine_value_of_tensor(&sample.heap, &one, "", true, &a, &err));
	CHECK_OK(engine_value_of_tensor(&sample.heap, &other, "", true, &b, &err));
	CHECK_BYTES(a.data, numbers, sizeof(numbers));
	CHECK_BYTES(b.data, numbers, sizeof(numbers));
	engine_value_drop(&a);
	engine_value_drop(&b);
	strata_arena_fini(&arena);
	engine_sample_fini(&sample);
}

TEST(halves_are_widened_when_asked)
{
	static struct message message;
	struct engine_sample sample;
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct engine_value value;
	const uint16_t halves[2] = { 0x3c00, 0xc000 }; /* 1, −2 */

	engine_sample_init(&sample, 1);
	strata_arena_init(&arena, &sample.memory, 0);
	message.length = 0;
	put_int(&message, 1, 2);
	put_int(&message, 2, ONNX_FLOAT16);
	put_bytes(&message, 9, halves, sizeof(halves));
	struct onnx_tensor tensor = tensor_of(&arena, &message);

	CHECK_OK(engine_value_of_tensor(&sample.heap, &tensor, "", true, &value, &err));
	CHECK_INT(value.dtype, ONNX_FLOAT);
	CHECK_NEAR(((float *)value.data)[1], -2, 0);
	engine_value_drop(&value);
	CHECK_OK(engine_value_of_tensor(&sample.heap, &tensor, "", false, &value, &err));
	CHECK_INT(value.dtype, ONNX_FLOAT16);
	engine_value_drop(&value);
	strata_arena_fini(&arena);
	engine_sample_fini(&sample);
}

/* A tensor whose contents are in weights.bin, `bytes` of them. */
static void put_external(struct message *message, int64_t count)
{
	static struct message entry;

	message->length = 0;
	put_int(message, 1, count);
	put_int(message, 2, ONNX_FLOAT);
	put_text(message, 8, "w");
	entry.length = 0;
	put_text(&entry, 1, "location");
	put_text(&entry, 2, "weights.bin");
	put_message(message, 13, &entry);
	put_int(message, 14, 1);
}

TEST(contents_of_another_file_are_read_and_must_be_there)
{
	static struct message message;
	struct engine_sample sample;
	struct strata_arena arena;
	struct strata_error err = { 0 };
	struct engine_value value;
	const char *directory = test_temp_dir();
	const float numbers[2] = { 1.5f, -2.5f };
	char path[4096];

	engine_sample_init(&sample, 1);
	strata_arena_init(&arena, &sample.memory, 0);
	snprintf(path, sizeof(path), "%s/weights.bin", directory);
	put_external(&message, 2);
	struct onnx_tensor tensor = tensor_of(&arena, &message);

	CHECK_ERROR(engine_value_of_tensor(&sample.heap, &tensor, directory, true, &value, &err),
		    -ENOENT, "weights.bin");
	FILE *file = fopen(path, "w");

	CHECK(file && fwrite(numbers, sizeof(numbers), 1, file) == 1);
	fclose(file);
	CHECK_OK(engine_value_of_tensor(&sample.heap, &tensor, directory, true, &value, &err));
	CHECK_BYTES(value.data, numbers, sizeof(numbers));
	engine_value_drop(&value);
	put_external(&message, 3);
	tensor = tensor_of(&arena, &message);
	CHECK_ERROR(engine_value_of_tensor(&sample.heap, &tensor, directory, true, &value, &err),
		    -ENODATA, "4 bytes before");
	strata_arena_fini(&arena);
	engine_sample_fini(&sample);
}
