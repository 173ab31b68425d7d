/*
 * A replay of the pool as a picture for ui.perfetto.dev: a group of tracks per worker, in it a
 * slice for each stretch of time that a task is with it, and a curve of what waits. Written as the
 * replay goes on.
 */
#ifndef SIM_POOL_GANTT_H
#define SIM_POOL_GANTT_H

#include <strata/limits.h>
#include <strata/trace.h>

struct pool_gantt;

/* A task with a worker. */
struct pool_gantt_task {
	uint32_t number; /* as the trace has it, from 0 */
	const char *user;
	int64_t arrival_ns;
	uint32_t steps_done, steps;
};

/* The sink is borrowed until the end. */
int pool_gantt_open(struct strata_memory *memory, size_t worker_count,
		    const struct strata_trace_sink *sink, struct pool_gantt **ret_gantt,
		    struct strata_error *err);
/* From now on the worker has just these tasks; the numbers say which of them it had. */
void pool_gantt_set(struct pool_gantt *gantt, size_t worker, const struct pool_gantt_task *tasks,
		    size_t count, int64_t now_ns);
void pool_gantt_count(struct pool_gantt *gantt, size_t pending, size_t running, int64_t now_ns);
/* Ends the file: what is wrong with it, if anything is. The chart is gone either way; NULL is nothing. */
int pool_gantt_close(struct pool_gantt *gantt, struct strata_error *err);

#endif
