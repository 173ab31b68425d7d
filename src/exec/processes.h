/*
 * The processes of a job, found in /proc. A supervisor is the subreaper of what it starts: whatever
 * daemonises or changes its session stays its descendant. And whatever a dead supervisor left
 * behind still carries STRATA_JOB_FILE in its environment.
 */
#ifndef EXEC_PROCESSES_H
#define EXEC_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum processes_which {
	PROCESSES_ALL,      /* every descendant of this process */
	PROCESSES_CATCHERS, /* those that have a handler for the signal */
	PROCESSES_STEPS,    /* those that srun started: SLURM_STEP_ID is in their environment */
};

/* Sends a signal, to parents before children. Returns how many got it, or a negative code. A
 * process born meanwhile may be missed: call again. */
int processes_signal(int signal, enum processes_which which);

/* Kills every process, but this one, that was started for the job of this directory. Returns how
 * many, or a negative code. */
int processes_kill_orphans(const char *job_file);

#endif
