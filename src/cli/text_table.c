/*
 * Tables for people: columns as wide as their widest cell, numbers to the right, the flexible
 * column cut when the terminal is too narrow. Widths are counted in characters on the screen, not
 * in bytes.
 */
#include "cli/cli.h"

#include "core/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { GAP = 2, NARROWEST = 8 };

struct cell {
	const char *text;
	enum cli_style style;
};

struct cli_table {
	struct cli *cli;
	const struct cli_column *columns;
	size_t column_count;
	struct cell *cells; /* row by row, in the arena */
	size_t cell_count, cell_room;
	size_t *widths; /* 0: the column is left out */
	bool failed;
};

int cli_table_new(struct cli *cli, const struct cli_column *columns, size_t count,
		  struct cli_table **ret_table)
{
	struct cli_table *table = strata_arena_get(&cli->arena, sizeof(*table));
	size_t *widths = strata_arena_array(&cli->arena, count, sizeof(*widths));

	if (!table || !widths)
		return strata_fail_memory(&cli->err);
	*table = (struct cli_table){
		.cli = cli, .columns = columns, .column_count = count, .widths = widths
	};
	for (size_t i = 0; i < count; i++)
		widths[i] = text_width(columns[i].title, strlen(columns[i].title));
	*ret_table = table;
	return 0;
}

static bool make_room(struct cli_table *table)
{
	size_t room = table->cell_room ? table->cell_room * 2 : 64;

	if (table->cell_count < table->cell_room)
		return true;
	struct cell *cells = strata_arena_array(&table->cli->arena, room, sizeof(*cells));

	if (!cells)
		return false;
	if (table->cell_count)
		memcpy(cells, table->cells, table->cell_count * sizeof(*cells));
	table->cells = cells;
	table->cell_room = room;
	return true;
}

/* A name from a file or a service may have anything in it. */
static char *show(struct cli_table *table, const char *text, int *length)
{
	struct buf shown;

	buf_init(&shown, &table->cli->memory, 0);
	text_show(&shown, text, (size_t)*length);
	*length = (int)shown.length;
	char *copy = shown.failed ? NULL
				  : strata_arena_text(&table->cli->arena, shown.text, shown.length);

	buf_fini(&shown);
	return copy;
}

static void add_cell(struct cli_table *table, enum cli_style style, const char *format,
		     va_list args)
{
	char text[256]; /* of most cells, of which there may be many */
	va_list again;

	va_copy(again, args);
	int length = vsnprintf(text, sizeof(text), format, args);
	char *copy = length < 0 ? NULL : strata_arena_get(&table->cli->arena, (size_t)length + 1);

	if (copy && (size_t)length < sizeof(text))
		memcpy(copy, text, (size_t)length + 1);
	else if (copy)
		vsnprintf(copy, (size_t)length + 1, format, again);
	va_end(again);
	if (copy && text_printable(copy, (size_t)length) < (size_t)length)
		copy = show(table, copy, &length);
	size_t column = table->cell_count % table->column_count,
	       width = copy ? text_width(copy, (size_t)length) : 0;

	if (!copy || !make_room(table)) {
		table->failed = true;
		return;
	}
	if (width > table->widths[column])
		table->widths[column] = width;
	table->cells[table->cell_count++] = (struct cell){ copy, style };
}

void cli_table_add(struct cli_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_cell(table, table->columns[table->cell_count % table->column_count].style, format,
		 args);
	va_end(args);
}

void cli_table_add_styled(struct cli_table *table, enum cli_style style, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_cell(table, style, format, args);
	va_end(args);
}

void cli_table_add_buf(struct cli_table *table, struct buf *buf, const char *empty)
{
	table->failed |= buf->failed;
	cli_table_add(table, "%s", buf->length ? buf->text : empty);
	buf_fini(buf);
}

/* Leaves out optional columns that say nothing. */
static void leave_out(struct cli_table *table)
{
	for (size_t column = 0; column < table->column_count; column++) {
		bool empty = table->columns[column].optional;

		for (size_t i = column; empty && i < table->cell_count; i += table->column_count)
			empty = strcmp(table->cells[i].text, "-") == 0;
		if (empty)
			table->widths[column] = 0;
	}
}

/* Takes what is too much for the terminal from the flexible column. */
static void fit(struct cli_table *table)
{
	size_t total = 0, room = (size_t)table->cli->columns;

	for (size_t i = 0; i < table->column_count; i++)
		total += table->widths[i] + (i && table->widths[i] ? GAP : 0);
	for (size_t i = 0; room && total > room && i < table->column_count; i++) {
		size_t over = total - room, *width = &table->widths[i];

		if (!table->columns[i].flexible || *width <= NARROWEST)
			continue;
		size_t cut = *width - NARROWEST < over ? *width - NARROWEST : over;

		*width -= cut;
		total -= cut;
	}
}

static void print_cell(struct cli_table *table, size_t column, const char *cell,
		       enum cli_style style)
{
	struct buf *out = &table->cli->out;
	size_t room = table->widths[column], length = strlen(cell),
	       width = text_width(cell, length);
	bool last = column + 1 == table->column_count, cut = width > room;

	if (room == 0)
		return;
	if (cut)
		length = text_fit(cell, length, room - 1, &width);
	size_t pad = room > width + cut ? room - width - cut : 0;

	if (table->columns[column].right)
		buf_add_repeat(out, ' ', pad);
	if (style != CLI_PLAIN)
		buf_add(out, cli_style(table->cli, style));
	buf_add_bytes(out, cell, length);
	if (cut)
		buf_add(out, "…");
	if (style != CLI_PLAIN)
		buf_add(out, cli_style(table->cli, CLI_PLAIN));
	if (!table->columns[column].right && !last)
		buf_add_repeat(out, ' ', pad);
	if (!last)
		buf_add_repeat(out, ' ', GAP);
}

int cli_table_print(struct cli_table *table)
{
	const size_t columns = table->column_count;

	assert(columns > 0);
	if (table->failed)
		return strata_fail_memory(&table->cli->err);
	leave_out(table);
	fit(table);
	for (size_t i = 0; i < columns; i++)
		print_cell(table, i, table->columns[i].title, CLI_BOLD);
	cli_print(table->cli, "\n");
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % columns;

		print_cell(table, column, table->cells[i].text, table->cells[i].style);
		if (column + 1 == columns)
			cli_print(table->cli, "\n");
	}
	return 0;
}
