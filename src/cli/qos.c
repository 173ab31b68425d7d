/* strata qos: show the qualities of service and their limits. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return people_show(cli, "qos");
}

const struct cli_command cli_qos = {
	.name = "qos",
	.summary = "show the qualities of service and their limits",
	.examples = "  strata qos\n"
		    "  strata qos set urgent --priority 100 --max-gpus 8",
	.run = run,
};
