/*
 * The processes of a job, found in /proc. A supervisor is the subreaper of what it starts: whatever daemonises or changes its
 * session stays its descendant. And whatever a dead supervisor left behind still carries STRATA_JOB_FILE in its environment.
 */
#ifndef EXEC_PROCESSES_H
#define EXEC_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Sends a signal to every descendant of this process, parents before children; with `catchers` only to those that have a
 * handler for it. Returns how many got it, or a negative code. A process born meanwhile may be missed: call again. */
int processes_signal(int signal, bool catchers);

/* Kills every process, but this one, that was started for the job of this directory. Returns how many, or a negative code. */
int processes_kill_orphans(const char *job_file);

#endif
