/*
 * What the trace's files share: a lane's copy that can be read at leisure (trace.c makes it, trace_json.c writes it),
 * and the buffered output of the writer and the merge.
 */
#ifndef CORE_TRACE_INT_H
#define CORE_TRACE_INT_H

#include <strata/limits.h>
#include <strata/trace.h>

/* What ties flow events together beside their id; a merge knows ours by it. */
#define TRACE_FLOW_CATEGORY "strata"
#define TRACE_FLOW_NAME "flow"

enum {
	TRACE_SLOT_WORDS = 6, /* 64-bit words of a place in the ring */
	TRACE_OUT_BYTES = 1 << 15,
};

/* A lane as it stood at one moment. */
struct trace_snapshot {
	uint32_t tid;
	const char *name; /* borrowed from the lane */
	uint64_t *
		words; /* slot_count × TRACE_SLOT_WORDS, oldest first; on the arena, the caller may change it */
	size_t slot_count;
	uint64_t dropped_count; /* events before the first */
};

/* An event of a snapshot, with its texts put together again. */
struct trace_row {
	struct strata_trace_event
		event;     /* name and arg.text point to the arrays below when copied */
	size_t slot_count; /* places it takes in the snapshot */
	char name[STRATA_TRACE_TEXT_BYTES_MAX + 1];
	char text[STRATA_TRACE_TEXT_BYTES_MAX + 1];
};

/* Copies every lane, in the order they were added. *ret_snapshots is on the arena. */
int trace_snapshot(struct strata_trace *trace, struct strata_arena *arena,
		   struct trace_snapshot **ret_snapshots, size_t *ret_count,
		   struct strata_error *err);

/* Reads the event at a place; the next one is row->slot_count places on. */
void trace_row_read(const struct trace_snapshot *snapshot, size_t slot, struct trace_row *row);

uint32_t trace_pid(const struct strata_trace *trace);
const char *trace_process_name(const struct strata_trace *trace);
const char *trace_clock_name(const struct strata_trace *trace);

/* Writes a text as the inside of a JSON string, as much as fits in room (16 or more) bytes, and moves *text on;
 * the number of bytes written, 0 at the text's end. Bytes that are not UTF-8 become U+FFFD. */
size_t trace_escape(const char **text, char *bytes, size_t room);

/* Buffered output. Failure is sticky, as in struct buf: the code is kept in rc and the rest is dropped. */
struct trace_out {
	const struct strata_trace_sink *sink;
	int rc; /* 0, or what the sink returned */
	size_t used_bytes;
	char bytes[TRACE_OUT_BYTES];
};

void trace_out_init(struct trace_out *out, const struct strata_trace_sink *sink);
void trace_out_bytes(struct trace_out *out, const char *bytes, size_t count);
void trace_out_text(struct trace_out *out, const char *text);
/* A JSON string with its quotes; see trace_escape. */
void trace_out_string(struct trace_out *out, const char *text);
void trace_out_int(struct trace_out *out, int64_t value);
/* The parts of a file: its head with the first process, further processes (after ",\n"), and its end. */
void trace_out_head(struct trace_out *out, const struct strata_trace_conf *conf, uint64_t dropped);
void trace_out_process(struct trace_out *out, uint32_t pid, const char *name);
void trace_out_lane_name(struct trace_out *out, uint32_t pid, uint32_t tid, const char *name);
void trace_out_tail(struct trace_out *out);
/* An event: `,{"ph":…,"pid":…,"tid":…`, what else it has, its arguments if any, and `}`. */
void trace_out_open(struct trace_out *out, const char *phase, uint32_t pid, uint32_t tid);
void trace_out_time(struct trace_out *out, int64_t time_ns);
void trace_out_args(struct trace_out *out, uint64_t flow, const struct strata_trace_arg *args,
		    size_t count);
/* An event of its own, right behind the slice or instant that the flow goes through. */
void trace_out_flow(struct trace_out *out, uint64_t flow, int64_t time_ns, bool first, uint32_t pid,
		    uint32_t tid);
/* Hands over what is left; the rc of all of it, with a sentence. */
int trace_out_finish(struct trace_out *out, struct strata_error *err);

#endif
