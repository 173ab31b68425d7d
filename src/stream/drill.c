/* Computing over layers, for measurements and comparisons: see drill.h. */
#include "stream/drill.h"

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

static uint64_t multiply(const struct drill *drill, const struct strata_weight *tensor,
			 struct matrix matrix, const void *weights, uint64_t digest)
{
	int rows = (int)drill->conf.rows;

	if (tensor->type == STRATA_WEIGHT_F32) {
		blas_linear(&drill->blas, rows, matrix.rows, matrix.columns, drill->input, weights,
			    drill->output);
		return fold(digest, drill->output,
			    (size_t)rows * (size_t)matrix.rows * sizeof(float));
	}
	for (int first = 0; first < matrix.rows; first += STRIP_ROWS) {
		int some = matrix.rows - first < STRIP_ROWS ? matrix.rows - first : STRIP_ROWS;

		widen(tensor, weights, (size_t)first * (size_t)matrix.columns,
		      (size_t)some * (size_t)matrix.columns, drill->strip);
		blas_linear(&drill->blas, rows, some, matrix.columns, drill->input, drill->strip,
			    drill->output);
		digest = fold(digest, drill->output, (size_t)rows * (size_t)some * sizeof(float));
	}
	return digest;
}

static void sleep_until(int64_t time_ns)
{
	struct timespec until = { time_ns / 1000000000, time_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

uint64_t drill_compute(const struct drill *drill, uint32_t index, const void *const *tensors)
{
	const struct strata_weights_layer *layer = &drill->conf.weights->layers[index];
	int64_t begin = channel_now_ns(), bytes = 0;
	uint64_t digest = index;

	for (size_t i = 0; i < layer->tensor_count; i++) {
		const struct strata_weight *tensor = &layer->tensors[i];
		struct matrix matrix = drill->conf.rows ? matrix_of(tensor) : (struct matrix){ 0 };

		digest = matrix.rows ? multiply(drill, tensor, matrix, tensors[i], digest)
				     : fold(digest, tensors[i], (size_t)tensor->bytes);
		bytes += tensor->bytes;
	}
	if (!drill->conf.rows)
		sleep_until(begin + drill->conf.compute_ns +
			    (int64_t)((double)bytes * drill->conf.ns_per_byte));
	return digest;
}

/* ---- the plain way ---- */

/* Around the system's cache where that goes, so that what comes next is cold. */
static int read_segment(struct drill *drill, const struct segment *segment, char *to,
			struct strata_error *err)
{
	const char *path = drill->conf.weights->paths[segment->file];
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
	drill->plain_bytes += segment->bytes;
	close(fd);
	return rc;
}

static int read_plain(struct drill *drill, const struct strata_weights_layer *layer,
		      const void **ret_tensors, struct strata_error *err)
{
	struct strata_arena arena;
	struct layout layout;

	strata_arena_init(&arena, drill->memory, 0);
	int rc = layout_make(layer->extents, layer->tensor_count, &arena, &layout, err);

	for (size_t i = 0; rc == 0 && i < layout.segment_count; i++)
		rc = read_segment(drill, &layout.segments[i], drill->block + layout.segments[i].at,
				  err);
	for (size_t i = 0; rc == 0 && i < layer->tensor_count; i++)
		ret_tensors[i] = drill->block + layout.at[i];
	strata_arena_fini(&arena);
	return rc;
}

int drill_compute_plain(struct drill *drill, uint32_t index, uint64_t *ret_digest, int64_t *ret_ns,
			struct strata_error *err)
{
	const struct strata_weights_layer *layer = &drill->conf.weights->layers[index];
	const void **tensors =
		strata_memory_get(drill->memory, layer->tensor_count * sizeof(*tensors));

	if (!tensors)
		return strata_fail_memory(err);
	int rc = read_plain(drill, layer, tensors, err);

	if (rc == 0) {
		int64_t begin = channel_now_ns();

		*ret_digest = drill_compute(drill, index, tensors);
		if (ret_ns)
			*ret_ns = channel_now_ns() - begin;
	}
	strata_memory_put(drill->memory, tensors, layer->tensor_count * sizeof(*tensors));
	return rc;
}

/* ---- open and close ---- */

static float *take(struct drill *drill, size_t count, struct strata_error *err)
{
	float *block = count ? strata_memory_get(drill->memory, count * sizeof(*block)) : NULL;

	if (count && !block)
		strata_fail_memory(err);
	return block;
}

/* How large operands get, over all matrices. */
static void measure(struct drill *drill)
{
	const struct strata_weights *weights = drill->conf.weights;

	for (size_t l = 0; l < weights->layer_count; l++) {
		const struct strata_weights_layer *layer = &weights->layers[l];

		if ((size_t)layer->bytes > drill->block_bytes)
			drill->block_bytes = (size_t)layer->bytes;
		for (size_t i = 0; drill->conf.rows && i < layer->tensor_count; i++) {
			struct matrix matrix = matrix_of(&layer->tensors[i]);
			size_t in = (size_t)drill->conf.rows * (size_t)matrix.columns;
			size_t out = (size_t)drill->conf.rows * (size_t)matrix.rows;
			size_t strip = STRIP_ROWS * (size_t)matrix.columns;

			if (!matrix.rows)
				continue;
			drill->input_count = in > drill->input_count ? in : drill->input_count;
			drill->output_count = out > drill->output_count ? out : drill->output_count;
			if (layer->tensors[i].type != STRATA_WEIGHT_F32 &&
			    strip > drill->strip_count)
				drill->strip_count = strip;
		}
	}
}

int drill_open(struct drill *drill, const struct drill_conf *conf, struct strata_memory *memory,
	       struct strata_error *err)
{
	void *block = NULL;
	int rc = 0;

	*drill = (struct drill){ .conf = *conf, .memory = memory };
	measure(drill);
	if (conf->rows)
		rc = blas_open(&drill->blas, conf->blas, err);
	if (rc)
		return rc;
	if (drill->blas.library && conf->threads)
		drill->blas.set_threads(conf->threads);
	drill->output_count += drill->output_count ? STAGGER : 0;
	drill->input = take(drill, drill->input_count, err);
	drill->output_block = take(drill, drill->output_count, err);
	drill->strip = take(drill, drill->strip_count, err);
	if (!posix_memalign(&block, BLOCK_ALIGN, drill->block_bytes))
		drill->block = block;
	if (drill->block) /* as frames are: the comparison is not to be about page tables */
		madvise(drill->block, drill->block_bytes, MADV_HUGEPAGE);
	if (!drill->block || (drill->input_count && !drill->input) ||
	    (drill->output_count && !drill->output_block) ||
	    (drill->strip_count && !drill->strip)) {
		drill_close(drill);
		return strata_fail_memory(err);
	}
	drill->output = drill->output_count ? drill->output_block + STAGGER : NULL;
	for (size_t i = 0; i < drill->input_count; i++) /* between -1 and 1, no two rows alike */
		drill->input[i] = (float)((uint32_t)(i * 2654435761u) >> 8) / (float)(1 << 23) - 1;
	return 0;
}

void drill_close(struct drill *drill)
{
	strata_memory_put(drill->memory, drill->input, drill->input_count * sizeof(float));
	strata_memory_put(drill->memory, drill->output_block, drill->output_count * sizeof(float));
	strata_memory_put(drill->memory, drill->strip, drill->strip_count * sizeof(float));
	free(drill->block);
	blas_close(&drill->blas);
	*drill = (struct drill){ 0 };
}

int64_t drill_disk_bytes(void)
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
