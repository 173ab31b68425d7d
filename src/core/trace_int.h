/*
 * What the trace's files share: a lane's ring and its copy that can be read at leisure (trace_ring.c), the one writer of events (trace_json.c), and
 * the buffered output of the writer and the merge.
 */
#ifndef CORE_TRACE_INT_H
#define CORE_TRACE_INT_H

#include <strata/limits.h>
#include <strata/trace.h>

#include <stdatomic.h>

/* What ties flow events together beside their id; a merge knows ours by it. */
#define TRACE_FLOW_CATEGORY "strata"
#define TRACE_FLOW_NAME "flow"

enum {
	TRACE_SLOT_WORDS = 6, /* 64-bit words of a place in the ring */
	TRACE_OUT_BYTES = 1 << 15,
};

/* The newest events of one thread, which alone adds to it. */
struct trace_ring {
	/* the writer's own */
	size_t slot;       /* where the next event goes */
	uint64_t ordinal;  /* its number */
	uint64_t position; /* == written */

	_Atomic uint64_t written; /* complete places so far */

	/* constant */
	_Atomic uint64_t *words; /* slot_count × TRACE_SLOT_WORDS; owned */
	size_t slot_count;
};

/* A lane as it stood at one moment. */
struct trace_snapshot {
	uint32_t pid, tid;
	const char *name, *process_name; /* borrowed from the lane; may be NULL */
	/* slot_count × TRACE_SLOT_WORDS, oldest first; on the arena, the caller may change it */
	uint64_t *words;
	size_t slot_count;
	uint64_t dropped_count; /* events before the first */
};

/* An event of a snapshot, with its parts put together again. */
struct trace_row {
	struct strata_trace_event event; /* points to the arrays below */
	size_t slot_count;               /* places it takes in the snapshot */
	struct strata_trace_arg args[STRATA_TRACE_ARG_COUNT_MAX];
	char name[STRATA_TRACE_TEXT_BYTES_MAX + 1];
	char texts[STRATA_TRACE_ARG_COUNT_MAX][STRATA_TRACE_TEXT_BYTES_MAX + 1];
};

/* A ring for event_count events that need one place each; -1: out of memory. A zeroed one may be ended. */
int trace_ring_init(struct trace_ring *ring, struct strata_memory *memory, size_t event_count);
void trace_ring_fini(struct trace_ring *ring, struct strata_memory *memory);
void trace_ring_add(struct trace_ring *ring, const struct strata_trace_event *event);
/* Copies what is whole, by any thread; sets the snapshot's words and counts. -1: out of memory. */
int trace_ring_copy(const struct trace_ring *ring, struct strata_arena *arena,
		    struct trace_snapshot *snapshot);

/* Copies every lane, in the order they were added. *ret_snapshots is on the arena. */
int trace_snapshot(struct strata_trace *trace, struct strata_arena *arena,
		   struct trace_snapshot **ret_snapshots, size_t *ret_count,
		   struct strata_error *err);

/* Reads the event at a place; the next one is row->slot_count places on. */
void trace_row_read(const struct trace_snapshot *snapshot, size_t slot, struct trace_row *row);

const struct strata_trace_conf *trace_conf(const struct strata_trace *trace);

/* Writes a text as the inside of a JSON string, as much as fits in room (16 or more) bytes, and moves *text on;
 * the number of bytes written, 0 at the text's end. Bytes that are not UTF-8 become U+FFFD. */
size_t trace_escape(const char **text, char *bytes, size_t room);

/* Buffered output. Failure is sticky, as in struct buf: the code is kept in rc and the rest is dropped. */
struct trace_out {
	const struct strata_trace_sink *sink;
	int rc;            /* 0, or what the sink returned */
	int64_t offset_ns; /* added to every time */
	size_t used_bytes;
	char bytes[TRACE_OUT_BYTES];
};

void trace_out_init(struct trace_out *out, const struct strata_trace_sink *sink);
void trace_out_bytes(struct trace_out *out, const char *bytes, size_t count);
void trace_out_text(struct trace_out *out, const char *text);
/* A JSON string with its quotes; see trace_escape. */
void trace_out_string(struct trace_out *out, const char *text);
void trace_out_int(struct trace_out *out, int64_t value);
/* The parts of a file: its head with the first process, names of a thread and of its process (NULL: none), events, and its end. */
void trace_out_head(struct trace_out *out, const struct strata_trace_conf *conf, uint64_t dropped);
void trace_out_names(struct trace_out *out, uint32_t pid, uint32_t tid, const char *process_name,
		     const char *name);
void trace_out_event(struct trace_out *out, const struct strata_trace_event *event, bool flow_first,
		     uint32_t pid, uint32_t tid);
void trace_out_tail(struct trace_out *out);
/* Hands over what is left; the rc of all of it, with a sentence. */
int trace_out_finish(struct trace_out *out, struct strata_error *err);

#endif
