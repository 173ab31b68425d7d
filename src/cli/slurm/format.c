/* Columns as people ask for them: see format.h. */
#include "cli/slurm/format.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WIDTH_MAX = 10000, NAMED_WIDTH = 20, FITTED_WIDTH = 9 };

const struct slurm_field *slurm_field_find(const struct slurm_field *fields, char letter)
{
	for (; fields->write; fields++)
		if (fields->letter == letter)
			return fields;
	return NULL;
}

static const struct slurm_field *find_name(const struct slurm_field *fields, const char *name,
					   size_t length)
{
	for (; fields->write; fields++)
		if (fields->name && strncasecmp(fields->name, name, length) == 0 &&
		    fields->name[length] == '\0')
			return fields;
	return NULL;
}

static int read_width(const char **at)
{
	long width = isdigit((unsigned char)**at) ? strtol(*at, (char **)at, 10) : 0;

	return width > WIDTH_MAX ? WIDTH_MAX : (int)width;
}

int slurm_format_read(struct cli *cli, const char *command, const char *what,
		      const struct slurm_field *fields, const char *text,
		      struct slurm_format *ret_format)
{
	struct slurm_format format = { 0 };
	const char *at = text;

	format.columns =
		strata_arena_array(&cli->arena, strlen(text) / 2 + 1, sizeof(*format.columns));
	if (!format.columns)
		return strata_fail_memory(&cli->err);
	for (;;) {
		size_t plain = strcspn(at, "%");
		struct slurm_column column = { .before =
						       strata_arena_text(&cli->arena, at, plain) };

		at += plain;
		if (!*at || !at[1]) {
			format.after = column.before;
			break;
		}
		for (at++; *at == '.' || *at == '#'; at++) {
			column.right |= *at == '.';
			column.fitted |= *at == '#';
		}
		column.width = column.fitted ? FITTED_WIDTH : read_width(&at);
		column.field = *at ? slurm_field_find(fields, *at) : NULL;
		if (column.field)
			format.columns[format.count++] = column;
		else
			slurm_error(cli, command, "Invalid %s: %c", what, *at ? *at : '%');
		at += *at != '\0';
	}
	*ret_format = format;
	return 0;
}

int slurm_format_read_names(struct cli *cli, const char *command, const char *what,
			    const struct slurm_field *fields, const char *text,
			    struct slurm_format *ret_format)
{
	struct slurm_format format = { .after = "" };
	const char *before = "";

	format.columns =
		strata_arena_array(&cli->arena, strlen(text) / 2 + 1, sizeof(*format.columns));
	if (!format.columns)
		return strata_fail_memory(&cli->err);
	for (const char *at = text; *at;) {
		size_t span = strcspn(at, ","), name = strcspn(at, ":,");
		struct slurm_column column = { .field = find_name(fields, at, name),
					       .before = before,
					       .width = NAMED_WIDTH };

		if (!column.field) {
			slurm_error(cli, command, "Invalid %s: %.*s", what, (int)name, at);
			return -EINVAL;
		}
		if (name < span) {
			const char *rest = at + name + 1;

			column.right = *rest == '.';
			rest += column.right;
			if (isdigit((unsigned char)*rest))
				column.width = read_width(&rest);
			before = strata_arena_text(&cli->arena, rest, (size_t)(at + span - rest));
		} else {
			before = "";
		}
		format.columns[format.count++] = column;
		at += span + (at[span] == ',');
	}
	format.after = before;
	*ret_format = format;
	return 0;
}

/* Cut and padded. */
static void add_cell(struct cli *cli, const struct slurm_column *column, const char *text,
		     bool whole)
{
	int length = (int)strlen(text), width = column->width;

	if (width && !whole && length > width)
		length = width;
	int room = width > length ? width - length : 0;

	cli_printf(cli, "%s%*s%.*s%*s", column->before, column->right ? room : 0, "", length, text,
		   column->right ? 0 : room, "");
}

void slurm_format_fit(struct cli *cli, struct slurm_format *format, const void *row)
{
	struct buf cell;

	buf_init(&cell, &cli->memory, 0);
	for (size_t i = 0; i < format->count; i++) {
		struct slurm_column *column = &format->columns[i];

		if (!column->fitted)
			continue;
		buf_reset(&cell);
		column->field->write(&cell, row);
		if (column->width < (int)cell.length)
			column->width = (int)cell.length;
	}
	buf_fini(&cell);
}

void slurm_format_head(struct cli *cli, const struct slurm_format *format)
{
	for (size_t i = 0; i < format->count; i++)
		add_cell(cli, &format->columns[i], format->columns[i].field->title, false);
	cli_printf(cli, "%s\n", format->after ? format->after : "");
}

void slurm_format_row(struct cli *cli, const struct slurm_format *format, const void *row)
{
	struct buf cell;

	buf_init(&cell, &cli->memory, 0);
	for (size_t i = 0; i < format->count; i++) {
		buf_reset(&cell);
		format->columns[i].field->write(&cell, row);
		add_cell(cli, &format->columns[i], cell.text, format->columns[i].field->whole);
	}
	cli_printf(cli, "%s\n", format->after ? format->after : "");
	buf_fini(&cell);
}
