/*
 * Timelines of tasks whose users asked for one, as their workers recorded them: trace files below
 * STATE/traces (part_file.h). A debugging aid, so there is a fixed number of places: a task's is
 * its number modulo that, and whoever comes next to it replaces it. The decider's, but for reading.
 */
#ifndef SERVER_TASK_TRACES_H
#define SERVER_TASK_TRACES_H

#include "server/part_file.h"

#include <strata/limits.h>

extern const struct part_place task_traces_place;

struct task_traces {
	int64_t tasks[STRATA_TASK_TRACES_MAX]; /* whose trace a place has; 0: nobody's */
};

/* What is there; what was never accepted is removed. After a start. */
void task_traces_load(struct task_traces *traces, const char *state_dir);
int task_traces_accept(struct task_traces *traces, const char *state_dir, const char *part,
		       int64_t task, struct strata_error *err);
/* Opens it to be read: the descriptor, or -ENOENT. Any thread. */
int task_traces_open_file(const char *state_dir, int64_t task, uint64_t *ret_bytes,
			  struct strata_error *err);

#endif
