/*
 * A trace written as it happens: events go straight to the sink, in the file form of trace_json.c. For one who knows an
 * event whole when it is over, as a simulator does, and has more of them than should be in memory. Nothing is kept, a
 * slice may have any number of arguments, and times need no order. One thread at a time.
 *
 * Failure is sticky: write as you like and ask once at the end.
 */
#ifndef CORE_TRACE_STREAM_H
#define CORE_TRACE_STREAM_H

#include "core/trace_int.h"

struct trace_stream {
	struct trace_out out;
};

/* Something that took from start_ns to end_ns. Slices of one thread nest or lie apart. Pointers are borrowed. */
struct trace_slice {
	uint32_t pid, tid;
	int64_t start_ns, end_ns;
	const char *name;
	uint64_t flow; /* 0: none */
	bool flow_first; /* this is the earliest slice of its flow; there must be one such, and only one */
	const struct strata_trace_arg *args;
	size_t arg_count;
};

/* Begins a file; the sink is borrowed until the end. */
void trace_stream_begin(struct trace_stream *stream, const struct strata_trace_conf *conf,
			const struct strata_trace_sink *sink);
/* Names a further process, or a thread. */
void trace_stream_name_process(struct trace_stream *stream, uint32_t pid, const char *name);
void trace_stream_name_thread(struct trace_stream *stream, uint32_t pid, uint32_t tid,
			      const char *name);
void trace_stream_slice(struct trace_stream *stream, const struct trace_slice *slice);
/* Curves of a process, one per argument; each is titled by the name and the argument's key. */
void trace_stream_counter(struct trace_stream *stream, uint32_t pid, int64_t time_ns,
			  const char *name, const struct strata_trace_arg *values, size_t count);
/* Ends the file and hands over what is left; the rc of all of it, with a sentence. */
int trace_stream_end(struct trace_stream *stream, struct strata_error *err);

#endif
