/*
 * srun: tasks of a step, within a job (srun_step.c), or a job of their own (srun_job.c), in which
 * srun is called again. The options are read in srun.c; which nodes a step has is srun_place.c,
 * with srun_claim.c for what it takes from other steps and srun_layout.c for how tasks are spread,
 * without asking anybody.
 */
#ifndef CLI_SLURM_SRUN_H
#define CLI_SLURM_SRUN_H

#include "cli/slurm/slurm_batch.h"

#include <sched.h>

struct srun {
	struct cli *cli;
	struct batch batch; /* its job is the step: what the options say */
	const char *job_id; /* that we are in; NULL: in none */
	char **words;       /* behind "srun" */
	char **command;     /* NULL behind the last */
	size_t word_count, command_count;
};

/* What the job has on one of its nodes. */
struct srun_node {
	const char *name;
	int64_t tasks;       /* of this step */
	const int64_t *gpus; /* as the machine numbers them; once it is claimed, the step's */
	size_t gpu_count;
	int64_t cpus; /* of the job; 0: not known */
	size_t place; /* among the job's nodes */
};

struct srun_layout {
	struct srun_node *nodes; /* of the step only */
	size_t node_count;
	int64_t task_count;
	const char *node_list;      /* "n[001-002]" */
	const char *tasks_per_node; /* "2(x2)" */
};

/* ---- srun_layout.c ---- */

/* Numbers of every node in Slurm's short form, "8(x2),4": one after the other into the list, up to
 * `room`. Returns how many there are. */
size_t srun_counts_parse(const char *text, int64_t *ret_counts, size_t room);
/* Spreads the tasks over the nodes, which come with the whole job's names and GPUs. `usual` are
 * the tasks that the job has on each. Nodes without a task are left out. false: out of memory. */
bool srun_spread(struct srun_layout *layout, const int64_t *usual, int64_t per_node,
		 struct strata_arena *arena);
/* The GPUs of a task as a list "0,1" in the arena: each `per_task` of the node's, or all of them
 * when that is 0. */
const char *srun_task_gpus(const struct srun_node *node, int64_t local, int64_t per_task,
			   struct strata_arena *arena);
/* The rank of a node's n-th task: tasks are dealt out `plane` at a time, node by node; 0: a node
 * has all of its own before the next. */
int64_t srun_rank(const struct srun_layout *layout, size_t node, int64_t local, int64_t plane);
/* "cyclic" is 1, "plane=4" 4, others 0. */
int64_t srun_plane(const char *distribution);
/* "0-1,3"; in the arena. */
const char *srun_ranks(const int64_t *ranks, size_t count, struct strata_arena *arena);

/* ---- srun_claim.c ---- */

/* Where the steps of this job claim what they use; −1: nowhere, they share everything. What is
 * claimed is so until it is closed. */
int srun_claim_open(void);
/* Could the step run if it were alone? */
bool srun_claim_possible(const struct srun *srun, const struct srun_layout *layout);
/* Claims what the step uses; its nodes have those GPUs then. false: others have it, and nothing was
 * claimed. */
bool srun_claim_try(int fd, const struct srun *srun, struct srun_layout *layout);

/* ---- srun_place.c ---- */

/* Works out where the step runs, and waits until other steps of the job leave it room. 0, or an
 * exit code. */
int srun_place(struct srun *srun, struct srun_layout *layout);
/* Says that there will be no step, and why. The exit code. */
int srun_refuse(struct srun *srun, const char *why);

/* ---- srun_step.c ---- */

/* Runs the tasks and waits for them. Returns the exit code. */
int srun_step(struct srun *srun);

/* ---- srun_tasks.c ---- */

struct srun_tasks;
/* One task: what it is told and where it writes. */
struct srun_task {
	const char *node;
	int64_t rank, local; /* in the step, and on its node */
	const char *program; /* its path */
	const char *const *argv;
	const char *const *environment;
	int fds[3];
	bool terminal; /* they are one, and ours as well */
};
/* Starts them, passes on what they write and waits. Returns the highest exit code; `ret_signal` is
 * set where a signal was the cause. */
int srun_run(const struct srun *srun, const struct srun_task *tasks, size_t count, int64_t step,
	     int *ret_signal);

/* ---- srun_programs.c ---- */

/* What each task runs. False: it cannot be, which has been said. */
bool srun_set_programs(struct srun *srun, struct srun_task *tasks, size_t count, int64_t step);

/* ---- srun_bind.c ---- */

/* The GPUs that a task sees of its node's, as --gpu-bind says: "0,1" in the arena. */
const char *srun_bound_gpus(const struct srun_node *node, const char *bind, int64_t local,
			    struct strata_arena *arena);
/* Moves us to the CPUs of a task, which is to be started next. False: it is not bound. */
bool srun_bind_begin(const struct srun *srun, const struct srun_task *task, cpu_set_t *ret_before);
void srun_bind_end(const cpu_set_t *before);

/* ---- srun_prolog.c ---- */

/* --prolog and --epilog; NULL: none. */
void srun_around(const struct srun *srun, const char *program);
/* Before a task, whose variables it may change; and after it. */
void srun_task_prolog(struct srun *srun, struct srun_task *task);
void srun_task_epilog(const struct srun *srun, const struct srun_task *task);

/* ---- srun_join.c ---- */

/* Makes us one of the job of --jobid. Returns 0 or the exit code. */
int srun_join(struct srun *srun);

/* ---- srun_job.c ---- */

/* A job that runs these words again. Returns the exit code. */
int srun_job(struct srun *srun);

#endif
