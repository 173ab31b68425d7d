/* --help of Slurm's commands, from the table that their options are read by. */
#include "cli/slurm/slurm.h"

#include <ctype.h>
#include <string.h>

/* "-n, --name=…"; names that mean the same stand together. */
static void print_option(struct cli *cli, const struct option *options, const struct option *first)
{
	struct buf line;

	buf_init(&line, &cli->memory, 0);
	if (first->val < 256 && isalnum(first->val))
		buf_printf(&line, "  -%c, ", first->val);
	else
		buf_add(&line, "      ");
	for (const struct option *at = first; at->name; at++)
		if (at->val == first->val)
			buf_printf(&line, "%s--%s%s", at == first ? "" : ", ", at->name,
				   at->has_arg == required_argument   ? "=…"
				   : at->has_arg == optional_argument ? "[=…]"
								      : "");
	cli_printf(cli, "%s\n", line.text);
	buf_fini(&line);
}

static bool is_first(const struct option *options, const struct option *at)
{
	for (const struct option *before = options; before < at; before++)
		if (before->val == at->val)
			return false;
	return true;
}

void slurm_help(struct cli *cli, const struct slurm_command *command, const struct option *options,
		int nothing)
{
	bool any = false;

	cli_printf(cli, "Usage: %s [OPTION…]\nIt is to %s, with Slurm's options:\n", command->name,
		   command->summary);
	for (const struct option *at = options; at->name; at++)
		if (at->val != nothing && is_first(options, at))
			print_option(cli, options, at);
	for (const struct option *at = options; at->name; at++)
		if (at->val == nothing) {
			cli_printf(cli, "%s--%s",
				   any ? ", " : "Accepted without effect here: ", at->name);
			any = true;
		}
	cli_print(cli, any ? "\n" : "");
}
