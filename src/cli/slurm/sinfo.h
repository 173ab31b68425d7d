/* sinfo's own: a line of its tables and its columns. */
#ifndef CLI_SLURM_SINFO_H
#define CLI_SLURM_SINFO_H

#include "cli/slurm/columns.h"
#include "cli/slurm/node_read.h"

/* Nodes of a partition that are alike in what is shown. */
struct sinfo_row {
	struct cli *cli;
	const struct slurm_partition *partition;
	const struct slurm_node **nodes; /* in the arena */
	size_t count;
};

extern const struct slurm_field sinfo_fields[];
/* Does the field add up or list nodes, so that nodes may differ in it? */
bool sinfo_adds_up(const struct slurm_field *field);

#endif
