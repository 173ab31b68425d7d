/* A trace straight into its file: see trace_stream.h. Slices are of phase X, which has begin and length in one event. */
#include "core/trace_stream.h"

void trace_stream_begin(struct trace_stream *stream, const struct strata_trace_conf *conf,
			const struct strata_trace_sink *sink)
{
	trace_out_init(&stream->out, sink);
	trace_out_head(&stream->out, conf, 0);
}

void trace_stream_name_process(struct trace_stream *stream, uint32_t pid, const char *name)
{
	trace_out_text(&stream->out, ",\n");
	trace_out_process(&stream->out, pid, name);
}

void trace_stream_name_thread(struct trace_stream *stream, uint32_t pid, uint32_t tid,
			      const char *name)
{
	trace_out_lane_name(&stream->out, pid, tid, name);
}

void trace_stream_slice(struct trace_stream *stream, const struct trace_slice *slice)
{
	struct trace_out *out = &stream->out;

	trace_out_open(out, "X", slice->pid, slice->tid);
	trace_out_text(out, ",\"ts\":");
	trace_out_time(out, slice->start_ns);
	trace_out_text(out, ",\"dur\":");
	trace_out_time(out, slice->end_ns - slice->start_ns);
	trace_out_text(out, ",\"name\":");
	trace_out_string(out, slice->name);
	trace_out_args(out, slice->flow, slice->args, slice->arg_count);
	trace_out_text(out, "}");
	if (slice->flow)
		trace_out_flow(out, slice->flow, slice->start_ns, slice->flow_first, slice->pid,
			       slice->tid);
}

void trace_stream_counter(struct trace_stream *stream, uint32_t pid, int64_t time_ns,
			  const char *name, const struct strata_trace_arg *values, size_t count)
{
	struct trace_out *out = &stream->out;

	trace_out_open(out, "C", pid, 0);
	trace_out_text(out, ",\"ts\":");
	trace_out_time(out, time_ns);
	trace_out_text(out, ",\"name\":");
	trace_out_string(out, name);
	trace_out_args(out, 0, values, count);
	trace_out_text(out, "}");
}

int trace_stream_end(struct trace_stream *stream, struct strata_error *err)
{
	trace_out_tail(&stream->out);
	return trace_out_finish(&stream->out, err);
}
