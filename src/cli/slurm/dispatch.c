/*
 * Every command of Slurm that there is (commands.def); and how the program finds out that it was
 * called as one of them.
 */
#include "cli/slurm/command.h"

#include <string.h>

static const struct slurm_command *const commands[] = {
#define COMMAND(name) &slurm_##name,
#include "cli/slurm/commands.def"
#undef COMMAND
};

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

void slurm_complete_names(struct buf *ret_lines)
{
	const struct slurm_command *command;

	for (size_t i = 0; (command = slurm_command_at(i)); i++)
		buf_printf(ret_lines, "%s\t%s\n", command->name, command->summary);
}

void slurm_complete(const struct slurm_command *command, const char *last, struct buf *ret_lines)
{
	if (last[0] == '-')
		slurm_rows_complete(command->syntax, ret_lines);
}

int slurm_main(struct cli *cli, const struct slurm_command *command, int argc, char **argv)
{
	int rc = cli_config_load(cli);

	cli_output_init(cli);
	if (rc) {
		slurm_error(cli, command->name, "%s", cli->err.text);
		return 1;
	}
	argv[0] = (char *)command->name; /* however it was called */
	rc = command->run(cli, argc, argv);
	cli_flush(cli);
	return rc;
}
