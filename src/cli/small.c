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

int cli_devices(struct cli *cli, struct strata_machine *ret_machine, struct strata_error *ret_note,
		size_t *ret_guessed)
{
	(void)ret_machine, (void)ret_note, (void)ret_guessed;
	return cli_hand_over(cli);
}

int cli_calibrate(struct cli *cli, const struct strata_measure_conf *conf,
		  struct strata_measured *ret_result)
{
	(void)conf, (void)ret_result;
	return cli_hand_over(cli);
}
