/* strata hold: waiting jobs stay in the queue and do not start. */
#include "cli/service.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_change(cli, operands, operand_count, json_pack("{s:b}", "hold", 1));
}

const struct cli_command cli_hold = {
	.name = "hold",
	.operands = "ID…",
	.summary = "keep waiting jobs from starting",
	.about = "A held job stays in the queue until `strata release`. The number of an array is "
		 "all of it that\n"
		 "waits, 17_3 and 17_[3-9] are elements.",
	.examples = "  strata hold 17\n"
		    "  strata hold 40_[3-9]",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
