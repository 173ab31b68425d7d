/* strata release: held jobs may start again. */
#include "cli/service.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_change(cli, operands, operand_count, json_pack("{s:b}", "hold", 0));
}

const struct cli_command cli_release = {
	.name = "release",
	.operands = "ID…",
	.summary = "let held jobs start again",
	.about = "The job waits from now on as if it had not been held. The number of an array is "
		 "all of it that\n"
		 "waits, 17_3 and 17_[3-9] are elements.",
	.examples = "  strata release 17\n"
		    "  strata release 40_[3-9]",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
