/* Columns as people ask for them, on the terminal: see columns.h. */
#include "cli/slurm/columns.h"

int slurm_columns_read(struct cli *cli, const char *command, const char *what,
		       const struct slurm_field *fields, const char *letters, const char *names,
		       struct slurm_format *ret_format)
{
	int rc = names ? slurm_format_read_names(fields, what, names, &cli->arena, ret_format,
						 &cli->err)
		       : slurm_format_read(fields, letters, &cli->arena, ret_format, &cli->err);

	if (rc)
		slurm_error(cli, command, "%s", cli->err.text);
	for (const char *at = rc ? "" : ret_format->unknown; *at; at++)
		slurm_error(cli, command, "Invalid %s: %c", what, *at);
	return rc;
}

void slurm_columns_head(struct cli *cli, const struct slurm_format *format)
{
	struct buf line;

	buf_init(&line, &cli->memory, 0);
	slurm_format_head(format, &line);
	cli_print(cli, line.text);
	buf_fini(&line);
}

void slurm_columns_row(struct cli *cli, const struct slurm_format *format, const void *row)
{
	struct buf line;

	buf_init(&line, &cli->memory, 0);
	slurm_format_row(format, row, &line);
	cli_print(cli, line.text);
	buf_fini(&line);
}
