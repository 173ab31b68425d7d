/* sacct's own: a line (a job or one of its steps) and the fields that can be asked for. */
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
};

struct sacct_field {
	const char *name;
	int width; /* below 0: to the left */
	void (*write)(struct buf *buf, const struct sacct_line *line);
};

/* The one of this name, in any case; NULL: none. */
const struct sacct_field *sacct_field_find(const char *name, size_t length);
/* NULL past the end. */
const struct sacct_field *sacct_field_at(size_t index);

#endif
