/* strata slurm ls: Slurm's commands and where they are, or the options of one and what becomes of
 * them here. */
#include "cli/slurm/command.h"

#include "core/env.h"
#include "slurm/output_format.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Where the links are installed, seen from the program: bin/strata and libexec/strata/slurm. "":
 * not to be found. */
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

/* ---- JSON: everything there is to know of the commands ---- */

static json_t *option_json(const struct strata_slurm_option *option)
{
	static const char *const arguments[] = { [STRATA_SLURM_NONE] = "none",
						 [STRATA_SLURM_REQUIRED] = "required",
						 [STRATA_SLURM_OPTIONAL] = "optional" };
	const char letter[2] = { option->letter, '\0' };

	return json_pack("{s:s, s:s*, s:s, s:s*, s:s, s:s}", "name", option->name, "letter",
			 option->letter ? letter : NULL, "argument", arguments[option->argument],
			 "variable", option->env, "effect", slurm_effect_name(option->effect),
			 "help", option->help);
}

static json_t *fields_json(const struct slurm_field_table *table)
{
	json_t *list = json_array();

	for (const struct slurm_field *field = table->fields; field->write; field++) {
		const char letter[2] = { field->letter, '\0' };

		json_array_append_new(list, json_pack("{s:s*, s:s*, s:s}", "letter",
						      field->letter ? letter : NULL, "name",
						      field->name, "title", field->title));
	}
	return json_pack("{s:s, s:o}", "of", table->of, "fields", list);
}

static json_t *command_json(const struct slurm_command *command)
{
	json_t *options = json_array(), *tables = json_array();

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(command->syntax, row));)
		json_array_append_new(options, option_json(&row->option));
	for (const struct slurm_field_table *table = command->fields; table && table->of; table++)
		json_array_append_new(tables, fields_json(table));
	return json_pack("{s:s, s:s, s:o, s:o}", "name", command->name, "summary", command->summary,
			 "options", options, "fields", tables);
}

static int print_json(struct cli *cli, const char *name, const char *directory)
{
	const struct slurm_command *command;
	json_t *list = json_array();

	for (size_t i = 0; (command = slurm_command_at(i)); i++)
		if (!name || strcmp(name, command->name) == 0)
			json_array_append_new(list, command_json(command));
	return cli_print_json(cli, json_pack("{s:s*,s:o}", "directory",
					     directory[0] ? directory : NULL, "commands", list));
}

/* ---- tables ---- */

static int print_options(struct cli *cli, const struct slurm_command *command)
{
	static const struct cli_column columns[] = { { .title = "OPTION", .style = CLI_BOLD },
						     { .title = "VARIABLE" },
						     { .title = "EFFECT" },
						     { .title = "WHAT", .flexible = true } };
	struct cli_table *table;
	size_t without = 0;
	int rc = cli_table_new(cli, columns, 4, &table);

	if (rc)
		return rc;
	for (const struct slurm_row *row = NULL; (row = slurm_row_next(command->syntax, row));) {
		const struct strata_slurm_option *option = &row->option;
		const char letter[] = { ',', ' ', '-', option->letter, '\0' };

		cli_table_add(table, "--%s%s", option->name, option->letter ? letter : "");
		cli_table_add(table, "%s", option->env ? option->env : "-");
		cli_table_add(table, "%s", slurm_effect_name(option->effect));
		cli_table_add(table, "%s", option->help);
		without += option->effect == STRATA_SLURM_IGNORED;
	}
	rc = cli_table_print(table);
	if (without)
		cli_note(cli, "%zu of them are accepted with a warning and without effect",
			 without);
	return rc;
}

static int print_commands(struct cli *cli, const char *directory)
{
	static const struct cli_column columns[] = { { .title = "COMMAND", .style = CLI_BOLD },
						     { .title = "WHAT", .flexible = true } };
	const struct slurm_command *command;
	struct cli_table *table;
	int rc = cli_table_new(cli, columns, 2, &table);

	if (rc)
		return rc;
	for (size_t i = 0; (command = slurm_command_at(i)); i++) {
		cli_table_add(table, "%s", command->name);
		cli_table_add(table, "%s", command->summary);
	}
	rc = cli_table_print(table);
	if (directory[0])
		cli_note(cli, "put them on your PATH: export PATH=%s:$PATH", directory);
	else
		cli_note(cli, "call them as `strata slurm squeue …`");
	return rc;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct slurm_command *command = operand_count ? slurm_command_find(operands[0])
							    : NULL;
	char path[PATH_MAX];

	(void)conf;
	if (operand_count && !command)
		return strata_fail(&cli->err, -EINVAL,
				   "'%.60s' is no command of Slurm that works here; `strata slurm "
				   "ls` lists them",
				   operands[0]);
	find_links(path);
	if (cli->globals.json)
		return print_json(cli, command ? command->name : NULL, path);
	return command ? print_options(cli, command) : print_commands(cli, path);
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	(void)cli;
	if (operand_index == 0)
		slurm_complete_names(ret_lines);
}

const struct cli_command cli_slurm_ls = {
	.name = "slurm ls",
	.operands = "[COMMAND]",
	.summary = "list Slurm's commands that work here, or the options of one",
	.about = "Each is a name of this program: a link to it that is called squeue works as "
		 "squeue, and\n"
		 "so does `strata slurm squeue`. The links are in a directory of their own, so "
		 "that they\n"
		 "hide a real Slurm only where that directory stands first on PATH. With a "
		 "command's name, its\n"
		 "options are listed with what becomes of them here: an option acts, what it asks "
		 "for holds\n"
		 "anyway, or it has no effect and the command says so.",
	.examples = "  strata slurm ls\n"
		    "  strata slurm ls squeue\n"
		    "  strata slurm squeue --me",
	.operands_max = 1,
	.run = run,
	.complete = complete,
};
