/* sacct's own: what was asked for, a line (a job or one of its steps), and the fields there are. */
#ifndef CLI_SLURM_SACCT_H
#define CLI_SLURM_SACCT_H

#include "cli/slurm/jobs.h"

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

struct sacct_field {
	const char *name;
	int width; /* below 0: to the left */
	void (*write)(struct buf *buf, const struct sacct_line *line);
	bool chosen; /* somebody's own text, which may have a delimiter in it */
};

/* A field as it was asked for. */
struct sacct_column {
	const struct sacct_field *field;
	int width; /* below 0: to the left */
};

/* What was asked for. */
struct sacct {
	const char *accounts, *jobs, *names, *partitions, *qos, *states, *users, *nodes, *fields;
	const char *from, *until;
	int64_t from_ns, until_ns; /* 0: any time */
	const char *delimiter;     /* NULL: columns */
	bool delimiter_last, head, only_jobs, json;
	struct sacct_column *columns; /* in the arena */
	size_t column_count;
};

/* sacct_lines.c */
void sacct_print_head(struct cli *cli, const struct sacct *sacct);
/* The job and its steps. */
void sacct_print_job(struct cli *cli, const struct sacct *sacct, const struct slurm_job *job);

/* sacct_fields.c */
/* The one of this name, in any case; NULL: none. */
const struct sacct_field *sacct_field_find(const char *name, size_t length);
/* NULL past the end. */
const struct sacct_field *sacct_field_at(size_t index);

#endif
