/* Columns as people ask for them: see output_format.h. */
#include "slurm/output_format.h"

#include "core/text.h"

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

/* Each column needs two characters of the text at least, but for a list's single letter. */
static int make_room(const char *text, struct strata_arena *arena, struct slurm_format *format,
		     struct strata_error *err)
{
	*format = (struct slurm_format){ .after = "", .unknown = "" };
	format->columns = strata_arena_array(arena, strlen(text) / 2 + 1, sizeof(*format->columns));
	return format->columns ? 0 : strata_fail_memory(err);
}

/* "%.#18i", of which the percent sign is at *at, up to the letter. */
static struct slurm_column read_column(const struct slurm_field *fields, const char **at)
{
	struct slurm_column column = { 0 };

	for (++*at; **at == '.' || **at == '#'; ++*at) {
		column.right |= **at == '.';
		column.fitted |= **at == '#';
	}
	column.width = column.fitted ? FITTED_WIDTH : read_width(at);
	column.field = **at ? slurm_field_find(fields, **at) : NULL;
	return column;
}

int slurm_format_read(const struct slurm_field *fields, const char *text,
		      struct strata_arena *arena, struct slurm_format *ret_format,
		      struct strata_error *err)
{
	struct slurm_format format;
	char *unknown = strata_arena_get(arena, strlen(text) / 2 + 2);
	size_t unknown_count = 0;
	int rc = make_room(text, arena, &format, err);

	if (rc == 0 && !unknown)
		rc = strata_fail_memory(err);
	for (const char *at = text; rc == 0;) {
		size_t plain = strcspn(at, "%");
		const char *before = strata_arena_text(arena, at, plain);

		if (!before)
			rc = strata_fail_memory(err);
		at += plain;
		if (!*at || !at[1]) {
			format.after = before;
			break;
		}
		struct slurm_column column = read_column(fields, &at);

		column.before = before;
		if (column.field)
			format.columns[format.count++] = column;
		else
			unknown[unknown_count++] = *at ? *at : '%';
		at += *at != '\0';
	}
	if (rc)
		return rc;
	unknown[unknown_count] = '\0';
	format.unknown = unknown;
	*ret_format = format;
	return 0;
}

int slurm_format_read_names(const struct slurm_field *fields, const char *what, const char *text,
			    struct strata_arena *arena, struct slurm_format *ret_format,
			    struct strata_error *err)
{
	struct slurm_format format;
	char excerpt[TEXT_EXCERPT_BYTES];
	int rc = make_room(text, arena, &format, err);

	for (const char *at = text; rc == 0 && *at;) {
		size_t span = strcspn(at, ","), name = strcspn(at, ":,");
		struct slurm_column column = { .field = find_name(fields, at, name),
					       .before = format.after,
					       .width = NAMED_WIDTH };

		if (!column.field)
			return strata_fail(err, -EINVAL, "Invalid %s: %s", what,
					   text_excerpt(at, name, excerpt));
		format.after = "";
		if (name < span) {
			const char *rest = at + name + 1;

			column.right = *rest == '.';
			rest += column.right;
			if (isdigit((unsigned char)*rest))
				column.width = read_width(&rest);
			format.after = strata_arena_text(arena, rest, (size_t)(at + span - rest));
			if (!format.after)
				rc = strata_fail_memory(err);
		}
		format.columns[format.count++] = column;
		at += span + (at[span] == ',');
	}
	if (rc == 0)
		*ret_format = format;
	return rc;
}

/* A width that was asked for changes the side only where it is below 0. */
static struct slurm_column list_column(const struct slurm_field *field, const char *width)
{
	struct slurm_column column = {
		.field = field, .before = "", .width = abs(field->width), .right = field->width > 0
	};
	long asked = width ? strtol(width, NULL, 10) : 0;

	if (asked && labs(asked) < WIDTH_MAX) {
		column.width = (int)labs(asked);
		column.right &= asked > 0;
	}
	return column;
}

int slurm_format_read_list(const struct slurm_field *fields, const char *text,
			   struct strata_arena *arena, struct slurm_format *ret_format,
			   struct strata_error *err)
{
	struct slurm_format format;
	char excerpt[TEXT_EXCERPT_BYTES];
	int rc = make_room(text, arena, &format, err);

	for (const char *at = text; rc == 0 && *at;) {
		size_t span = strcspn(at, ","), name = strcspn(at, "%,");
		const struct slurm_field *field = find_name(fields, at, name);

		if (name && !field)
			return strata_fail(err, -EINVAL, "Invalid field requested: \"%s\"",
					   text_excerpt(at, name, excerpt));
		if (name)
			format.columns[format.count++] =
				list_column(field, name < span ? at + name + 1 : NULL);
		at += span + (at[span] == ',');
	}
	if (rc == 0)
		*ret_format = format;
	return rc;
}

/* Cut and padded. */
static void add_cell(const struct slurm_column *column, const char *text, bool whole,
		     struct buf *line)
{
	int length = (int)strlen(text), width = column->width;

	if (width && !whole && length > width)
		length = width;
	int room = width > length ? width - length : 0;

	buf_printf(line, "%s%*s%.*s%*s", column->before, column->right ? room : 0, "", length, text,
		   column->right ? 0 : room, "");
}

void slurm_format_fit(struct slurm_format *format, const void *row, struct strata_memory *memory)
{
	struct buf cell;

	buf_init(&cell, memory, 0);
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

void slurm_format_head(const struct slurm_format *format, struct buf *ret_line)
{
	for (size_t i = 0; i < format->count; i++)
		add_cell(&format->columns[i], format->columns[i].field->title, false, ret_line);
	buf_printf(ret_line, "%s\n", format->after);
}

void slurm_format_row(const struct slurm_format *format, const void *row, struct buf *ret_line)
{
	struct buf cell;

	buf_init(&cell, ret_line->memory, 0);
	for (size_t i = 0; i < format->count; i++) {
		const struct slurm_column *column = &format->columns[i];

		buf_reset(&cell);
		column->field->write(&cell, row);
		add_cell(column, cell.text, column->field->whole, ret_line);
	}
	buf_printf(ret_line, "%s\n", format->after);
	buf_fini(&cell);
}
