/*
 * The environment of a job: what its user submitted it with, and over that what Slurm scripts and
 * GPU libraries expect and what is Strata's own. One function from facts to text, with nothing read
 * from anywhere.
 */
#ifndef EXEC_ENVIRONMENT_H
#define EXEC_ENVIRONMENT_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdint.h>

/* The job's part on one node. */
struct environment_node {
	const char *name;
	uint32_t tasks;
	uint32_t cpus;
	uint16_t gpu_mask; /* which of the node's GPUs */
	/* what the machine calls the node's GPU 0: not 0 where nodes are emulated */
	uint32_t gpu_first;
};

/* All pointers are borrowed during the call; texts may be NULL and numbers 0 when there is none
 * or it was not asked for, unless said. */
struct environment {
	const char *const *user_environment; /* "NAME=value", NULL-terminated */
	uint64_t job;                        /* not 0 */
	uint32_t attempt;                    /* not 0 */
	uint32_t restart_count;
	const char *name, *user, *account, *partition, *qos, *cluster, *home, *shell;
	const char *submit_dir, *submit_host;
	int64_t uid, gid;

	const struct environment_node *nodes; /* the script runs on the first */
	uint32_t node_count;                  /* not 0 */
	const char *node_list;                /* all of them in short: "n[001-002]" */
	uint32_t tasks;                       /* in all; 0: not asked for */
	uint32_t tasks_per_node, cpus_per_task;
	int64_t memory_per_node_bytes, memory_per_cpu_bytes;
	uint32_t gpus;             /* in all, as asked */
	const char *gpus_per_node; /* as asked: "a100:2" */
	uint32_t gpus_per_task;

	uint64_t array_job; /* 0: not of an array */
	uint32_t array_task, array_count, array_min, array_max, array_step;

	int64_t start_ns, time_limit_ns; /* since 1970; STRATA_DURATION_UNLIMITED: no limit */

	const char *job_file;       /* its own in the state; what its processes are known by */
	const char *checkpoint_dir; /* where it is to write checkpoints */
	const char *checkpoint;     /* the one to go on from */
	const char *socket;         /* of the API … */
	const char *token_file;     /* … and its key to it */
};

/* NAME=value, NULL-terminated, in the arena: the user's variables that are not set by us, in
 * their order, then ours. Variables of another job, in which this one was submitted, are left
 * out, but for those that say how this one was asked for (SLURM_GPUS_PER_TASK …): these are the
 * submitter's, as in Slurm. */
int environment_make(const struct environment *from, struct strata_arena *arena,
		     const char *const **ret_environment, struct strata_error *err);

/* What begins the variables of resource limits that a job takes over from where it was
 * submitted, as in Slurm: SLURM_RLIMIT_NOFILE=1024. */
#define ENVIRONMENT_LIMIT "SLURM_RLIMIT_"

/* The value of a variable, or NULL. */
const char *environment_find(const char *const *environment, const char *name);

#endif
