/* strata accounts set: weight and limits of one of them. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)operand_count;
	return people_set(cli, conf, "accounts", operands[0]);
}

const struct cli_command cli_accounts_set = {
	.name = "accounts set",
	.operands = "NAME",
	.summary = "change the weight and limits of an account",
	.about = "What is not named stays as it is. For administrators.",
	.examples = "  strata accounts set lab --weight 2 --max-gpus 4",
	.options = &people_account_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
