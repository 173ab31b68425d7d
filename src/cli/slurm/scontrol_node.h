/* scontrol update nodename=… */
#ifndef CLI_SLURM_SCONTROL_NODE_H
#define CLI_SLURM_SCONTROL_NODE_H

#include "cli/slurm/command.h"

/* The words behind "update". Returns the exit code. */
int scontrol_update_node(struct cli *cli, char **words, size_t count);

#endif
