/*
 * What is written from the rows: --usage, --help, the candidates of a shell. Names of one option stand together; options without
 * effect come last, so that nobody counts on them.
 */
#include "slurm/rows.h"

#include <string.h>

enum { LINE_COLUMNS = 80, HELP_COLUMN = 34 };

const char *slurm_effect_name(enum strata_slurm_effect effect)
{
	static const char *const names[] = {
		[STRATA_SLURM_ACTS] = "acts",
		[STRATA_SLURM_HOLDS] = "holds anyway",
		[STRATA_SLURM_IGNORED] = "none",
		[STRATA_SLURM_REFUSED] = "refused",
	};

	return names[effect];
}

static const char *value_mark(const struct slurm_row *row)
{
	static const char *const marks[] = { [STRATA_SLURM_NONE] = "",
					     [STRATA_SLURM_REQUIRED] = "=…",
					     [STRATA_SLURM_OPTIONAL] = "[=…]" };

	return marks[row->option.argument];
}

/* Has it been named by a row before? */
static bool is_alias(const struct slurm_syntax *syntax, const struct slurm_row *row)
{
	for (const struct slurm_row *before = NULL;
	     (before = slurm_row_next(syntax, before)) && before < row;)
		if (slurm_row_same(before, row))
			return true;
	return false;
}

void slurm_rows_usage(const struct slurm_syntax *syntax, struct buf *ret_lines)
{
	size_t column = 0;

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));) {
		size_t length = strlen(row->option.name) + strlen("[--] ");

		if (row->option.effect != STRATA_SLURM_ACTS || is_alias(syntax, row))
			continue;
		if (column && column + length > LINE_COLUMNS) {
			buf_add(ret_lines, "\n");
			column = 0;
		}
		buf_printf(ret_lines, "%s[--%s%s]", column ? " " : "  ", row->option.name,
			   value_mark(row));
		column += length;
	}
	buf_add(ret_lines, "\n");
}

/* "  -A, --account, --accounts=…   accounts whose jobs are shown" */
static void add_option(const struct slurm_syntax *syntax, const struct slurm_row *row,
		       struct buf *lines)
{
	char letter = row->option.letter;
	struct buf names;
	int columns = 0;

	buf_init(&names, lines->memory, 0);
	for (const struct slurm_row *other = row; other; other = slurm_row_next(syntax, other))
		if (slurm_row_same(row, other)) {
			buf_printf(&names, "%s--%s", names.length ? ", " : "", other->option.name);
			letter = letter ? letter : other->option.letter;
		}
	buf_add(&names, value_mark(row));
	for (const char *at = names.text; *at; at++)
		columns += (*at & 0xc0) != 0x80;
	if (letter)
		buf_printf(lines, "  -%c, ", letter);
	else
		buf_add(lines, "      ");
	buf_printf(lines, "%s%*s %s\n", names.text,
		   columns < HELP_COLUMN ? HELP_COLUMN - columns : 0, "", row->option.help);
	buf_fini(&names);
}

static void add_others(const struct slurm_syntax *syntax, enum strata_slurm_effect effect,
		       const char *title, struct buf *lines)
{
	bool any = false;

	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));) {
		if (row->option.effect != effect)
			continue;
		buf_printf(lines, "%s--%s", any ? ", " : title, row->option.name);
		any = true;
	}
	buf_add(lines, any ? "\n" : "");
}

void slurm_rows_help(const struct slurm_syntax *syntax, struct buf *ret_lines)
{
	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));)
		if (row->option.effect == STRATA_SLURM_ACTS && !is_alias(syntax, row))
			add_option(syntax, row, ret_lines);
	add_others(syntax, STRATA_SLURM_HOLDS, "Accepted, and so anyway: ", ret_lines);
	add_others(syntax, STRATA_SLURM_IGNORED, "Accepted without effect here: ", ret_lines);
	add_others(syntax, STRATA_SLURM_REFUSED, "Refused: ", ret_lines);
}

void slurm_rows_complete(const struct slurm_syntax *syntax, struct buf *ret_lines)
{
	for (const struct slurm_row *row = NULL; (row = slurm_row_next(syntax, row));)
		if (row->option.effect == STRATA_SLURM_ACTS)
			buf_printf(ret_lines, "--%s\t%s\n", row->option.name, row->option.help);
}
