/*
 * A stream: the run of the stage level says what is due at each hook, and here it is done. Opening one lays the layers out, plans, takes the
 * memory and opens the files, in that order: what is refused costs nothing. See <strata/stream.h>.
 */
#include "stream/stream_int.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES_DEFAULT = 2 << 20 };

/* ---- opening ---- */

static int check_conf(const struct strata_stream_conf *conf, struct strata_error *err)
{
	size_t files = conf->channel == STRATA_STREAM_MEMORY ? conf->block_count : conf->path_count;
	int64_t page = conf->plan ? conf->plan->page_bytes : conf->page_bytes;

	if (page < 0 || page % sysconf(_SC_PAGESIZE) || page > INT64_C(1) << 30)
		return strata_fail_at(err, -EINVAL, "page",
				      "pages of %" PRId64
				      " bytes; expected a multiple of %ld up to 1 GiB",
				      page, sysconf(_SC_PAGESIZE));
	if (conf->layer_count < 1 || conf->layer_count > STRATA_STAGE_VISITS_MAX)
		return strata_fail_at(err, -EINVAL, "layers", "%zu layers; expected 1 to %d",
				      conf->layer_count, STRATA_STAGE_VISITS_MAX);
	for (size_t l = 0; l < conf->layer_count; l++)
		for (size_t e = 0; e < conf->layers[l].extent_count; e++) {
			const struct strata_extent *extent = &conf->layers[l].extents[e];

			if (extent->file >= files || extent->offset < 0 || extent->bytes < 0 ||
			    extent->offset > INT64_MAX / 4 || extent->bytes > INT64_MAX / 4)
				return strata_fail_at(err, -EINVAL, "layers",
						      "layer '%.64s': extent %zu is of no file",
						      conf->layers[l].name, e);
		}
	return 0;
}

static int lay_out(struct strata_stream *stream, const struct strata_stream_conf *conf,
		   struct strata_error *err)
{
	uint64_t pages = 0;

	stream->layer_count = conf->layer_count;
	stream->layers =
		strata_arena_array(&stream->arena, conf->layer_count, sizeof(*stream->layers));
	if (!stream->layers)
		return strata_fail_memory(err);
	for (size_t l = 0; l < conf->layer_count; l++) {
		const struct strata_stream_layer *from = &conf->layers[l];
		struct stream_layer *layer = &stream->layers[l];
		int rc = layout_make(from->extents, from->extent_count, &stream->arena,
				     &layer->layout, err);

		if (rc)
			return rc;
		if (layer->layout.bytes == 0)
			return strata_fail_at(err, -EINVAL, "layers", "layer '%.64s' has no bytes",
					      from->name);
		layer->name = strata_arena_text(&stream->arena, from->name, strlen(from->name));
		if (!layer->name)
			return strata_fail_memory(err);
		layer->first = (uint32_t)pages;
		layer->page_count =
			(uint32_t)((layer->layout.bytes - 1) / (int64_t)stream->page_bytes + 1);
		pages += layer->page_count;
		if (pages > STRATA_STAGE_PAGES_MAX)
			return strata_fail(err, -E2BIG, "more than %d pages; take larger ones",
					   STRATA_STAGE_PAGES_MAX);
	}
	stream->page_count = (uint32_t)pages;
	return 0;
}

static int copy_extents(struct strata_stream *stream, const struct strata_stream_conf *conf,
			struct strata_error *err)
{
	for (size_t l = 0; l < stream->layer_count; l++) {
		const struct strata_stream_layer *from = &conf->layers[l];
		struct strata_extent *extents =
			strata_arena_array(&stream->arena, from->extent_count, sizeof(*extents));

		if (!extents)
			return strata_fail_memory(err);
		memcpy(extents, from->extents, from->extent_count * sizeof(*extents));
		stream->layers[l].extents = extents;
	}
	return 0;
}

static int make_pages(struct strata_stream *stream, struct strata_error *err)
{
	stream->first_wish = stream->last_wish = PAGE_NONE;
	stream->pages =
		strata_arena_array(&stream->arena, stream->page_count, sizeof(*stream->pages));
	if (!stream->pages)
		return strata_fail_memory(err);
	for (uint32_t l = 0; l < stream->layer_count; l++)
		for (uint32_t p = 0; p < stream->layers[l].page_count; p++)
			stream->pages[stream->layers[l].first + p] =
				(struct page){ .frame = FRAMES_NONE, .layer = l };
	return 0;
}

static int start_run(struct strata_stream *stream, const struct strata_stream_conf *conf,
		     struct strata_error *err)
{
	struct strata_stage_layer *layers =
		strata_arena_array(&stream->arena, conf->layer_count, sizeof(*layers));
	const struct strata_stage_model model = { .layers = layers,
						  .layer_count = conf->layer_count,
						  .order = conf->order,
						  .visit_count = conf->visit_count,
						  .backward_count = conf->backward_count };
	const struct strata_stage_run_conf run_conf = {
		.model = &model,
		.machine = { (int64_t)stream->page_bytes, conf->budget_bytes, conf->bytes_per_s },
		.plan = conf->plan,
		.planner = conf->planner,
	};

	if (!layers)
		return strata_fail_memory(err);
	for (size_t l = 0; l < conf->layer_count; l++)
		layers[l] = (struct strata_stage_layer){ stream->layers[l].name,
							 stream->layers[l].layout.bytes,
							 conf->layers[l].compute_ns };
	return strata_stage_run_new(&run_conf, stream->memory, &stream->run, err);
}

/* No file is shorter than its extents say. */
static int check_sizes(const struct strata_stream *stream, const struct strata_stream_conf *conf,
		       struct strata_error *err)
{
	for (size_t l = 0; l < conf->layer_count; l++)
		for (size_t e = 0; e < conf->layers[l].extent_count; e++) {
			const struct strata_extent *extent = &conf->layers[l].extents[e];
			int64_t size = stream->source.sizes[extent->file];

			if (extent->offset + extent->bytes > size)
				return strata_fail(
					err, -ENODATA,
					"layer '%.64s' goes on to byte %" PRId64
					" of a file of %" PRId64 "%s%.200s",
					conf->layers[l].name, extent->offset + extent->bytes, size,
					stream->source.paths ? ": " : "",
					stream->source.paths ? stream->source.paths[extent->file]
							     : "");
		}
	return 0;
}

static int take_memory(struct strata_stream *stream, const struct strata_stream_conf *conf,
		       struct strata_error *err)
{
	int64_t frames = conf->plan ? conf->plan->budget_pages
				    : conf->budget_bytes / (int64_t)stream->page_bytes;

	if (frames > stream->page_count)
		frames = stream->page_count;
	return frames_open(&stream->frames, stream->page_bytes, (uint32_t)frames,
			   stream->page_count, stream->memory, err);
}

static int open_parts(struct strata_stream *stream, const struct strata_stream_conf *conf,
		      struct strata_error *err)
{
	int rc = check_conf(conf, err);

	if (rc == 0)
		rc = lay_out(stream, conf, err);
	if (rc == 0)
		rc = copy_extents(stream, conf, err);
	if (rc == 0)
		rc = make_pages(stream, err);
	if (rc == 0)
		rc = start_run(stream, conf, err);
	if (rc == 0)
		rc = source_open(&stream->source, conf,
				 (int64_t)stream->page_count * (int64_t)stream->page_bytes,
				 &stream->arena, err);
	if (rc == 0)
		rc = check_sizes(stream, conf, err);
	if (rc == 0)
		rc = take_memory(stream, conf, err);
	return rc;
}

int strata_stream_open(const struct strata_stream_conf *conf, struct strata_memory *memory,
		       struct strata_stream **ret_stream, struct strata_error *err)
{
	struct strata_stream *stream = strata_memory_get(memory, sizeof(*stream));

	if (!stream)
		return strata_fail_memory(err);
	stream->memory = memory;
	stream->page_bytes = conf->plan         ? (size_t)conf->plan->page_bytes
			     : conf->page_bytes ? (size_t)conf->page_bytes
						: PAGE_BYTES_DEFAULT;
	stream->watch = conf->watch;
	stream->watch_context = conf->watch_context;
	strata_arena_init(&stream->arena, memory, 0);
	slab_init(&stream->transfers, memory, sizeof(struct transfer), 0);
	int rc = open_parts(stream, conf, err);

	if (rc) {
		strata_stream_close(stream);
		return rc;
	}
	*ret_stream = stream;
	return 0;
}

void strata_stream_close(struct strata_stream *stream)
{
	if (!stream)
		return;
	if (stream->source.arena)
		source_close(&stream->source); /* first: it still writes to the frames */
	if (stream->frames.memory)
		frames_close(&stream->frames);
	strata_stage_run_free(stream->run);
	slab_fini(&stream->transfers);
	strata_arena_fini(&stream->arena);
	strata_memory_put(stream->memory, stream, sizeof(*stream));
}

/* ---- hooks ---- */

static int wait_for(struct strata_stream *stream, uint32_t layer, struct strata_error *err)
{
	if (stream->layers[layer].here_count == stream->layers[layer].page_count)
		return 0;
	int64_t begin = channel_now_ns();
	int rc = pages_wait(stream, layer, err);
	int64_t end = channel_now_ns();
	const struct strata_stream_event event = { STRATA_STREAM_WAIT, layer, begin, end, 0 };

	stream->wait_ns += end - begin;
	stream_tell(stream, &event);
	return rc;
}

static int perform(struct strata_stream *stream, const struct strata_stage_entry *entry,
		   struct strata_error *err)
{
	uint32_t first = stream->layers[entry->layer].first + entry->first;
	int rc = 0;

	switch (entry->kind) {
	case STRATA_STAGE_FETCH:
	case STRATA_STAGE_PREFETCH:
		for (uint32_t i = 0; i < entry->count; i++)
			page_want(stream, first + i);
		rc = pages_advance(stream, err);
		return rc || entry->kind == STRATA_STAGE_PREFETCH
			       ? rc
			       : wait_for(stream, entry->layer, err);
	case STRATA_STAGE_COMPUTE:
		return wait_for(stream, entry->layer, err);
	case STRATA_STAGE_RELEASE:
		for (uint32_t i = entry->count; rc == 0 && i-- > 0;)
			rc = page_release(stream, first + i, err);
		return rc;
	}
	return 0;
}

int strata_stream_hook(struct strata_stream *stream, enum strata_stage_hook hook, uint32_t layer,
		       struct strata_error *err)
{
	struct strata_stage_due due;

	if (stream->failure.code) {
		if (err)
			*err = stream->failure;
		return stream->failure.code;
	}
	bool pre = hook == STRATA_STAGE_PRE_FORWARD || hook == STRATA_STAGE_PRE_BACKWARD;
	bool post = hook == STRATA_STAGE_POST_FORWARD || hook == STRATA_STAGE_POST_BACKWARD;
	int rc = strata_stage_run_hook(stream->run, hook, layer, &due, err);

	if (rc == 0 && post)
		stream_trace_compute(stream, hook, layer);
	for (size_t i = 0; rc == 0 && i < due.count; i++)
		rc = perform(stream, &due.entries[i], err);
	if (rc == 0 && stream->first_wish != PAGE_NONE) /* frames may have become free meanwhile */
		rc = pages_advance(stream, err);
	if (rc == 0 && pre)
		stream_trace_compute(stream, hook, layer);
	return rc;
}

/* ---- what is there ---- */

void *strata_stream_at(const struct strata_stream *stream, uint32_t layer, size_t extent)
{
	const struct stream_layer *of = &stream->layers[layer];

	assert(layer < stream->layer_count);
	return frames_at(&stream->frames, of->first) + of->layout.at[extent];
}

int strata_stream_changed(struct strata_stream *stream, uint32_t layer, size_t extent,
			  struct strata_error *err)
{
	const struct stream_layer *of = &stream->layers[layer];
	int64_t from = of->layout.at[extent], bytes = of->extents[extent].bytes;

	if (!stream->source.changes)
		return strata_fail(err, -EROFS, "the stream was opened without a changes_dir");
	if (of->here_count < of->page_count)
		return strata_fail(err, -EINVAL, "layer '%.64s' is not in memory", of->name);
	for (int64_t p = from / (int64_t)stream->page_bytes;
	     bytes > 0 && p <= (from + bytes - 1) / (int64_t)stream->page_bytes; p++)
		stream->pages[of->first + p].changed = true;
	return 0;
}

/* Here and now, into a buffer of one's own. */
static int copy_part(struct strata_stream *stream, struct request *part, struct strata_error *err)
{
	while (!request_advance(part,
				stream->source.transfer(stream->source.transfer_context, part)))
		;
	return part->rc ? source_fail(&stream->source, part, err) : 0;
}

static int read_absent(struct strata_stream *stream, uint32_t page, char *buffer,
		       struct strata_error *err)
{
	int rc = 0;

	for (size_t from = 0; rc == 0 && from < page_size(stream, page);) {
		struct request part = page_part(stream, page, (int64_t)from);

		part.at = buffer + from;
		rc = copy_part(stream, &part, err);
		from += part.bytes;
	}
	return rc;
}

int strata_stream_copy(struct strata_stream *stream, uint32_t layer, size_t extent, void *ret_bytes,
		       struct strata_error *err)
{
	const struct stream_layer *of = &stream->layers[layer];
	int64_t page_bytes = (int64_t)stream->page_bytes;
	int64_t at = of->layout.at[extent], end = at + of->extents[extent].bytes;
	char *buffer = NULL, *to = ret_bytes;
	int rc = 0;

	while (rc == 0 && at < end) {
		uint32_t page = of->first + (uint32_t)(at / page_bytes);
		int64_t within = at % page_bytes;
		int64_t some = end - at < page_bytes - within ? end - at : page_bytes - within;
		const struct page *about = &stream->pages[page];
		const char *from = frames_at(&stream->frames, page);

		if (about->state != PAGE_HERE && about->state != PAGE_WRITING) {
			if (!buffer && posix_memalign((void **)&buffer, LAYOUT_BLOCK_BYTES,
						      stream->page_bytes))
				return strata_fail_memory(err);
			rc = read_absent(stream, page, buffer, err);
			from = buffer;
		}
		if (rc == 0)
			memcpy(to, from + within, (size_t)some);
		at += some;
		to += some;
	}
	free(buffer);
	return rc;
}

void strata_stream_metrics(const struct strata_stream *stream,
			   struct strata_stream_metrics *ret_metrics)
{
	*ret_metrics = (struct strata_stream_metrics){
		.channel = stream->source.channel_name,
		.direct = stream->source.direct,
		.bytes_asked = stream->bytes_asked,
		.bytes_read = stream->bytes_read,
		.bytes_written = stream->bytes_written,
		.wait_ns = stream->wait_ns,
		.arena_bytes = (int64_t)stream->frames.frame_count * (int64_t)stream->page_bytes,
		.peak_bytes = (int64_t)stream->frames.peak_count * (int64_t)stream->page_bytes,
	};
	strata_stage_run_progress(stream->run, &ret_metrics->progress);
}
