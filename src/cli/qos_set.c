/* strata qos set: change the priority and limits of a quality of service. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)operand_count;
	return people_set(cli, conf, "qos", operands[0]);
}

const struct cli_command cli_qos_set = {
	.name = "qos set",
	.operands = "NAME",
	.summary = "change the priority and limits of a quality of service",
	.about = "What is not named stays as it is. For administrators.",
	.examples = "  strata qos set urgent --priority 100 --max-gpus 8",
	.options = &people_qos_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
