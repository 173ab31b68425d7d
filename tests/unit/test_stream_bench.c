#include "weights_sample.h"

#include "bench/stream_bench.h"

#include <errno.h>
#include <stdlib.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_weights weights;
static struct stream_bench stream_bench;

/* One layer: a matrix of each type that can be multiplied with, a bias, and something else. */
static void write_model(const char *path, unsigned char last)
{
	static const char header[] =
		"{\"a.0.w32\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
		"\"a.0.w16\":{\"dtype\":\"F16\",\"shape\":[70,2],\"data_offsets\":[24,304]},"
		"\"a.0.wb\":{\"dtype\":\"BF16\",\"shape\":[2,2,2],\"data_offsets\":[304,320]},"
		"\"a.0.b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[320,324]},"
		"\"a.0.q\":{\"dtype\":\"I8\",\"shape\":[2,2],\"data_offsets\":[324,328]}}";
	FILE *file = fopen(path, "wb");
	uint64_t length = sizeof(header) - 1;

	CHECK(file);
	for (int i = 0; i < 8; i++)
		fputc((int)(length >> 8 * i & 255), file);
	fputs(header, file);
	for (int i = 0; i < 327; i++)
		fputc(i % 60, file); /* no number that is none, in any type */
	fputc(last, file);
	CHECK(fclose(file) == 0);
}

static void open_stream_bench(int64_t rows, int64_t compute_ns)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/m.safetensors", test_temp_dir());
	write_model(path, 1);
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_weights_read(path, NULL, &arena, &weights, &err));
	struct stream_bench_conf conf = {
		.weights = &weights, .rows = rows, .compute_ns = compute_ns, .threads = 1
	};

	if (stream_bench_open(&stream_bench, &conf, &memory, &err))
		test_skip("%s", err.text);
}

static void close_stream_bench(void)
{
	stream_bench_close(&stream_bench);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

/* The layer's bytes elsewhere, one of them changed. */
static uint64_t digest_with(size_t tensor, size_t byte, unsigned char change)
{
	const struct strata_weights_layer *layer = &weights.layers[0];
	size_t size;
	char *bytes = test_read_file(weights.paths[0], &size);
	const void *tensors[8];

	bytes[layer->tensors[tensor].offset + (int64_t)byte] ^= (char)change;
	for (size_t i = 0; i < layer->tensor_count; i++)
		tensors[i] = bytes + layer->tensors[i].offset;
	uint64_t digest = stream_bench_compute(&stream_bench, 0, tensors);

	free(bytes);
	return digest;
}

static void every_byte_counts(void)
{
	const struct strata_weights_layer *layer = &weights.layers[0];
	uint64_t plain;
	int64_t took;

	CHECK_INT(layer->tensor_count, 5);
	CHECK_OK(stream_bench_compute_plain(&stream_bench, 0, &plain, &took, &err));
	CHECK(took >= stream_bench.conf.compute_ns);
	CHECK(plain == digest_with(0, 0, 0)); /* the same wherever the bytes are */
	for (size_t i = 0; i < layer->tensor_count; i++) {
		size_t size = strata_weight_type_bits(layer->tensors[i].type) / 8;

		for (size_t end = size; end <= (size_t)layer->tensors[i].bytes; end += size)
			CHECK(plain !=
			      digest_with(i, end - 1, 0x40)); /* a number becomes much larger */
	}
}

TEST(a_digest_of_multiplying_depends_on_every_weight)
{
	open_stream_bench(3, 0);
	every_byte_counts();
	close_stream_bench();
}

TEST(a_digest_of_waiting_depends_on_every_byte)
{
	open_stream_bench(0, 2000000);
	every_byte_counts();
	close_stream_bench();
}

TEST(what_is_read_the_plain_way_is_counted)
{
	uint64_t digest;

	open_stream_bench(0, 0);
	CHECK_OK(stream_bench_compute_plain(&stream_bench, 0, &digest, NULL, &err));
	CHECK_INT(stream_bench.plain_bytes, 4096);
	CHECK(stream_bench_disk_bytes() >= -1);
	CHECK(remove(weights.paths[0]) == 0);
	CHECK_ERROR(stream_bench_compute_plain(&stream_bench, 0, &digest, NULL, &err), -ENOENT,
		    "m.safetensors");
	close_stream_bench();
}
