/* strata suspend: running jobs stand still and keep their memory, until they are resumed. */
#include "cli/service.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_change(cli, operands, operand_count, json_pack("{s:b}", "suspend", 1));
}

const struct cli_command cli_suspend = {
	.name = "suspend",
	.operands = "ID…",
	.summary = "freeze running jobs",
	.about = "A frozen job keeps its memory and gives its cores and GPUs to others until "
		 "`strata resume`. The number\n"
		 "of an array is all of it that runs, 17_3 and 17_[3-9] are elements.",
	.examples = "  strata suspend 17",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
