/* strata users set: weight and limits of one of them. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)operand_count;
	return people_set(cli, conf, "users", operands[0]);
}

const struct cli_command cli_users_set = {
	.name = "users set",
	.operands = "NAME",
	.summary = "change the weight and limits of a user",
	.about = "What is not named stays as it is. For administrators.",
	.examples = "  strata users set ann --weight 2 --max-gpus 4",
	.options = &people_user_schema,
	.operands_min = 1,
	.operands_max = 1,
	.run = run,
};
