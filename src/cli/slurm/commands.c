/*
 * Every command of Slurm that there is, one line each, sorted; and how the program finds out that it was called as one of them.
 */
#include "cli/slurm/slurm.h"

#include <string.h>

/* clang-format off */
static const struct slurm_command *const commands[] = {
	&slurm_sacct,
	&slurm_sbatch,
	&slurm_scancel,
	&slurm_scontrol,
	&slurm_sinfo,
	&slurm_sprio,
	&slurm_squeue,
	&slurm_srun,
	&slurm_sshare,
};
/* clang-format on */

const struct slurm_command *slurm_command_at(size_t index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}

const struct slurm_command *slurm_command_find(const char *name)
{
	const struct slurm_command *command;

	for (size_t i = 0; (command = slurm_command_at(i)); i++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

const struct slurm_command *slurm_called(int *argc, char ***argv)
{
	const struct slurm_command *command = NULL;
	int words = 0;

	if (*argc > 0) {
		const char *slash = strrchr((*argv)[0], '/');

		command = slurm_command_find(slash ? slash + 1 : (*argv)[0]);
	}
	if (!command && *argc > 2 && strcmp((*argv)[1], "slurm") == 0) {
		command = slurm_command_find((*argv)[2]);
		words = 2;
	}
	if (!command)
		return NULL;
	*argc -= words;
	*argv += words;
	return command;
}

int slurm_main(struct cli *cli, const struct slurm_command *command, int argc, char **argv)
{
	char name[32];
	int rc = cli_config_load(cli);

	cli_output_init(cli);
	if (rc) {
		slurm_error(cli, command->name, "%s", cli->err.text);
		return 1;
	}
	/* getopt begins its messages with it */
	snprintf(name, sizeof(name), "%s", command->name);
	argv[0] = name;
	rc = command->run(cli, argc, argv);
	cli_flush(cli);
	return rc;
}
