/*
 * strata manual: the scdoc source of a command's man page, from its row. tools/install-docs turns
 * every one into a page.
 */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

/* scdoc takes these for markup, and a dash at a line's start for an item of a list. */
static void add_prose(struct buf *buf, const char *text)
{
	for (const char *at = text; *at; at++) {
		bool item = *at == '-' && (at == text || at[-1] == '\n');

		buf_printf(buf, "%s%c", item || strchr("_*#\\<>[]~", *at) ? "\\" : "", *at);
	}
}

static void page_name(const struct cli_command *command, struct buf *buf)
{
	buf_add(buf, "strata-");
	for (const char *at = command->name; *at; at++)
		buf_add_char(buf, *at == ' ' ? '-' : *at);
}

static void add_exit_status(struct buf *buf)
{
	buf_add(buf, "# EXIT STATUS\n\n"
		     "*0*\n\tdone\n\n*1*\n\tfailed\n\n*2*\n\twrong usage\n\n*3*\n\tnot "
		     "found\n\n*4*\n\trefused\n\n"
		     "*5*\n\tserver not reachable\n\n*6*\n\tconflict with what is there\n\n");
}

static void command_page(const struct cli_command *command, struct buf *buf)
{
	page_name(command, buf);
	buf_add(buf, "(1)\n\n# NAME\n\n");
	page_name(command, buf);
	buf_add(buf, " - ");
	add_prose(buf, command->summary);
	buf_printf(buf, "\n\n# SYNOPSIS\n\n*strata %s* ", command->name);
	add_prose(buf, command->operands ? command->operands : "");
	buf_add(buf, " \\[options\\]\n\n");
	if (command->about) {
		buf_add(buf, "# DESCRIPTION\n\n");
		add_prose(buf, command->about);
		buf_add(buf, "\n\n");
	}
	if (command->options) {
		buf_add(buf, "# OPTIONS\n\n");
		option_manual(command->options, buf);
	}
	if (command->shared) {
		buf_printf(buf, "# %s\n\n", command->shared->summary);
		option_manual(command->shared, buf);
	}
	buf_add(buf, "# OPTIONS OF EVERY COMMAND\n\n");
	option_manual(&cli_globals_schema, buf);
	if (command->examples)
		buf_printf(buf, "# EXAMPLES\n\n```\n%s\n```\n\n", command->examples);
	add_exit_status(buf);
	buf_add(buf, "# SEE ALSO\n\n*strata*(1)\n");
}

static void overview_page(struct buf *buf)
{
	const struct cli_command *command;

	buf_add(buf, "strata(1)\n\n# NAME\n\nstrata - schedules AI work at every level\n\n"
		     "# SYNOPSIS\n\n*strata* COMMAND \\[options\\]\n\n# COMMANDS\n\n");
	for (size_t i = 0; (command = cli_command_at(i)); i++) {
		if (command->hidden)
			continue;
		buf_add_char(buf, '*');
		page_name(command, buf);
		buf_add(buf, "*(1)\n\t");
		add_prose(buf, command->summary);
		buf_add(buf, "\n\n");
	}
	buf_add(buf, "# OPTIONS OF EVERY COMMAND\n\n");
	option_manual(&cli_globals_schema, buf);
	buf_add(buf, "# ENVIRONMENT\n\n*STRATA\\_CONFIG*\n\tthe configuration file to read instead "
		     "of the usual ones\n\n"
		     "*NO\\_COLOR*\n\twhen not empty: no colours\n\n");
	add_exit_status(buf);
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	const struct cli_command *command;
	size_t words;

	(void)conf;
	if (operand_count == 0) { /* the names of the pages */
		cli_print(cli, "strata\n");
		for (size_t i = 0; (command = cli_command_at(i)); i++)
			if (!command->hidden)
				cli_printf(cli, "%s\n", command->name);
		return 0;
	}
	if (operand_count == 1 && strcmp(operands[0], "strata") == 0) {
		overview_page(&cli->out);
		return 0;
	}
	command = cli_command_find(operands, operand_count, &words);
	if (!command || words != operand_count)
		return strata_fail(&cli->err, -ENOENT, "there is no command '%.60s'", operands[0]);
	command_page(command, &cli->out);
	return 0;
}

const struct cli_command cli_manual = {
	.name = "manual",
	.operands = "[COMMAND]",
	.summary = "print the source of a command's man page",
	.operands_max = 2,
	.hidden = true,
	.run = run,
};
