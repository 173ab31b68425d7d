/*
 * strata help: the overview, and one command's page, from the same rows that run it.
 */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

void cli_usage(const struct cli_command *command, struct buf *buf)
{
	buf_printf(buf, "strata %s", command->name);
	if (command->operands)
		buf_printf(buf, " %s", command->operands);
	buf_add(buf, command->options || command->shared ? " [options]" : "");
}

static void print_name(struct cli *cli, const char *name)
{
	cli_printf(cli, "  %s%-14s%s ", cli_style(cli, CLI_BOLD), name, cli_style(cli, CLI_PLAIN));
}

static void print_line(struct cli *cli, const struct cli_command *command)
{
	print_name(cli, command->name);
	cli_printf(cli, "%s\n", command->summary);
}

static bool is_of(const struct cli_command *command, const char *group)
{
	size_t length = strlen(group);

	return strncmp(command->name, group, length) == 0 && command->name[length] == ' ';
}

static void list_group(struct cli *cli, const char *group)
{
	const struct cli_command *command;

	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (!command->hidden && is_of(command, group))
			print_line(cli, command);
}

/* ---- the overview ---- */

static const char *const chapters[CLI_CHAPTER_COUNT] = {
	[CLI_WORK] = "work",          [CLI_LOOK] = "look",
	[CLI_ADMINISTER] = "administer", [CLI_MODELS] = "models",
	[CLI_SIMULATE] = "simulate",  [CLI_PROGRAM] = "the program itself",
};

/* What is used most, in the order of a job's life. */
static const char *const daily[] = { "submit", "run",    "queue", "show",  "why", "logs",
				     "cancel", "jobs",   "nodes", "top",   "generate" };

/* The second words of a group, after `before`: "add, remove". */
static void print_others(struct cli *cli, const char *group, const char *before)
{
	const struct cli_command *command;

	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (!command->hidden && is_of(command, group)) {
			cli_printf(cli, "%s%s", before, command->name + strlen(group) + 1);
			before = ", ";
		}
}

/* A group is one line, at its first command: its own with the others behind it, or only these. */
static void print_command(struct cli *cli, size_t index)
{
	const struct cli_command *command = cli_command_at(index);
	const struct cli_command *last = index ? cli_command_at(index - 1) : NULL;
	size_t length = strcspn(command->name, " ");
	bool alone = !command->name[length];
	char group[32];

	snprintf(group, sizeof(group), "%.*s", (int)length, command->name);
	if (last && (strcmp(last->name, group) == 0 || is_of(last, group)))
		return;
	print_name(cli, group);
	cli_print(cli, alone ? command->summary : "");
	print_others(cli, group, alone ? "; also: " : "");
	cli_print(cli, "\n");
}

static void list_chapter(struct cli *cli, enum cli_chapter chapter)
{
	const struct cli_command *command;

	cli_printf(cli, "\n%s%s%s\n", cli_style(cli, CLI_BOLD), chapters[chapter],
		   cli_style(cli, CLI_PLAIN));
	for (size_t i = 0; (command = cli_command_at(i)); i++)
		if (!command->hidden && cli_chapter_at(i) == chapter)
			print_command(cli, i);
}

static void list_daily(struct cli *cli)
{
	cli_printf(cli, "%severy day%s\n", cli_style(cli, CLI_BOLD), cli_style(cli, CLI_PLAIN));
	for (size_t i = 0; i < sizeof(daily) / sizeof(daily[0]); i++) {
		char *word = (char *)daily[i];
		size_t words;
		const struct cli_command *command = cli_command_find(&word, 1, &words);

		print_line(cli, command);
	}
}

static void print_options(struct cli *cli, const char *title, const struct strata_schema *schema)
{
	cli_printf(cli, "\n%s%s%s\n", cli_style(cli, CLI_BOLD), title, cli_style(cli, CLI_PLAIN));
	option_help(schema, &cli->out);
}

void cli_overview(struct cli *cli)
{
	cli_print(cli, "Strata schedules AI work at every level: what runs next, and where?\n\n"
		       "usage: strata COMMAND [options]\n\n");
	list_daily(cli);
	for (int chapter = 0; chapter < CLI_CHAPTER_COUNT; chapter++)
		list_chapter(cli, (enum cli_chapter)chapter);
	print_options(cli, "options of every command", &cli_globals_schema);
	cli_print(cli, "\nexit status: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused, 5 "
		       "server not "
		       "reachable, 6 conflict\n"
		       "`strata help COMMAND` tells more about one of them.\n");
}

int cli_help_command(struct cli *cli, const struct cli_command *command)
{
	buf_add(&cli->out, "usage: ");
	cli_usage(command, &cli->out);
	cli_printf(cli, "\n\n%s%s\n", command->summary,
		   strchr(".?!", command->summary[strlen(command->summary) - 1]) ? "" : ".");
	if (command->about)
		cli_printf(cli, "\n%s\n", command->about);
	if (cli_is_group(command->name)) {
		cli_printf(cli, "\n%scommands beside it%s\n", cli_style(cli, CLI_BOLD),
			   cli_style(cli, CLI_PLAIN));
		list_group(cli, command->name);
	}
	if (command->options)
		print_options(cli, "options", command->options);
	if (command->shared)
		print_options(cli, command->shared->summary, command->shared);
	print_options(cli, "options of every command", &cli_globals_schema);
	if (command->examples)
		cli_printf(cli, "\n%sexamples%s\n%s\n", cli_style(cli, CLI_BOLD),
			   cli_style(cli, CLI_PLAIN), command->examples);
	return 0;
}

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	size_t words;

	(void)conf;
	if (operand_count == 0) {
		cli_overview(cli);
		return 0;
	}
	const struct cli_command *command = cli_command_find(operands, operand_count, &words);

	if (command && words == operand_count)
		return cli_help_command(cli, command);
	if (operand_count == 1 && cli_is_group(operands[0])) {
		cli_printf(cli, "usage: strata %s COMMAND [options]\n\n", operands[0]);
		list_group(cli, operands[0]);
		return 0;
	}
	return strata_fail(
		&cli->err, -ENOENT, "there is no command '%.60s%s%.60s'; `strata help` lists them",
		operands[0], operand_count > 1 ? " " : "", operand_count > 1 ? operands[1] : "");
}

static void complete(struct cli *cli, size_t operand_index, struct buf *ret_lines)
{
	const struct cli_command *command;

	(void)cli;
	for (size_t i = 0; operand_index == 0 && (command = cli_command_at(i)); i++)
		if (!command->hidden)
			buf_printf(ret_lines, "%.*s\t%s\n", (int)strcspn(command->name, " "),
				   command->name, command->summary);
}

const struct cli_command cli_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "show what a command does and what it takes",
	.operands_max = 2,
	.run = run,
	.complete = complete,
};
