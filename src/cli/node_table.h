/* Nodes in tables, and changing their state: shared by nodes, nodes drain, nodes resume and top. */
#ifndef CLI_NODE_TABLE_H
#define CLI_NODE_TABLE_H

#include "cli/service.h"

extern const struct grid_column node_columns[];
extern const size_t node_column_count;

/* Sets the state of each; reason may be NULL. */
int nodes_change(struct cli *cli, char *const *names, size_t count, const char *state,
		 const char *reason);

#endif
