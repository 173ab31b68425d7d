/* Computing over layers, for measurements and comparisons: see bench.h. */
#include "bench/stream_bench.h"

#include "core/half.h"
#include "stream/channel.h"
#include "stream/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	STRIP_ROWS = 64,
	BLOCK_ALIGN = 2 << 20,
	/* Operands at the same place of a page collide in the cache: each starts a few lines further. */
	STAGGER = 5 * 16,
};

/* ---- matrices ---- */

struct matrix {
	int rows, columns; /* 0: not one to multiply with */
};

static struct matrix matrix_of(const struct strata_weight *tensor)
{
	int64_t columns = 1;
	bool known = tensor->type == STRATA_WEIGHT_F32 || tensor->type == STRATA_WEIGHT_F16 ||
		     tensor->type == STRATA_WEIGHT_BF16;

	if (!known || tensor->rank < 2 || tensor->bytes == 0 || tensor->shape[0] > INT_MAX)
		return (struct matrix){ 0 };
	columns = tensor->bytes * 8 / strata_weight_type_bits(tensor->type) / tensor->shape[0];
	if (columns > INT_MAX)
		return (struct matrix){ 0 };
	return (struct matrix){ (int)tensor->shape[0], (int)columns };
}

static void widen(const struct strata_weight *tensor, const void *from, size_t first, size_t count,
		  float *to)
{
	bool half = tensor->type == STRATA_WEIGHT_F16;

	for (size_t i = 0; i < count; i++) {
		uint16_t bits;

		memcpy(&bits, (const char *)from + 2 * (first + i), sizeof(bits));
		to[i] = half ? half_to_float(bits) : bfloat_to_float(bits);
	}
}

/* ---- digests ---- */

static uint64_t fold(uint64_t digest, const void *bytes, size_t count)
{
	const char *at = bytes;
	uint64_t lanes[4] = { digest, ~digest, digest << 1, digest >> 1 }, word;

	for (; count >= 32; at += 32, count -= 32)
		for (int i = 0; i < 4; i++) {
			memcpy(&word, at + 8 * i, 8);
			lanes[i] = (lanes[i] ^ word) * UINT64_C(0x9E3779B97F4A7C15);
			lanes[i] ^= lanes[i] >> 29;
		}
	for (; count; at++, count--)
		lanes[0] = (lanes[0] ^ (unsigned char)*at) * UINT64_C(0x100000001B3);
	for (int i = 1; i < 4; i++)
		lanes[0] = (lanes[0] ^ lanes[i]) * UINT64_C(0xBF58476D1CE4E5B9);
	return lanes[0] ^ lanes[0] >> 31;
}

/* ---- a visit ---- */

static uint64_t multiply(const struct stream_bench *stream_bench,
			 const struct strata_weight *tensor, struct matrix matrix,
			 const void *weights, uint64_t digest)
{
	int rows = (int)stream_bench->conf.rows;

	if (tensor->type == STRATA_WEIGHT_F32) {
		blas_linear(&stream_bench->blas, rows, matrix.rows, matrix.columns,
			    stream_bench->input, weights, stream_bench->output);
		return fold(digest, stream_bench->output,
			    (size_t)rows * (size_t)matrix.rows * sizeof(float));
	}
	for (int first = 0; first < matrix.rows; first += STRIP_ROWS) {
		int some = matrix.rows - first < STRIP_ROWS ? matrix.rows - first : STRIP_ROWS;

		widen(tensor, weights, (size_t)first * (size_t)matrix.columns,
		      (size_t)some * (size_t)matrix.columns, stream_bench->strip);
		blas_linear(&stream_bench->blas, rows, some, matrix.columns, stream_bench->input,
			    stream_bench->strip, stream_bench->output);
		digest = fold(digest, stream_bench->output,
			      (size_t)rows * (size_t)some * sizeof(float));
	}
	return digest;
}

static void sleep_until(int64_t time_ns)
{
	struct timespec until = { time_ns / 1000000000, time_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

uint64_t stream_bench_compute(const struct stream_bench *stream_bench, uint32_t index,
			      const void *const *tensors)
{
	const struct strata_weights_layer *layer = &stream_bench->conf.weights->layers[index];
	int64_t begin = channel_now_ns(), bytes = 0;
	uint64_t digest = index;

	for (size_t i = 0; i < layer->tensor_count; i++) {
		const struct strata_weight *tensor = &layer->tensors[i];
		struct matrix matrix = stream_bench->conf.rows ? matrix_of(tensor)
							       : (struct matrix){ 0 };

		digest = matrix.rows ? multiply(stream_bench, tensor, matrix, tensors[i], digest)
				     : fold(digest, tensors[i], (size_t)tensor->bytes);
		bytes += tensor->bytes;
	}
	if (!stream_bench->conf.rows)
		sleep_until(begin + stream_bench->conf.compute_ns +
			    (int64_t)((double)bytes * stream_bench->conf.ns_per_byte));
	return digest;
}

/* ---- the plain way ---- */

/* Around the system's cache where that goes, so that what comes next is cold. */
static int read_segment(struct stream_bench *stream_bench, const struct segment *segment, char *to,
			struct strata_error *err)
{
	const char *path = stream_bench->conf.weights->paths[segment->file];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
	int rc = 0;

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return strata_fail(err, -errno, "%.200s: %s", path, strerror(errno));
	for (int64_t done = 0; rc == 0 && done < segment->bytes;) {
		ssize_t got = pread(fd, to + done, (size_t)(segment->bytes - done),
				    segment->offset + done);

		if (got < 0 && errno != EINTR)
			rc = strata_fail(err, -errno, "%.200s: %s", path, strerror(errno));
		if (got == 0)
			break; /* the last block of the file */
		done += got > 0 ? got : 0;
	}
	stream_bench->plain_bytes += segment->bytes;
	close(fd);
	return rc;
}

static int read_plain(struct stream_bench *stream_bench, const struct strata_weights_layer *layer,
		      const void **ret_tensors, struct strata_error *err)
{
	struct strata_arena arena;
	struct layout layout;

	strata_arena_init(&arena, stream_bench->memory, 0);
	int rc = layout_make(layer->extents, layer->tensor_count, &arena, &layout, err);

	for (size_t i = 0; rc == 0 && i < layout.segment_count; i++)
		rc = read_segment(stream_bench, &layout.segments[i],
				  stream_bench->block + layout.segments[i].at, err);
	for (size_t i = 0; rc == 0 && i < layer->tensor_count; i++)
		ret_tensors[i] = stream_bench->block + layout.at[i];
	strata_arena_fini(&arena);
	return rc;
}

int stream_bench_compute_plain(struct stream_bench *stream_bench, uint32_t index,
			       uint64_t *ret_digest, int64_t *ret_ns, struct strata_error *err)
{
	const struct strata_weights_layer *layer = &stream_bench->conf.weights->layers[index];
	const void **tensors =
		strata_memory_get(stream_bench->memory, layer->tensor_count * sizeof(*tensors));

	if (!tensors)
		return strata_fail_memory(err);
	int rc = read_plain(stream_bench, layer, tensors, err);

	if (rc == 0) {
		int64_t begin = channel_now_ns();

		*ret_digest = stream_bench_compute(stream_bench, index, tensors);
		if (ret_ns)
			*ret_ns = channel_now_ns() - begin;
	}
	strata_memory_put(stream_bench->memory, tensors, layer->tensor_count * sizeof(*tensors));
	return rc;
}

/* ---- open and close ---- */

static float *take(struct stream_bench *stream_bench, size_t count, struct strata_error *err)
{
	float *block = count ? strata_memory_get(stream_bench->memory, count * sizeof(*block))
			     : NULL;

	if (count && !block)
		strata_fail_memory(err);
	return block;
}

/* How large operands get, over all matrices. */
static void measure(struct stream_bench *stream_bench)
{
	const struct strata_weights *weights = stream_bench->conf.weights;

	for (size_t l = 0; l < weights->layer_count; l++) {
		const struct strata_weights_layer *layer = &weights->layers[l];

		if ((size_t)layer->bytes > stream_bench->block_bytes)
			stream_bench->block_bytes = (size_t)layer->bytes;
		for (size_t i = 0; stream_bench->conf.rows && i < layer->tensor_count; i++) {
			struct matrix matrix = matrix_of(&layer->tensors[i]);
			size_t in = (size_t)stream_bench->conf.rows * (size_t)matrix.columns;
			size_t out = (size_t)stream_bench->conf.rows * (size_t)matrix.rows;
			size_t strip = STRIP_ROWS * (size_t)matrix.columns;

			if (!matrix.rows)
				continue;
			stream_bench->input_count =
				in > stream_bench->input_count ? in : stream_bench->input_count;
			stream_bench->output_count =
				out > stream_bench->output_count ? out : stream_bench->output_count;
			if (layer->tensors[i].type != STRATA_WEIGHT_F32 &&
			    strip > stream_bench->strip_count)
				stream_bench->strip_count = strip;
		}
	}
}

int stream_bench_open(struct stream_bench *stream_bench, const struct stream_bench_conf *conf,
		      struct strata_memory *memory, struct strata_error *err)
{
	void *block = NULL;
	int rc = 0;

	*stream_bench = (struct stream_bench){ .conf = *conf, .memory = memory };
	measure(stream_bench);
	if (conf->rows)
		rc = blas_open(&stream_bench->blas, conf->blas, err);
	if (rc)
		return rc;
	if (stream_bench->blas.library && conf->threads)
		stream_bench->blas.set_threads(conf->threads);
	stream_bench->output_count += stream_bench->output_count ? STAGGER : 0;
	stream_bench->input = take(stream_bench, stream_bench->input_count, err);
	stream_bench->output_block = take(stream_bench, stream_bench->output_count, err);
	stream_bench->strip = take(stream_bench, stream_bench->strip_count, err);
	if (!posix_memalign(&block, BLOCK_ALIGN, stream_bench->block_bytes))
		stream_bench->block = block;
	if (stream_bench->block) /* as frames are: the comparison is not to be about page tables */
		madvise(stream_bench->block, stream_bench->block_bytes, MADV_HUGEPAGE);
	if (!stream_bench->block || (stream_bench->input_count && !stream_bench->input) ||
	    (stream_bench->output_count && !stream_bench->output_block) ||
	    (stream_bench->strip_count && !stream_bench->strip)) {
		stream_bench_close(stream_bench);
		return strata_fail_memory(err);
	}
	stream_bench->output = stream_bench->output_count ? stream_bench->output_block + STAGGER
							  : NULL;
	for (size_t i = 0; i < stream_bench->input_count;
	     i++) /* between -1 and 1, no two rows alike */
		stream_bench->input[i] =
			(float)((uint32_t)(i * 2654435761u) >> 8) / (float)(1 << 23) - 1;
	return 0;
}

void stream_bench_close(struct stream_bench *stream_bench)
{
	strata_memory_put(stream_bench->memory, stream_bench->input,
			  stream_bench->input_count * sizeof(float));
	strata_memory_put(stream_bench->memory, stream_bench->output_block,
			  stream_bench->output_count * sizeof(float));
	strata_memory_put(stream_bench->memory, stream_bench->strip,
			  stream_bench->strip_count * sizeof(float));
	free(stream_bench->block);
	blas_close(&stream_bench->blas);
	*stream_bench = (struct stream_bench){ 0 };
}

int64_t stream_bench_disk_bytes(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	char line[128];
	int64_t bytes = -1;

	while (file && bytes < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "read_bytes: %" SCNd64, &bytes) != 1)
			bytes = -1;
	if (file)
		fclose(file);
	return bytes;
}
