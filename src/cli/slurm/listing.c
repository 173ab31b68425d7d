/* Printing of listing.h. */
#include "cli/slurm/listing.h"

#include <string.h>

bool listing_read(struct cli *cli, const char *command, const struct slurm_field *fields,
		  const char *names, struct listing *listing)
{
	int rc = slurm_format_read_list(fields, names, &cli->arena, &listing->format, &cli->err);

	if (rc)
		slurm_error(cli, command, "%s", cli->err.text);
	return rc == 0;
}

/* What stands between columns must not come from within one: "\x7c" in place of "|". Slurm prints
 * it, and the row has a column more. */
static void print_delimited(struct cli *cli, const char *text, const char *delimiter)
{
	size_t length = strlen(delimiter);
	const char *found;

	while (length && (found = strstr(text, delimiter))) {
		cli_printf(cli, "%.*s\\x%02x", (int)(found - text), text, (unsigned char)*found);
		text = found + 1;
	}
	cli_print(cli, text);
}

/* Cut with a plus at the end. */
static void print_cell(struct cli *cli, const struct listing *listing,
		       const struct slurm_column *column, const char *text, bool last)
{
	int width = column->width;

	if (listing->delimiter) {
		print_delimited(cli, text, column->field->chosen ? listing->delimiter : "");
		cli_print(cli, last && !listing->delimiter_last ? "" : listing->delimiter);
	} else if ((int)strlen(text) > width) {
		cli_printf(cli, "%.*s+ ", width - 1, text);
	} else {
		cli_printf(cli, "%*s ", column->right ? width : -width, text);
	}
}

void listing_head(struct cli *cli, const struct listing *listing)
{
	const struct slurm_format *format = &listing->format;

	if (listing->headless)
		return;
	for (size_t i = 0; i < format->count; i++) {
		const struct slurm_field *field = format->columns[i].field;

		print_cell(cli, listing, &format->columns[i],
			   field->title && *field->title ? field->title : field->name,
			   i + 1 == format->count);
	}
	cli_print(cli, "\n");
	for (size_t i = 0; !listing->delimiter && i < format->count; i++) {
		for (int j = 0; j < format->columns[i].width; j++)
			cli_print(cli, "-");
		cli_print(cli, i + 1 == format->count ? " \n" : " ");
	}
}

void listing_row(struct cli *cli, const struct listing *listing, const void *row)
{
	const struct slurm_format *format = &listing->format;
	struct buf cell;

	buf_init(&cell, &cli->memory, 0);
	for (size_t i = 0; i < format->count; i++) {
		buf_reset(&cell);
		format->columns[i].field->write(&cell, row);
		print_cell(cli, listing, &format->columns[i], cell.text, i + 1 == format->count);
	}
	cli_print(cli, "\n");
	buf_fini(&cell);
}

void listing_names(struct cli *cli, const struct slurm_field *fields)
{
	for (size_t i = 0; fields[i].write; i++)
		cli_printf(cli, "%-19s%s", fields[i].name,
			   i % 4 == 3 || !fields[i + 1].write ? "\n" : " ");
}
