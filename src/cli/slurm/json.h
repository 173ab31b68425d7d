/* --json as Slurm 22.05 writes it: its frame, its indentation, its names. */
#ifndef CLI_SLURM_JSON_H
#define CLI_SLURM_JSON_H

#include "cli/slurm/node_read.h"

/* Prints {"meta": …, "errors": [], key: list} and gives back the reference to the list. 0 or 1, the
 * exit code. */
int slurm_print_json(struct cli *cli, const char *key, json_t *list);
/* The same of jobs. */
int slurm_print_jobs_json(struct cli *cli, const struct slurm_jobs *jobs);
/* The same, or as YAML. */
int slurm_print_jobs_as(struct cli *cli, const struct slurm_jobs *jobs, bool yaml);
json_t *slurm_job_json(const struct slurm_job *job);
json_t *slurm_node_json(const struct slurm_node *node);

#endif
