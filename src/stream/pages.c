/*
 * Pages of a stream as they come and go. One thread moves them from state to state, in the hooks; the channel works by itself in between. A page
 * that is wanted and absent stands in line for a frame, one that is not wanted any more gives its frame back, after its changes have been
 * written, if there are any. Nothing waits here but pages_wait, and that only for what the channel has under way.
 */
#include "stream/stream_int.h"

#include <assert.h>
#include <errno.h>

size_t page_size(const struct strata_stream *stream, uint32_t page)
{
	const struct stream_layer *layer = &stream->layers[stream->pages[page].layer];
	int64_t left = layer->layout.bytes -
		       (int64_t)(page - layer->first) * (int64_t)stream->page_bytes;

	return left < (int64_t)stream->page_bytes ? (size_t)left : stream->page_bytes;
}

/* What is read or written of a page from this byte of it on, in one piece. */
struct request page_part(const struct strata_stream *stream, uint32_t page, int64_t from)
{
	const struct stream_layer *layer = &stream->layers[stream->pages[page].layer];
	int64_t at = (int64_t)(page - layer->first) * (int64_t)stream->page_bytes + from;
	size_t left = page_size(stream, page) - (size_t)from;
	struct request part = { .at = frames_at(&stream->frames, page) + from,
				.bytes = left,
				.need = left };

	if (stream->pages[page].moved) {
		part.file = (uint32_t)stream->source.file_count;
		part.offset = (int64_t)page * (int64_t)stream->page_bytes + from;
		return part;
	}
	const struct segment *segment = &layer->layout.segments[layout_find(&layer->layout, at)];
	int64_t within = at - segment->at;

	part.file = segment->file;
	part.offset = segment->offset + within;
	if ((int64_t)part.bytes > segment->bytes - within)
		part.bytes = (size_t)(segment->bytes - within);
	int64_t until_end = stream->source.sizes[part.file] - part.offset;

	part.need = (int64_t)part.bytes > until_end ? (size_t)until_end : part.bytes;
	return part;
}

/* ---- reading and writing ---- */

static int fail_for_good(struct strata_stream *stream, struct strata_error *err)
{
	if (err)
		*err = stream->failure;
	return stream->failure.code;
}

static int start_part(struct strata_stream *stream, uint32_t page, const struct request *part,
		      struct request_line *line)
{
	uint64_t handle;
	struct transfer *transfer = slab_get(&stream->transfers, &handle);

	if (!transfer)
		return strata_fail_memory(&stream->failure);
	*transfer = (struct transfer){ *part, handle, page };
	request_line_add(line, &transfer->request);
	stream->pages[page].parts++;
	return 0;
}

static int start_read(struct strata_stream *stream, uint32_t page)
{
	struct request_line line = { 0 };
	int rc = 0;

	stream->pages[page].state = PAGE_READING;
	for (size_t from = 0; rc == 0 && from < page_size(stream, page);) {
		struct request part = page_part(stream, page, (int64_t)from);

		rc = start_part(stream, page, &part, &line);
		stream->bytes_asked += (int64_t)part.bytes;
		from += part.bytes;
	}
	if (line.first)
		channel_submit(stream->source.channel, line.first);
	return rc;
}

/* In one piece, to its place among the changes. */
static int start_write(struct strata_stream *stream, uint32_t page)
{
	struct request_line line = { 0 };

	stream->pages[page].state = PAGE_WRITING;
	stream->pages[page].moved = true;
	struct request part = page_part(stream, page, 0);

	part.write = true;
	int rc = start_part(stream, page, &part, &line);

	if (line.first)
		channel_submit(stream->source.channel, line.first);
	return rc;
}

/* ---- from state to state ---- */

void page_want(struct strata_stream *stream, uint32_t index)
{
	struct page *page = &stream->pages[index];

	page->wanted = true;
	if (page->state != PAGE_ABSENT)
		return; /* on its way, or being written: it stays then */
	page->state = PAGE_WISHED;
	page->next = PAGE_NONE;
	if (stream->first_wish == PAGE_NONE)
		stream->first_wish = index;
	else
		stream->pages[stream->last_wish].next = index;
	stream->last_wish = index;
}

static int give_frame(struct strata_stream *stream, struct page *page)
{
	page->state = PAGE_ABSENT;
	return frames_give(&stream->frames, page->frame, &stream->failure);
}

static int leave(struct strata_stream *stream, uint32_t index)
{
	struct page *page = &stream->pages[index];

	stream->layers[page->layer].here_count--;
	return page->changed ? start_write(stream, index) : give_frame(stream, page);
}

int page_release(struct strata_stream *stream, uint32_t index, struct strata_error *err)
{
	struct page *page = &stream->pages[index];

	page->wanted = false;
	if (page->state == PAGE_HERE && leave(stream, index))
		return fail_for_good(stream, err);
	return 0; /* what is under way or in line notices later */
}

/* All parts of a page are done. */
static int arrive(struct strata_stream *stream, uint32_t index)
{
	struct page *page = &stream->pages[index];

	if (page->state == PAGE_WRITING) {
		page->changed = false;
		if (!page->wanted)
			return give_frame(stream, page);
	}
	page->state = PAGE_HERE;
	stream->layers[page->layer].here_count++;
	return page->wanted ? 0 : leave(stream, index);
}

static void tell(struct strata_stream *stream, const struct request *request, uint32_t layer)
{
	const struct strata_stream_event event = {
		.kind = request->write ? STRATA_STREAM_WRITE : STRATA_STREAM_READ,
		.layer = layer,
		.begin_ns = request->begin_ns,
		.end_ns = request->end_ns,
		.bytes = (int64_t)request->bytes,
	};

	stream_tell(stream, &event);
}

static int take_done(struct strata_stream *stream, struct request *request)
{
	struct transfer *transfer = (struct transfer *)request;
	uint32_t index = transfer->page;
	struct page *page = &stream->pages[index];
	int rc = 0;

	if (request->rc)
		rc = source_fail(&stream->source, request, &stream->failure);
	else if (request->write)
		stream->bytes_written += (int64_t)request->bytes;
	else
		stream->bytes_read += (int64_t)request->bytes;
	tell(stream, request, page->layer);
	slab_put(&stream->transfers, transfer->handle);
	assert(page->parts > 0);
	if (--page->parts == 0 && rc == 0)
		rc = arrive(stream, index);
	return rc;
}

/* Frames for those in line, as far as there are any. */
static int grant_wishes(struct strata_stream *stream)
{
	while (stream->first_wish != PAGE_NONE) {
		uint32_t index = stream->first_wish;
		struct page *page = &stream->pages[index];

		if (page->wanted) {
			uint32_t frame;
			int rc = frames_take(&stream->frames, index, page->frame, &frame,
					     &stream->failure);

			if (rc || frame == FRAMES_NONE)
				return rc;
			page->frame = frame;
			stream->first_wish = page->next;
			rc = start_read(stream, index);
			if (rc)
				return rc;
		} else { /* was released before it had begun */
			stream->first_wish = page->next;
			page->state = PAGE_ABSENT;
		}
	}
	return 0;
}

int pages_advance(struct strata_stream *stream, struct strata_error *err)
{
	struct request *request;
	int rc = stream->failure.code;

	while (rc == 0 && (request = channel_reap(stream->source.channel, false)))
		rc = take_done(stream, request);
	if (rc == 0)
		rc = grant_wishes(stream);
	return rc ? fail_for_good(stream, err) : 0;
}

int pages_wait(struct strata_stream *stream, uint32_t index, struct strata_error *err)
{
	const struct stream_layer *layer = &stream->layers[index];

	while (layer->here_count < layer->page_count) {
		int rc = grant_wishes(stream);
		struct request *request = rc ? NULL : channel_reap(stream->source.channel, true);

		if (rc == 0 && !request)
			rc = strata_fail(&stream->failure, -EDEADLK,
					 "layer '%.64s' is neither in memory nor being read",
					 layer->name);
		if (rc == 0)
			rc = take_done(stream, request);
		if (rc)
			return fail_for_good(stream, err);
	}
	return 0;
}
