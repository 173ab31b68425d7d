/* strata resume: frozen jobs go on. */
#include "cli/service.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf;
	return job_change(cli, operands, operand_count, json_pack("{s:b}", "suspend", 0));
}

const struct cli_command cli_resume = {
	.name = "resume",
	.operands = "ID…",
	.summary = "let frozen jobs go on",
	.about = "They go on as soon as the cores and GPUs that they had are free again.",
	.examples = "  strata resume 17",
	.operands_min = 1,
	.operands_max = -1,
	.run = run,
};
