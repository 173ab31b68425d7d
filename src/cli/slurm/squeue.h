/* squeue's own: its columns, and its steps. */
#ifndef CLI_SLURM_SQUEUE_H
#define CLI_SLURM_SQUEUE_H

#include "cli/slurm/columns.h"
#include "cli/slurm/jobs.h"

extern const struct slurm_field squeue_fields[]; /* of struct slurm_job */
extern const struct slurm_field
	squeue_step_fields[]; /* of struct squeue_step: squeue_step_fields.c */

/* By keys such as "P,t,-p". */
void squeue_sort(struct cli *cli, struct slurm_jobs *jobs, const char *keys);

struct squeue_step {
	const struct slurm_job *job;
	const char *name;  /* "0"; NULL: the batch script */
	const char *title; /* "batch", or what runs */
	const char *nodes;
	int64_t start_ns, run_s, tasks;
};

#endif
