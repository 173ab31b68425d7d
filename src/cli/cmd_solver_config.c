/* strata solver config: a solver's settings as the file that diffusers keeps them in. */
#include "cli/solver.h"

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	struct solver_asked asked;
	const char *text;
	size_t length;
	int rc = solver_ask(cli, operand_count ? operands[0] : NULL, conf, &asked);

	if (rc)
		return rc;
	const struct strata_solver_setup setup = { { &asked.cls->base, asked.conf },
						   asked.schedule,
						   asked.request.drop_penultimate };

	rc = strata_solver_write_config(&setup, &cli->arena, &text, &length, &cli->err);
	if (rc == 0)
		cli_print(cli, text);
	return rc;
}

static const struct strata_schema config_schema = { "solver config", NULL,
						    sizeof(struct solver_flags), solver_flag_rows };

const struct cli_command cli_solver_config = {
	.name = "solver config",
	.operands = "[NAME]",
	.summary = "print a solver's settings as a diffusers scheduler_config.json",
	.about =
		"NAME is any name of a solver that users know, perhaps with a schedule and options "
		"behind it, or a\nfamily of models; with --config the settings of another file are "
		"taken over. A solver that diffusers\nhas no class for is refused.",
	.examples = "  strata solver config 'DPM++ 2M Karras' > scheduler/scheduler_config.json\n"
		    "  strata solver config unipc --config scheduler_config.json",
	.options = &config_schema,
	.operands_max = 1,
	.run = run,
};
