/* strata users: show who uses the service, how much, and with which limits. */
#include "cli/people.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return people_show(cli, "users");
}

const struct cli_command cli_users = {
	.name = "users",
	.summary = "show who uses the service, how much, and with which limits",
	.about = "The fair share is 1 for who has used nothing, and goes to 0 for who has used "
		 "much. "
		 "GPU hours\ncount less the longer ago they were used.",
	.examples = "  strata users\n"
		    "  strata users set NAME --weight 2",
	.run = run,
};
