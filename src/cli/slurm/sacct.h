/* sacct's own: what was asked for, a line (a job or one of its steps), and the fields there are. */
#ifndef CLI_SLURM_SACCT_H
#define CLI_SLURM_SACCT_H

#include "cli/slurm/jobs.h"
#include "cli/slurm/listing.h"

struct sacct_line {
	const struct slurm_job *job;
	const char *step;  /* "batch", "0"; NULL: the job itself */
	const char *name;  /* of the step */
	const char *state; /* "CANCELLED by 0" */
	int64_t exit_code, exit_signal;
	int64_t start_ns, end_ns; /* 0: not yet */
	int64_t nodes, cpus, memory_bytes;
	const char *node_list;
	int64_t tasks;      /* of a step */
	const json_t *used; /* what has its CPU time and memory; NULL: nothing */
};

/* "4", "2-8"; least 0: any number. */
struct sacct_range {
	int64_t least, most;
};

/* What was asked for. */
struct sacct {
	const char *accounts, *jobs, *names, *partitions, *qos, *states, *users, *nodes, *fields;
	const char *groups, *features, *clusters, *reasons, *wckeys;
	int64_t verbose;
	char unit; /* of sizes: see slurm_size_in */
	bool script, variables, yaml;
	struct sacct_range cpus, nodes_used;
	int64_t limit_least_s, limit_most_s; /* 0: any */
	bool truncate;
	const char *from, *until;
	int64_t from_ns, until_ns; /* 0: any time */
	bool only_jobs, json;
	struct listing listing;
};

/* sacct_filter.c */
slurm_read sacct_read_range, sacct_read_limit;
bool sacct_wants(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job);
/* --truncate: times before and after those that were asked for become these. */
void sacct_truncate(const struct sacct *sacct, struct slurm_job *job);

/* sacct_lines.c */
/* The job and its steps. */
void sacct_print_job(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job);

/* Its script, or its variables. */
void sacct_print_text(struct cli *cli, const struct slurm_job *job, bool variables);

/* sacct_fields.c */
extern const struct slurm_field sacct_fields[]; /* of struct sacct_line */

#endif
