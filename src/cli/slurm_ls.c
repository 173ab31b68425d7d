/* strata slurm ls: Slurm's commands, and where they are. */
#include "cli/slurm/slurm.h"

#include "core/env.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Where the links are installed, seen from the program: bin/strata and libexec/strata/slurm. "": not to be found. */
static void find_links(char ret_path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	ret_path[length < 0 ? 0 : length] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(ret_path, '/');

		if (slash)
			*slash = '\0';
	}
	size_t used = strlen(ret_path);

	snprintf(ret_path + used, PATH_MAX - used, "/libexec/strata/slurm");
	if (access(ret_path, X_OK) != 0)
		ret_path[0] = '\0';
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	static const struct cli_column columns[] = { { .title = "COMMAND", .style = CLI_BOLD },
						     { .title = "WHAT", .flexible = true } };
	const struct slurm_command *command;
	struct cli_table *table;
	char path[PATH_MAX];

	(void)conf, (void)operands, (void)operand_count;
	find_links(path);
	if (cli->globals.json) {
		json_t *list = json_array();

		for (size_t i = 0; (command = slurm_command_at(i)); i++)
			json_array_append_new(list, json_pack("{s:s,s:s}", "name", command->name,
							      "summary", command->summary));
		return cli_print_json(cli, json_pack("{s:s*,s:o}", "directory",
						     path[0] ? path : NULL, "commands", list));
	}
	int rc = cli_table_new(cli, columns, 2, &table);

	if (rc)
		return rc;
	for (size_t i = 0; (command = slurm_command_at(i)); i++) {
		cli_table_add(table, "%s", command->name);
		cli_table_add(table, "%s", command->summary);
	}
	rc = cli_table_print(table);
	if (path[0])
		cli_note(cli, "put them on your PATH: export PATH=%s:$PATH", path);
	else
		cli_note(cli, "call them as `strata slurm squeue …`");
	return rc;
}

const struct cli_command cli_slurm_ls = {
	.name = "slurm ls",
	.summary = "list Slurm's commands that work here",
	.about = "Each is a name of this program: a link to it that is called squeue works as "
		 "squeue, and\n"
		 "so does `strata slurm squeue`. The links are in a directory of their own, so "
		 "that they\n"
		 "hide a real Slurm only where that directory stands first on PATH.",
	.examples = "  strata slurm ls\n"
		    "  strata slurm squeue --me",
	.run = run,
};
