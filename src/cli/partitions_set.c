/* strata partitions set: change the time limits of a partition, or make it the default. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)operand_count;
	return people_set(cli, conf, "partitions", operands[0]);
}

const struct cli_command cli_partitions_set = {
	.name = "partitions set",
	.operands = "NAME",
	.summary = "change the time limits of a partition, or make it the default",
	.about = "What is not named stays as it is. For administrators.",
	.examples = "  strata partitions set short --default --time-limit 10m --time-limit-max 1h",
	.options = &people_partition_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
