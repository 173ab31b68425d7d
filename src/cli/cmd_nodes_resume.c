/* strata nodes resume: back in use. */
#include "cli/node_table.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return nodes_change(cli, operands, operand_count, "up", NULL);
}

const struct cli_command cli_nodes_resume = {
	.name = "nodes resume",
	.operands = "NAME…",
	.summary = "bring drained or dead nodes back into use",
	.examples = "  strata nodes resume n3",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
