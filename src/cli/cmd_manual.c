/*
 * strata manual: the scdoc source of a command's man page, from its row; Slurm's names have theirs
 * from the rows of their options. tools/install-docs turns every one into a page.
 */
#include "cli/cli.h"
#include "cli/slurm/command.h"

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

static const char *value_mark(const struct strata_slurm_option *option)
{
	static const char *const marks[] = { [STRATA_SLURM_NONE] = "",
					     [STRATA_SLURM_REQUIRED] = "=_value_",
					     [STRATA_SLURM_OPTIONAL] = "\\[=_value_\\]" };

	return marks[option->argument];
}

/* The options of one effect, under a title of their own. */
static void slurm_options_of(const struct slurm_syntax *syntax, enum strata_slurm_effect effect,
			     const char *title, struct buf *buf)
{
	bool any = false;

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));) {
		const struct strata_slurm_option *option = &row->option;

		if (option->effect != effect)
			continue;
		if (!any)
			buf_printf(buf, "# %s\n\n", title);
		any = true;
		if (option->letter)
			buf_printf(buf, "*\\-%c*, ", option->letter);
		buf_printf(buf, "*\\-\\-%s*%s\n\t", option->name, value_mark(option));
		add_prose(buf, option->help);
		if (option->env) {
			buf_add(buf, " (variable ");
			add_prose(buf, option->env);
			buf_add_char(buf, ')');
		}
		buf_add(buf, "\n\n");
	}
}

static void slurm_page(struct cli *cli, const struct slurm_command *command)
{
	struct buf *buf = &cli->out;

	buf_printf(buf, "%s(1)\n\n# NAME\n\n%s - ", command->name, command->name);
	add_prose(buf, command->summary);
	buf_printf(buf, "\n\n# SYNOPSIS\n\n*%s* \\[options\\] ", command->name);
	add_prose(buf, command->operands ? command->operands : "");
	buf_add(buf, "\n\n# DESCRIPTION\n\nSlurm's command as a name of *strata*(1): it asks the "
		     "service of Strata. Options, sentences and exit codes are those of Slurm "
		     "22.05; *strata slurm ls* lists what differs.\n\n");
	slurm_options_of(command->syntax, STRATA_SLURM_ACTS, "OPTIONS", buf);
	slurm_options_of(command->syntax, STRATA_SLURM_HOLDS,
			 "OPTIONS THAT ASK FOR WHAT IS SO ANYWAY", buf);
	slurm_options_of(command->syntax, STRATA_SLURM_IGNORED, "OPTIONS WITHOUT EFFECT HERE", buf);
	slurm_options_of(command->syntax, STRATA_SLURM_REFUSED, "OPTIONS THAT ARE REFUSED", buf);
	if (command->help) { /* prints, which is behind what is in the buf */
		buf_add(buf, "# WORDS\n\n```\n");
		command->help(cli);
		buf_add(buf, "```\n\n");
	}
	buf_add(buf, "# SEE ALSO\n\n*strata*(1), *strata-slurm-ls*(1)\n");
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
	const struct slurm_command *slurm;
	size_t words;

	(void)conf;
	if (operand_count == 0) { /* the names of the pages */
		cli_print(cli, "strata\n");
		for (size_t i = 0; (command = cli_command_at(i)); i++)
			if (!command->hidden)
				cli_printf(cli, "%s\n", command->name);
		return 0;
	}
	if (operand_count == 1 && strcmp(operands[0], "slurm") == 0) { /* of Slurm's names */
		for (size_t i = 0; (slurm = slurm_command_at(i)); i++)
			cli_printf(cli, "%s\n", slurm->name);
		return 0;
	}
	if (operand_count == 1 && strcmp(operands[0], "strata") == 0) {
		overview_page(&cli->out);
		return 0;
	}
	slurm = operand_count == 1 ? slurm_command_find(operands[0]) : NULL;
	if (slurm) {
		slurm_page(cli, slurm);
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
