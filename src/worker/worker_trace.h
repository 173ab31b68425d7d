/*
 * What a worker does, as a trace (<strata/trace.h>): a lane with its batches, below it the lanes of
 * its pipeline and of its engine. It is kept in memory, the newest events of each lane; a task whose
 * user asked for a timeline gets what happened since the worker took it.
 */
#ifndef WORKER_WORKER_TRACE_H
#define WORKER_WORKER_TRACE_H

#include "core/buf.h"

#include <strata/engine.h>
#include <strata/pipeline.h>

struct worker_trace {
	struct strata_trace *trace; /* NULL: nothing is recorded */
	struct strata_trace_lane *lane;
	struct strata_memory memory;
	int64_t offset_ns; /* what makes realtime of the monotonic clock */
	uint64_t job;      /* whose process this is; 0: nobody's */
};

/* Before any model is opened; and when the pipeline is there. What is all zero may be closed, after
 * the engine is freed. */
int worker_trace_open(struct worker_trace *trace, uint64_t job, struct strata_engine *engine,
		      struct strata_error *err);
int worker_trace_pipeline(struct worker_trace *trace, struct strata_pipeline *pipeline,
			  struct strata_error *err);
void worker_trace_close(struct worker_trace *trace);

/* The flow of a task. */
uint64_t worker_trace_flow(int64_t task);

/* A batch of tasks begins, and ends. Times are monotonic. NULL is nothing. */
void worker_trace_begin(struct worker_trace *trace, int64_t now_ns, const int64_t *tasks,
			size_t count);
void worker_trace_end(struct worker_trace *trace, int64_t now_ns);
/* Something for one task, which began then. The name is a literal. */
void worker_trace_slice(struct worker_trace *trace, const char *name, int64_t task,
			int64_t begin_ns, int64_t end_ns);

/* The file with what happened since then, at the end of the buffer. -E2BIG past its limit. */
int worker_trace_write(struct worker_trace *trace, int64_t since_ns, struct buf *file,
		       struct strata_error *err);

#endif
