/*
 * Jobs as Slurm speaks of them: read from the service's JSON, with Slurm's states and reasons,
 * numbers and texts where squeue, scontrol, sacct and sprio look for them. Texts live in the run's
 * arena or in the JSON.
 */
#ifndef CLI_SLURM_JOBS_H
#define CLI_SLURM_JOBS_H

#include "cli/slurm/command.h"
#include "slurm/job_state.h"
#include "slurm/slurm_text.h"

/* A job, or all waiting elements of an array. */
struct slurm_job {
	struct strata_arena *arena;   /* of its texts */
	const json_t *json, *request; /* borrowed from the list they came in */
	int64_t id;                   /* of waiting elements: the array's */
	int64_t array_id;             /* 0: not of an array */
	int64_t array_index;
	int64_t array_limit;     /* elements at once; 0: any number */
	const char *array_tasks; /* "1-19:3%2": it stands for these elements; NULL: for itself */
	const char *id_text;     /* "17", "40_4", "40_[1-19:3%2]" */
	const struct slurm_state *state;
	const char *reason; /* "Resources" */
	bool pending, ended;
	int64_t priority;
	int64_t position;                                    /* in the queue; 0: not known */
	const char *user, *account, *partition, *qos, *name; /* never NULL */
	int64_t uid, gid;
	int64_t submit_ns, eligible_ns; /* 0: not known … */
	int64_t start_ns;               /* … or, of one that waits, expected */
	int64_t end_ns;                 /* or expected */
	int64_t run_s, limit_s;
	int64_t nodes, tasks, cpus, cpus_per_task, gpus;
	int64_t memory_bytes;      /* in all */
	int64_t memory_node_bytes; /* asked for of every node; 0: not said */
	const char *node_list;     /* "n[001-008]"; "": nowhere */
	const char *first_node;    /* ""; nowhere */
	const char *gres;          /* of every node: "gres:gpu:a100:2"; NULL: none */
	const char *dependency;    /* "afterok:57(failed)"; NULL: none */
	int64_t exit_code, exit_signal;
	int64_t restarts;
	char unit; /* of sizes: see slurm_size_in */
};

struct slurm_jobs {
	struct slurm_job *list; /* in the arena */
	size_t count;
	json_t *json; /* they came in */
	json_t *users, *partitions;
};

/* The queue; with `ended` also what ended within the last minutes. 0 or a negative code with
 * cli->err set. */
int slurm_jobs_load(struct cli *cli, bool ended, struct slurm_jobs *ret_jobs);
/* Ended and live jobs, newest first, from the history: those submitted since then (NULL: all) of a
 * user (NULL: any). */
int slurm_jobs_history(struct cli *cli, const char *since, const char *user,
		       struct slurm_jobs *ret_jobs);
/* The same as slurm_jobs_load with what has ended, but where `name` is the number of a single job
 * only that one is asked for. */
int slurm_jobs_find(struct cli *cli, const char *name, struct slurm_jobs *ret_jobs);
/* From the history those of a list "7,40_4", whole arrays included; numbers that are not there are
 * left out. */
int slurm_jobs_named(struct cli *cli, const char *list, struct slurm_jobs *ret_jobs);
/* Elements of an array that wait and have not run become one job each array. */
int slurm_jobs_fold(struct cli *cli, struct slurm_jobs *jobs);
void slurm_jobs_fini(struct slurm_jobs *jobs);

/* Its numbered steps (number, name, state, started_at, ended_at, exit_code, exit_signal), or an
 * empty list; the caller's reference. */
json_t *slurm_steps(struct cli *cli, const struct slurm_job *job);

/* What a job runs and its variables ("script", "environment"), as they are: nothing in them is
 * escaped. 0 or a negative code with cli->err set. */
int slurm_job_script(struct cli *cli, const char *id, json_t **ret_json);

/* job_read.c: fills everything of one job; users and partitions of `jobs` are there already. 0 or
 * -ENOMEM. */
int slurm_job_read(struct cli *cli, const struct slurm_jobs *jobs, const json_t *json,
		   struct slurm_job *job);

void slurm_date(struct buf *buf, int64_t ns, const char *otherwise); /* local; 0 is otherwise */
/* "cpu=8,mem=8G,node=8,billing=8,gres/gpu=64" */
void slurm_tres(struct buf *buf, const struct slurm_job *job);
/* The script's path, or "(null)" for what was wrapped. */
void slurm_job_command(struct buf *buf, const struct slurm_job *job);
/* Where it writes ("output" or "error"), also before it runs. */
void slurm_job_output(struct buf *buf, const struct slurm_job *job, const char *which);
/* The default QOS is called normal, as in Slurm. */
#define SLURM_QOS "normal"
/* "n[001-003]"; "" for none, NULL without memory. */
const char *slurm_hosts(struct cli *cli, const char *const *names, size_t count);
/* Is it one of a list "40,41_4"? */
bool slurm_job_named(const struct slurm_job *job, const char *list);
/* Does it run, or did it, on one of these hosts? */
bool slurm_job_on(struct cli *cli, const struct slurm_job *job, const char *hosts);
/* What an option of sbatch said that decides nothing: "network", "wckey"; NULL: it was not
 * given. */
const char *slurm_job_note(const struct slurm_job *job, const char *option);
/* By number, for qsort. */
int slurm_job_compare(const void *left, const void *right);

#endif
