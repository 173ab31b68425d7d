/*
 * What the service did, as a timeline for ui.perfetto.dev: a process for each node with a track for each of its GPUs (and some for jobs without),
 * on them the jobs; beside them the submissions, from which arrows lead to the starts, the passes of the scheduler, and curves
 * of waiting and running jobs. Jobs are as the API tells of them; nothing is asked for here.
 */
#ifndef CLIENT_CHART_H
#define CLIENT_CHART_H

#include "core/map.h"

#include <strata/memory.h>
#include <strata/trace.h>

#include <jansson.h>

struct chart_job {
	json_t *json;                               /* a reference */
	int64_t submitted_ns, started_ns, ended_ns; /* 0: not yet */
};

/* The times of a job in nanoseconds, which the job itself has in seconds. 0: not told. */
struct chart_exact {
	int64_t submitted_ns, started_ns, ended_ns;
};

struct chart {
	struct strata_memory *memory;
	int64_t since_ns, now_ns; /* what is shown; who still runs is drawn to now */
	struct chart_job *jobs;
	size_t count, room;
	struct map_u64 places; /* json_t *: where each job was put last, as its events tell */
	struct map_u64 exact;  /* struct chart_exact *: of each job, as its events tell */
};

void chart_init(struct chart *chart, struct strata_memory *memory, int64_t since_ns,
		int64_t now_ns);
void chart_fini(struct chart *chart);

/* A job, in any order; one that had ended before is left out. */
int chart_add(struct chart *chart, const json_t *job, struct strata_error *err);

/* An event, in their order: these know times exactly, and where a job ran that has ended. */
int chart_add_event(struct chart *chart, const json_t *event, struct strata_error *err);

/* Writes the file; passes is the list of GET /api/v1/passes, may be NULL. */
int chart_write(struct chart *chart, const json_t *passes, const struct strata_trace_sink *sink,
		struct strata_error *err);

/* A trace as the service answers with it. */
struct chart_trace {
	const char *name; /* "service" */
	const json_t *json;
};
enum { CHART_TRACES_MAX = 4 };
/* The same, merged with other traces: those of the service itself, of a task. */
int chart_write_with(struct chart *chart, const json_t *passes, const struct chart_trace *traces,
		     size_t count, const struct strata_trace_sink *sink, struct strata_error *err);

#endif
