/*
 * What the service does, as events of <strata/trace.h>: the rounds of the decider, the commits of
 * the store and what the executor is told and reports. They are kept in memory, the newest of each
 * lane, and GET /api/v1/trace writes them; times are of the clock "realtime", so that `strata
 * trace` and `strata trace merge` put them beside jobs and the traces of other programs. A job's
 * number is its flow; a task has one of its own.
 */
#ifndef SERVER_SERVICE_TRACE_H
#define SERVER_SERVICE_TRACE_H

#include "core/env.h"

#include <strata/trace.h>

struct service_trace {
	const struct env *env;
	struct strata_memory memory; /* of the rings alone */
	struct strata_trace *trace;
	int64_t offset_ns; /* what makes realtime of the monotonic clock */
	/* only the deciding thread adds to them; NULL before service_trace_open */
	struct strata_trace_lane *decider, *store, *executor, *reports, *tasks;
};

/* All zero may be closed. The environment is borrowed. */
int service_trace_open(struct service_trace *trace, const struct env *env,
		       struct strata_error *err);
void service_trace_close(struct service_trace *trace);

/* Monotonic: the clock of the events. */
int64_t service_trace_now_ns(const struct service_trace *trace);

/* Something that began then and ends now, with a count of what it was about ("changes": 3). job
 * 0: of no job. The name and the key are literals. */
void service_trace_slice(const struct service_trace *trace, struct strata_trace_lane *lane,
			 const char *name, int64_t start_ns, uint64_t job,
			 struct strata_trace_arg about);

/* Something that an executor reports, on a lane of its own, since it was before the report: at_ns
 * is since 1970, 0: now. */
void service_trace_report(const struct service_trace *trace, const char *name, uint64_t job,
			  int64_t at_ns, struct strata_trace_arg about);

/* Something that happens to a generation task now. */
void service_trace_task(const struct service_trace *trace, const char *name, int64_t task,
			struct strata_trace_arg about);

#endif
