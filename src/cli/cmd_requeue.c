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
	.about = "A running job is stopped and waits again, with its checkpoints. The number of an "
		 "array is all\n"
		 "of it that runs, 17_3 and 17_[3-9] are elements.",
	.examples = "  strata requeue 17\n"
		    "  strata requeue 40_[3-9]",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
