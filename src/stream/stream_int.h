/*
 * The parts of a stream: pages that come and go (pages.c), what they come from (source.c), the memory they lie in (frames.c), where a layer's
 * bytes are among them (layout.c), the hooks around it all (stream.c), and what a trace shows of them (stream_trace.c).
 */
#ifndef STREAM_STREAM_INT_H
#define STREAM_STREAM_INT_H

#include "core/slab.h"
#include "stream/frames.h"
#include "stream/layout.h"
#include "stream/source.h"

#define PAGE_NONE UINT32_MAX

enum page_state {
	PAGE_ABSENT,
	PAGE_WISHED,  /* in the line for a frame */
	PAGE_READING, /* has a frame, as in those below */
	PAGE_HERE,
	PAGE_WRITING, /* was changed; its frame is free when it is written */
};

struct page {
	uint32_t frame; /* or the one that it had last; FRAMES_NONE: none yet */
	uint32_t next;  /* in the line of those that wish */
	uint32_t layer;
	uint32_t parts; /* transfers under way */
	enum page_state state;
	bool wanted;  /* the plan has it in memory, or on its way */
	bool changed; /* since it was read or written */
	bool moved;   /* its bytes are with the changes, no longer in the files */
};

struct stream_layer {
	const char *name;
	struct layout layout;
	const struct strata_extent *extents;
	uint32_t first, page_count; /* its pages among all */
	uint32_t here_count;        /* of them, those that may be used */
};

struct transfer {
	struct request request;
	uint64_t handle; /* of the slab */
	uint32_t page;
};

enum { TRANSFER_LANES_MAX = 64 };

/* Lanes of a trace for what overlaps. */
struct lane_set {
	uint32_t first_tid;
	const char *name;
	struct strata_trace_lane *lanes[TRANSFER_LANES_MAX]; /* the trace's */
	int64_t free_ns[TRANSFER_LANES_MAX]; /* of each: nothing is going on from then on */
	size_t count;
};

struct stream_trace {
	struct strata_trace *trace; /* borrowed; NULL: none */
	uint32_t first_tid;
	size_t event_count;
	struct strata_trace_lane *compute, *wait; /* the trace's */
	struct lane_set reads, writes;
	int64_t compute_ns; /* the visit that computes began then; 0: none does */
	uint64_t flow;      /* that its slices belong to; 0: none */
};

struct strata_stream {
	struct strata_memory *memory;
	struct strata_arena arena;
	struct stream_layer *layers;
	size_t layer_count;
	size_t page_bytes;
	struct page *pages;
	uint32_t page_count;
	uint32_t first_wish, last_wish;
	struct frames frames;
	struct source source;
	struct slab transfers;
	struct strata_stage_run *run;
	struct strata_error failure; /* code 0: none; it is for good */
	int64_t bytes_asked, bytes_read, bytes_written, wait_ns;
	void (*watch)(void *context, const struct strata_stream_event *event);
	void *watch_context;
	struct stream_trace trace;
};

/* ---- stream_trace.c ---- */

/* Something that took time is over: who watches and the trace are told. */
void stream_tell(struct strata_stream *stream, const struct strata_stream_event *event);
/* A pre hook has returned, or a post hook is called: computing lies between. */
void stream_trace_compute(struct strata_stream *stream, enum strata_stage_hook hook,
			  uint32_t layer);

/* ---- pages.c ---- */

/* Of one page: begins to be read as soon as there is a frame; need not stay. */
void page_want(struct strata_stream *stream, uint32_t page);
int page_release(struct strata_stream *stream, uint32_t page, struct strata_error *err);

/* Takes what the channel has done, without waiting, and gives frames to those that wish for one. */
int pages_advance(struct strata_stream *stream, struct strata_error *err);
/* Until all of a layer may be used. */
int pages_wait(struct strata_stream *stream, uint32_t layer, struct strata_error *err);

/* The transfers that read, or with write_changes write, bytes of a page: how many there are, and each. */
struct request page_part(const struct strata_stream *stream, uint32_t page, int64_t from);
size_t page_size(const struct strata_stream *stream, uint32_t page);

#endif
