/* Reading a table of references. Columns are found by name, so tables may have others beside them. */
#include "formats/graph_reference.h"

#include "core/text.h"

#include <strata/text.h>

#include <errno.h>
#include <math.h>
#include <string.h>

enum { COLUMNS_MAX = 64, ROWS_MAX = 4096 };

struct cell {
	const char *text;
	size_t length;
};

struct table {
	const char *at, *end;
	struct cell cells[COLUMNS_MAX];
	size_t count;
	int file, set, processors, value, metric; /* columns; -1: none */
};

static const char *const columns[GRAPH_FORM_COUNT] = {
	[GRAPH_JSON] = "optimum",   [GRAPH_WFCOMMONS] = "heft_speeds_1_1_2_4_s",
	[GRAPH_STG] = "best_found", [GRAPH_RGPOS] = "optimum",
	[GRAPH_DOT] = "optimum",    [GRAPH_DNN] = "optimum_contiguous_dp",
	[GRAPH_OPT] = "optimum_s",
};

static bool next_line(struct table *table)
{
	if (table->at >= table->end)
		return false;
	const char *stop = memchr(table->at, '\n', (size_t)(table->end - table->at));
	const char *last = stop ? stop : table->end;
	const char *from = table->at;

	table->at = stop ? stop + 1 : table->end;
	if (last > from && last[-1] == '\r')
		last--;
	table->count = 0;
	for (;;) {
		const char *tab = memchr(from, '\t', (size_t)(last - from));

		if (table->count < COLUMNS_MAX)
			table->cells[table->count++] =
				(struct cell){ from, (size_t)((tab ? tab : last) - from) };
		if (!tab)
			return true;
		from = tab + 1;
	}
}

static bool is(const struct cell *cell, const char *word)
{
	return cell->length == strlen(word) && memcmp(cell->text, word, cell->length) == 0;
}

static int find(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (is(&table->cells[i], name))
			return (int)i;
	return -1;
}

static const struct cell *cell(const struct table *table, int column)
{
	static const struct cell none = { "", 0 };

	return column >= 0 && (size_t)column < table->count ? &table->cells[column] : &none;
}

static bool is_for(const struct table *table, const char *path)
{
	const char *slash = strrchr(path, '/');
	const struct cell *file = cell(table, table->file), *set = cell(table, table->set);

	if (slash && set->length &&
	    (set->length != (size_t)(slash - path) || memcmp(set->text, path, set->length) != 0))
		return false;
	return is(file, path) || is(file, slash ? slash + 1 : path);
}

static struct graph_reference_row read_row(const struct table *table, enum graph_form form)
{
	const struct cell *value = cell(table, table->value);
	const struct cell *processors = cell(table, table->processors);
	struct graph_reference_row row = { .value = NAN };
	int64_t count;

	if (strata_real_parse(value->text, value->length, &row.value, NULL))
		row.value = NAN;
	if (strata_int_parse(processors->text, processors->length, 1, STRATA_PLACE_DEVICES_MAX,
			     &count, NULL) == 0)
		row.processors = (size_t)count;
	if (form == GRAPH_DNN)
		row.metric = table->metric < 0 || is(cell(table, table->metric), "max-load")
				     ? STRATA_THROUGHPUT
				     : STRATA_LATENCY;
	return row;
}

int graph_reference_find(const char *text, size_t length, enum graph_form form, const char *path,
			 struct strata_arena *arena, struct graph_reference_row **ret_rows,
			 size_t *ret_count, struct strata_error *err)
{
	struct table table = { .at = text, .end = text + length };
	struct graph_reference_row *rows;
	size_t count = 0;

	if (!next_line(&table) || (table.file = find(&table, "file")) < 0)
		return strata_fail(err, -EINVAL, "a table of references has no column \"file\"");
	table.set = find(&table, "set");
	table.processors = find(&table, "processors");
	table.value = find(&table, columns[form]);
	table.metric = find(&table, "metric");
	rows = strata_arena_array(arena, ROWS_MAX, sizeof(*rows));
	if (!rows)
		return strata_fail_memory(err);
	while (next_line(&table) && count < ROWS_MAX)
		if (is_for(&table, path))
			rows[count++] = read_row(&table, form);
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}
