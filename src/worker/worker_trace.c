/* The lanes of worker_trace.h. */
#include "worker/worker_trace.h"

#include "core/env.h"

#include <errno.h>
#include <unistd.h>

enum { WORKER_TID = 1, PIPELINE_TID, ENGINE_TID, EVENTS = 1 << 12 };

int worker_trace_open(struct worker_trace *trace, uint64_t job, struct strata_engine *engine,
		      struct strata_error *err)
{
	const struct strata_trace_lane_conf lane = { .tid = WORKER_TID,
						     .name = "batches",
						     .event_count = EVENTS };

	*trace = (struct worker_trace){ .job = job,
					.offset_ns = env_realtime_offset_ns(env_system()) };
	const struct strata_trace_conf conf = { .pid = (uint32_t)getpid(),
						.process_name = "strata worker",
						.clock_name = "realtime",
						.offset_ns = trace->offset_ns };
	int rc = strata_trace_new(&trace->memory, &conf, &trace->trace, err);

	if (rc == 0)
		rc = strata_trace_add_lane(trace->trace, &lane, &trace->lane, err);
	return rc ? rc : strata_engine_trace(engine, trace->trace, ENGINE_TID, err);
}

int worker_trace_pipeline(struct worker_trace *trace, struct strata_pipeline *pipeline,
			  struct strata_error *err)
{
	return strata_pipeline_trace(pipeline, trace->trace, PIPELINE_TID, err);
}

void worker_trace_close(struct worker_trace *trace)
{
	strata_trace_free(trace->trace);
	*trace = (struct worker_trace){ 0 };
}

uint64_t worker_trace_flow(int64_t task)
{
	return STRATA_TRACE_TASK_FLOWS + (uint64_t)task;
}

void worker_trace_begin(struct worker_trace *trace, int64_t now_ns, const int64_t *tasks,
			size_t count)
{
	if (!trace || !trace->lane)
		return;
	strata_trace_begin(trace->lane, now_ns, "batch", trace->job,
			   strata_trace_int("tasks", (int64_t)count));
	for (size_t i = 0; i < count; i++)
		strata_trace_flow(trace->lane, now_ns, worker_trace_flow(tasks[i]));
}

void worker_trace_end(struct worker_trace *trace, int64_t now_ns)
{
	if (trace && trace->lane)
		strata_trace_end(trace->lane, now_ns);
}

void worker_trace_slice(struct worker_trace *trace, const char *name, int64_t task,
			int64_t begin_ns, int64_t end_ns)
{
	if (trace && trace->lane)
		strata_trace_slice(trace->lane,
				   (struct strata_trace_event){ .time_ns = begin_ns,
								.end_ns = end_ns,
								.name = name,
								.flow = worker_trace_flow(task) });
}

static int add_bytes(void *context, const char *bytes, size_t count)
{
	struct buf *buf = context;

	if (buf->limit_bytes && count > buf->limit_bytes - buf->length)
		return -E2BIG;
	buf_add_bytes(buf, bytes, count);
	return buf_check(buf, NULL);
}

int worker_trace_write(struct worker_trace *trace, int64_t since_ns, struct buf *file,
		       struct strata_error *err)
{
	const struct strata_trace_sink sink = { add_bytes, file };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	int rc = strata_trace_write(trace->trace, since_ns + trace->offset_ns, &arena, &sink, err);

	strata_arena_fini(&arena);
	return rc == -E2BIG ? strata_fail(err, rc, "it has more than %zu bytes", file->limit_bytes)
			    : rc;
}
