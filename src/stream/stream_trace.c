/*
 * What a stream does, as slices of a trace. The thread that calls the hooks computes or waits, and has a lane for each. Transfers overlap each other
 * and all of that, while slices of one lane may not: each takes the first lane of its kind on which nothing was going on when it began.
 */
#include "stream/stream_int.h"

#include <strata/trace.h>

enum {
	COMPUTE_TID,
	WAIT_TID,
	FIRST_READ_TID,
	FIRST_WRITE_TID = FIRST_READ_TID + TRANSFER_LANES_MAX
};

_Static_assert(FIRST_WRITE_TID + TRANSFER_LANES_MAX == STRATA_STREAM_TRACE_TIDS, "as promised");

static int add_lane(struct stream_trace *trace, uint32_t tid, const char *name,
		    struct strata_trace_lane **ret_lane, struct strata_error *err)
{
	const struct strata_trace_lane_conf conf = { .tid = trace->first_tid + tid,
						     .name = name,
						     .event_count = trace->event_count };

	return strata_trace_add_lane(trace->trace, &conf, ret_lane, err);
}

int strata_stream_trace(struct strata_stream *stream, struct strata_trace *into, uint32_t first_tid,
			size_t event_count, struct strata_error *err)
{
	struct stream_trace *trace = &stream->trace;

	*trace = (struct stream_trace){ 0 };
	if (!into)
		return 0;
	*trace = (struct stream_trace){ .trace = into,
					.first_tid = first_tid,
					.event_count = event_count,
					.reads = { FIRST_READ_TID, "reading", { 0 }, { 0 }, 0 },
					.writes = { FIRST_WRITE_TID, "writing", { 0 }, { 0 }, 0 } };
	int rc = add_lane(trace, COMPUTE_TID, "computing", &trace->compute, err);

	if (rc == 0)
		rc = add_lane(trace, WAIT_TID, "waiting", &trace->wait, err);
	if (rc)
		*trace = (struct stream_trace){ 0 };
	return rc;
}

/* Without memory for one more lane the transfer is missing in the picture. */
static struct strata_trace_lane *transfer_lane(struct stream_trace *trace, struct lane_set *set,
					       int64_t begin_ns, int64_t end_ns)
{
	size_t i = 0;

	while (i < set->count && set->free_ns[i] > begin_ns)
		i++;
	if (i == TRANSFER_LANES_MAX)
		return NULL;
	if (i == set->count) {
		if (add_lane(trace, set->first_tid + (uint32_t)i, set->name, &set->lanes[i], NULL))
			return NULL;
		set->count++;
	}
	set->free_ns[i] = end_ns;
	return set->lanes[i];
}

void strata_stream_flow(struct strata_stream *stream, uint64_t flow)
{
	stream->trace.flow = flow;
}

static void add_slice(struct strata_stream *stream, struct strata_trace_lane *lane,
		      const struct strata_stream_event *event, bool has_bytes)
{
	struct strata_trace_arg bytes = strata_trace_int("bytes", event->bytes);

	strata_trace_slice(lane,
			   (struct strata_trace_event){ .time_ns = event->begin_ns,
							.end_ns = event->end_ns,
							.name = stream->layers[event->layer].name,
							.copy_name = true,
							.flow = stream->trace.flow,
							.args = &bytes,
							.arg_count = has_bytes });
}

void stream_tell(struct strata_stream *stream, const struct strata_stream_event *event)
{
	struct stream_trace *trace = &stream->trace;

	if (stream->watch)
		stream->watch(stream->watch_context, event);
	if (!trace->trace)
		return;
	if (event->kind == STRATA_STREAM_WAIT) {
		add_slice(stream, trace->wait, event, false);
		return;
	}
	struct lane_set *set = event->kind == STRATA_STREAM_READ ? &trace->reads : &trace->writes;

	add_slice(stream, transfer_lane(trace, set, event->begin_ns, event->end_ns), event, true);
}

void stream_trace_compute(struct strata_stream *stream, enum strata_stage_hook hook, uint32_t layer)
{
	struct stream_trace *trace = &stream->trace;

	if (!trace->trace)
		return;
	if (hook == STRATA_STAGE_PRE_FORWARD || hook == STRATA_STAGE_PRE_BACKWARD) {
		trace->compute_ns = channel_now_ns();
	} else if (trace->compute_ns) {
		add_slice(stream, trace->compute,
			  &(struct strata_stream_event){ .layer = layer,
							 .begin_ns = trace->compute_ns,
							 .end_ns = channel_now_ns() },
			  false);
		trace->compute_ns = 0;
	}
}
