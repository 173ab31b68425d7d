/* Lists of JSON objects as tables: a column is a title, a key and a way to write what is there. */
#include "cli/service.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *grid_string(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

const char *grid_or(const json_t *value, const char *otherwise)
{
	return json_is_string(value) ? json_string_value(value) : otherwise;
}

int64_t grid_int(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_real(value) ? (int64_t)json_real_value(value) : json_integer_value(value);
}

void grid_add(struct buf *buf, const json_t *value)
{
	char text[STRATA_FORM_BYTES];
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_string(value)) {
		buf_add(buf, json_string_value(value));
	} else if (json_is_integer(value)) {
		buf_printf(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else if (json_is_real(value)) {
		buf_add(buf, strata_real_print(json_real_value(value), text));
	} else if (json_is_boolean(value)) {
		buf_add(buf, json_is_true(value) ? "yes" : "no");
	} else if (json_is_array(value)) {
		json_array_foreach((json_t *)(uintptr_t)value, i, item)
		{
			buf_add(buf, i ? " " : "");
			grid_add(buf, item);
		}
	} else if (json_is_object(value)) {
		bool inner = buf->length; /* an object in an object */
		bool first = true;

		json_object_foreach((json_t *)(uintptr_t)value, key, item)
		{
			buf_printf(buf, "%s%s%s",
				   first   ? ""
				   : inner ? ", "
					   : "; ",
				   key, inner ? " " : ": ");
			grid_add(buf, item);
			first = false;
		}
	}
}

void grid_text(const struct grid_cell *cell)
{
	struct buf buf;

	buf_init(&buf, &cell->cli->memory, 0);
	grid_add(&buf, json_object_get(cell->row, cell->key));
	cli_table_add_buf(cell->table, &buf, "-");
}

void grid_size(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);
	char text[STRATA_FORM_BYTES];

	cli_table_add(cell->table, "%s",
		      json_is_number(value)
			      ? strata_size_print_short(grid_int(cell->row, cell->key), text)
			      : "-");
}

void grid_span(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);
	char text[STRATA_FORM_BYTES] = "-";

	if (json_is_number(value) && json_number_value(value) < 9e9)
		strata_duration_print_short((int64_t)(json_number_value(value) * 1e9), text);
	cli_table_add(cell->table, "%s", text);
}

void grid_time(const struct grid_cell *cell)
{
	int64_t ns = when_json(cell->row, cell->key);
	char text[STRATA_FORM_BYTES];

	cli_table_add(cell->table, "%s", ns ? when_print(ns, cell->now_ns, text) : "-");
}

void grid_hours(const struct grid_cell *cell)
{
	const json_t *value = json_object_get(cell->row, cell->key);

	if (json_is_number(value))
		cli_table_add(cell->table, "%.1f", json_number_value(value));
	else
		cli_table_add(cell->table, "-");
}

void grid_bar(struct buf *buf, double part, int width)
{
	int full = (int)lround(part * width);

	for (int i = 0; i < width; i++)
		buf_add(buf, i < full ? "█" : "░");
}

int grid_print(struct cli *cli, const struct grid_column *columns, size_t column_count,
	       const json_t *rows, size_t limit)
{
	struct cli_column *looks = strata_arena_array(&cli->arena, column_count, sizeof(*looks));
	struct grid_cell cell = { .cli = cli, .now_ns = when_now_ns() };
	size_t count = json_array_size(rows);

	if (!looks)
		return strata_fail_memory(&cli->err);
	for (size_t i = 0; i < column_count; i++)
		looks[i] = columns[i].look;
	int rc = cli_table_new(cli, looks, column_count, &cell.table);

	if (rc)
		return rc;
	for (size_t i = 0; i < count && (limit == 0 || i < limit); i++)
		for (size_t j = 0; j < column_count; j++) {
			cell.row = json_array_get(rows, i);
			cell.key = columns[j].key;
			columns[j].add(&cell);
		}
	return cli_table_print(cell.table);
}

static bool is_empty(const json_t *value)
{
	return !value || json_is_null(value) || json_is_false(value) ||
	       (json_is_string(value) && json_string_length(value) == 0) ||
	       (json_is_number(value) && json_number_value(value) == 0) ||
	       (json_is_array(value) && json_array_size(value) == 0) ||
	       (json_is_object(value) && json_object_size(value) == 0);
}

int grid_fields(struct cli *cli, const struct grid_column *columns, size_t column_count,
		const json_t *row)
{
	static const struct cli_column looks[] = { { .title = "FIELD", .style = CLI_BOLD },
						   { .title = "VALUE", .flexible = true } };
	struct grid_cell cell = { .cli = cli, .row = row, .now_ns = when_now_ns() };
	int rc = cli_table_new(cli, looks, 2, &cell.table);

	if (rc)
		return rc;
	for (size_t i = 0; i < column_count; i++) {
		if (is_empty(json_object_get(row, columns[i].key)))
			continue;
		cli_table_add(cell.table, "%s", columns[i].look.title);
		cell.key = columns[i].key;
		columns[i].add(&cell);
	}
	return cli_table_print(cell.table);
}

int grid_collection(struct cli *cli, struct buf *path, const char *key,
		    const struct grid_column *columns, size_t column_count, const char *empty)
{
	json_t *json;
	int rc = service_get(cli, path, &json);

	if (rc || service_printed(cli, json, &rc))
		return rc;
	const json_t *rows = json_object_get(json, key);

	if (json_array_size(rows) == 0)
		cli_note(cli, "%s", empty);
	else
		rc = grid_print(cli, columns, column_count, rows, 0);
	json_decref(json);
	return rc;
}
