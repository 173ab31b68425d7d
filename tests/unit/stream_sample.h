/*
 * A model in a file, or in memory, and a stream over it, for tests: what a layer's bytes are to be is known beside it.
 */
#ifndef TESTS_STREAM_SAMPLE_H
#define TESTS_STREAM_SAMPLE_H

#include "weights_sample.h"

#include "stream/stream_int.h"

#include <stdlib.h>

enum { SAMPLE_LAYERS_MAX = 12 };

struct sample {
	struct strata_memory memory;
	struct strata_arena arena;
	struct strata_weights weights;
	struct strata_stream_layer layers[SAMPLE_LAYERS_MAX];
	struct strata_stream_conf conf;
	struct strata_stream_block block;
	struct strata_stream *stream;
	char path[4096];
	char *bytes; /* of the file */
	size_t size;
	char *want[SAMPLE_LAYERS_MAX]; /* what a layer's tensor is to be */
};

/* A file with layers of these bytes; conf as it would be to run them with this budget. */
static inline void sample_make(struct sample *sample, const int64_t *bytes, size_t count,
			       int64_t budget, uint64_t seed)
{
	struct strata_error err;

	*sample = (struct sample){ 0 };
	snprintf(sample->path, sizeof(sample->path), "%s/sample.safetensors", test_temp_dir());
	weights_write(sample->path, bytes, count, seed);
	sample->bytes = test_read_file(sample->path, &sample->size);
	strata_arena_init(&sample->arena, &sample->memory, 0);
	CHECK_OK(strata_weights_read(sample->path, NULL, &sample->arena, &sample->weights, &err));
	for (size_t i = 0; i < count; i++) {
		const struct strata_weights_layer *layer = &sample->weights.layers[i];

		sample->layers[i] = (struct strata_stream_layer){ layer->name, layer->extents,
								  layer->tensor_count, 1000 };
		sample->want[i] = malloc((size_t)bytes[i]);
		memcpy(sample->want[i], sample->bytes + layer->extents[0].offset, (size_t)bytes[i]);
	}
	sample->block = (struct strata_stream_block){ sample->bytes, (int64_t)sample->size };
	sample->conf = (struct strata_stream_conf){ .paths = sample->weights.paths,
						    .path_count = 1,
						    .blocks = &sample->block,
						    .block_count = 1,
						    .layers = sample->layers,
						    .layer_count = count,
						    .visit_count = count,
						    .budget_bytes = budget,
						    .page_bytes = 8192,
						    .bytes_per_s = 1000000000 };
}

static inline void sample_free(struct sample *sample)
{
	strata_stream_close(sample->stream);
	for (size_t i = 0; i < sample->conf.layer_count; i++)
		free(sample->want[i]);
	free(sample->bytes);
	strata_arena_fini(&sample->arena);
	CHECK_INT(sample->memory.used_bytes, 0);
}

static inline int64_t sample_bytes(const struct sample *sample, uint32_t layer)
{
	return sample->weights.layers[layer].tensors[0].bytes;
}

/* Is the layer what it is to be? */
static inline void sample_check(const struct sample *sample, uint32_t layer)
{
	CHECK_BYTES(strata_stream_at(sample->stream, layer, 0), sample->want[layer],
		    (size_t)sample_bytes(sample, layer));
}

/* One visit of a step; what the layer is, is checked. */
static inline int sample_visit(struct sample *sample, uint32_t layer, struct strata_error *err)
{
	int rc = strata_stream_pre_forward(sample->stream, layer, err);

	if (rc)
		return rc;
	sample_check(sample, layer);
	return strata_stream_post_forward(sample->stream, layer, err);
}

static inline int sample_step(struct sample *sample, struct strata_error *err)
{
	int rc = strata_stream_step_start(sample->stream, err);

	for (uint32_t i = 0; rc == 0 && i < sample->conf.layer_count; i++)
		rc = sample_visit(sample, i, err);
	return rc ? rc : strata_stream_step_end(sample->stream, err);
}

/* ---- a channel that fails when it is told to ---- */

struct faulty {
	struct channel base;
	struct channel *inner;
	int at; /* the request that fails, counting from 1 as they are done; 0: none */
	int rc;
	bool writes; /* only they count */
};

static inline void faulty_submit(struct channel *channel, struct request *list)
{
	channel_submit(((struct faulty *)channel)->inner, list);
}

static inline struct request *faulty_reap(struct channel *channel, bool wait)
{
	struct faulty *faulty = (struct faulty *)channel;
	struct request *request = channel_reap(faulty->inner, wait);

	if (request && request->write >= faulty->writes && faulty->at && --faulty->at == 0)
		request->rc = faulty->rc;
	return request;
}

static inline void faulty_close(struct channel *channel)
{
	channel_close(((struct faulty *)channel)->inner);
	free(channel);
}

/* Puts one between the stream and its channel. */
static inline void sample_fault(struct sample *sample, int at, int rc, bool writes)
{
	static const struct channel_class cls = { "faulty", faulty_submit, faulty_reap,
						  faulty_close };
	struct faulty *faulty = malloc(sizeof(*faulty));

	*faulty = (struct faulty){ { &cls }, sample->stream->source.channel, at, rc, writes };
	sample->stream->source.channel = &faulty->base;
}

#endif
