/* `strata report` on a terminal: for each section its sentence, and a table where one says more. */
#include "cli/report.h"

#include <stdio.h>

enum { ROWS = 8 };

static void percent_cell(const struct grid_cell *cell)
{
	const json_t *part = json_object_get(cell->row, cell->key);

	if (json_is_number(part))
		cli_table_add(cell->table, "%.0f %%", 100 * json_number_value(part));
	else
		cli_table_add(cell->table, "-");
}

static void seconds_cell(const struct grid_cell *cell)
{
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	report_add_value(&buf, "s", json_number_value(json_object_get(cell->row, cell->key)));
	cli_table_add_buf(cell->table, &buf, "");
}

static const struct grid_column use_columns[] = {
	{ { .title = "USER", .style = CLI_BOLD }, grid_text, "user" },
	{ { .title = "JOBS", .right = true }, grid_text, "jobs" },
	{ { .title = "TASKS", .right = true }, grid_text, "tasks" },
	{ { .title = "HOURS", .right = true }, grid_hours, "hours" },
	{ { .title = "PART", .right = true }, percent_cell, "part" },
};

static const struct grid_column wait_columns[] = {
	{ { .title = "CLASS", .style = CLI_BOLD }, grid_text, "class" },
	{ { .title = "JOBS", .right = true }, grid_text, "jobs" },
	{ { .title = "HALF WITHIN", .right = true }, seconds_cell, "median_s" },
	{ { .title = "90 % WITHIN", .right = true }, seconds_cell, "p90_s" },
	{ { .title = "99 % WITHIN", .right = true }, seconds_cell, "p99_s" },
	{ { .title = "LONGEST", .right = true }, seconds_cell, "longest_s" },
};

static const struct grid_column fairness_columns[] = {
	{ { .title = "USER", .style = CLI_BOLD }, grid_text, "user" },
	{ { .title = "BY SHARES", .right = true }, percent_cell, "entitled" },
	{ { .title = "HAD", .right = true }, percent_cell, "had" },
};

static const struct grid_column waste_columns[] = {
	{ { .title = "USER", .style = CLI_BOLD }, grid_text, "user" },
	{ { .title = "CORES USED", .right = true }, percent_cell, "cpu" },
	{ { .title = "MEMORY USED", .right = true }, percent_cell, "memory" },
	{ { .title = "TIME USED", .right = true }, percent_cell, "time" },
	{ { .title = "IDLE CORE HOURS", .right = true }, grid_hours, "idle_core_hours" },
};

static const struct {
	const char *key, *title, *rows;
	const struct grid_column *columns;
	size_t column_count;
} sections[] = {
	{ "use", "Use", "users", use_columns, 5 },
	{ "waits", "Waits", "classes", wait_columns, 6 },
	{ "fairness", "Fairness", "users", fairness_columns, 3 },
	{ "waste", "Asked for and used", "users", waste_columns, 5 },
	{ "regressions", "What has changed", NULL, NULL, 0 },
	{ "forecast", "The coming days", NULL, NULL, 0 },
};

int report_print(struct cli *cli, const json_t *report)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(sections) / sizeof(sections[0]); i++) {
		const json_t *part = json_object_get(report, sections[i].key);
		const json_t *rows = sections[i].rows ? json_object_get(part, sections[i].rows)
						      : NULL;

		cli_printf(cli, "%s%s: %s\n", i ? "\n" : "", sections[i].title,
			   grid_or(json_object_get(part, "reading"), ""));
		if (json_array_size(rows))
			rc = grid_print(cli, sections[i].columns, sections[i].column_count, rows,
					ROWS);
	}
	return rc;
}
