/* strata partitions: show the partitions and their time limits. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return people_show(cli, "partitions");
}

const struct cli_command cli_partitions = {
	.name = "partitions",
	.summary = "show the partitions and their time limits",
	.examples = "  strata partitions\n"
		    "  strata partitions set short --default --time-limit 10m --time-limit-max 1h",
	.run = run,
};
