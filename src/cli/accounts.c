/* strata accounts: show the accounts, their use and their limits. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return people_show(cli, "accounts");
}

const struct cli_command cli_accounts = {
	.name = "accounts",
	.summary = "show the accounts, their use and their limits",
	.about = "The fair share is 1 for who has used nothing, and goes to 0 for who has used "
		 "much. "
		 "GPU hours\ncount less the longer ago they were used.",
	.examples = "  strata accounts\n"
		    "  strata accounts set NAME --weight 2",
	.run = run,
};
