/* The small program: what is here is the full one's to do. */
#include "cli/cli.h"

const struct client_web *cli_web(void)
{
	return NULL;
}

int serve_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return cli_hand_over(cli);
}

int backup_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return cli_hand_over(cli);
}

int doctor_run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	return cli_hand_over(cli);
}
