/* strata requeue: jobs start over. */
#include "cli/service.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_change(cli, operands, operand_count, json_pack("{s:b}", "requeue", 1));
}

const struct cli_command cli_requeue = {
	.name = "requeue",
	.operands = "ID…",
	.summary = "send jobs back to the queue, to start over",
	.about = "A running job is stopped and waits again, with its checkpoints.",
	.examples = "  strata requeue 17",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
