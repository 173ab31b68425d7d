/* Words of Slurm's commands, read by their rows; what the rows say of themselves; and what is said
 * of words that are none. */
#include "cli/slurm/command.h"

#include "cli/service.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static void print_call(struct cli *cli, const struct slurm_command *command)
{
	cli_printf(cli, "Usage: %s [OPTION…]%s%s\n", command->name, command->operands ? " " : "",
		   command->operands ? command->operands : "");
}

void slurm_help(struct cli *cli, const struct slurm_command *command)
{
	struct buf lines;

	buf_init(&lines, &cli->memory, 0);
	slurm_rows_help(command->syntax, &lines);
	print_call(cli, command);
	cli_printf(cli, "%c%s. Its options are Slurm's:\n%s", toupper(command->summary[0]),
		   command->summary + 1, lines.text);
	buf_fini(&lines);
	if (command->help)
		command->help(cli);
}

static void print_usage(struct cli *cli, const struct slurm_command *command)
{
	struct buf lines;

	buf_init(&lines, &cli->memory, 0);
	slurm_rows_usage(command->syntax, &lines);
	print_call(cli, command);
	cli_print(cli, lines.text);
	buf_fini(&lines);
}

int slurm_talk(struct cli *cli, const struct slurm_command *command, const char *option)
{
	if (strcmp(option, "version") == 0)
		return slurm_version(cli);
	if (strcmp(option, "help") == 0)
		slurm_help(cli, command);
	else if (strcmp(option, "usage") == 0)
		print_usage(cli, command);
	else
		return -1;
	return 0;
}

static void complain(struct cli *cli, const struct slurm_command *command)
{
	const char *text = "out of memory\n";

	slurm_rows_complaint(&cli->err, command->name, &cli->arena, &text);
	cli_flush(cli);
	fputs(text, stderr);
}

int slurm_options(struct cli *cli, const struct slurm_command *command, int argc, char **argv,
		  void *into, struct slurm_reading *reading)
{
	const char *warning = NULL;
	int rc = slurm_reading_init(reading, command->syntax, &cli->arena, into, &cli->err);

	reading->context = cli;
	if (rc == 0)
		rc = slurm_rows_read_env(reading, (const char *const *)environ, &cli->err);
	if (rc == 0)
		rc = slurm_rows_read_words(reading, (const char *const *)argv + 1, (size_t)argc - 1,
					   &cli->err);
	if (rc == 0)
		rc = slurm_rows_warning(reading, &warning, &cli->err);
	if (rc && rc != -ECANCELED)
		complain(cli, command);
	if (rc)
		return 1;
	if (warning)
		slurm_say(cli, "%s: warning: %s", command->name, warning);
	return reading->ended ? slurm_talk(cli, command, reading->ended->option.name) : -1;
}

void slurm_print_settings(struct cli *cli, const struct slurm_setting *settings, size_t count,
			  int width)
{
	cli_print(cli, "-----------------------------\n");
	for (size_t i = 0; i < count; i++)
		cli_printf(cli, "%-*s = %s\n", width, settings[i].name,
			   settings[i].value ? settings[i].value : "(null)");
	cli_print(cli, "-----------------------------\n");
}

/* ---- readers ---- */

int slurm_read_own_name(struct slurm_reading *reading, const struct slurm_row *row,
			const char *value, struct strata_error *err)
{
	struct cli *cli = (struct cli *)reading->context;

	(void)value, (void)err;
	*(const char **)slurm_row_field(reading, row) = service_own_name(cli);
	return 0;
}

bool slurm_interval_parse(const char *text, int64_t *ret_seconds)
{
	return strata_int_parse(text, STRATA_TEXT_NUL, 1, INT32_MAX, ret_seconds, NULL) == 0;
}
