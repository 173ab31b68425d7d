/*
 * Comma-separated values: see csv.h. One function takes a field apart (take_field), everything else
 * asks it. Only a field with quotes inside is copied. Counting the rows beforehand costs a pass of
 * its own, and saves every reader from growing its arrays.
 */
#include "formats/csv.h"

#include "core/text.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- rows and fields ---- */

/* At the end of a line, or of the text: how many bytes end it; 0 when it is neither. */
static size_t line_end(const char *at, const char *end)
{
	if (at == end)
		return 0;
	if (*at == '\n')
		return 1;
	return *at == '\r' && at + 1 < end && at[1] == '\n' ? 2 : 0;
}

static bool at_line_end(const char *at, const char *end)
{
	return at == end || line_end(at, end) > 0;
}

static void skip_empty_lines(struct csv *csv)
{
	size_t bytes;

	while ((bytes = line_end(csv->at, csv->end)) > 0) {
		csv->at += bytes;
		csv->line++;
	}
}

/* The text between quotes, pairs of quotes made one. */
static int unquote(struct csv *csv, const char *from, size_t length, size_t pairs,
		   struct csv_field *ret_field, struct strata_error *err)
{
	*ret_field = (struct csv_field){ from, length };
	if (pairs == 0)
		return 0;
	char *text = strata_arena_get(csv->arena, length - pairs), *to = text;

	if (!text)
		return strata_fail_memory(err);
	for (size_t i = 0; i < length; i++) {
		*to++ = from[i];
		i += from[i] == '"';
	}
	*ret_field = (struct csv_field){ text, length - pairs };
	return 0;
}

static int take_quoted(struct csv *csv, struct csv_field *ret_field, struct strata_error *err)
{
	const char *from = ++csv->at;
	size_t pairs = 0, first_line = csv->line;

	for (;; csv->at++) {
		if (csv->at == csv->end)
			return strata_fail(err, -EBADMSG, "line %zu: a quote is not closed",
					   first_line);
		if (*csv->at == '\n')
			csv->line++;
		if (*csv->at != '"')
			continue;
		if (csv->at + 1 == csv->end || csv->at[1] != '"')
			break;
		pairs++;
		csv->at++;
	}
	size_t length = (size_t)(csv->at++ - from);

	if (!at_line_end(csv->at, csv->end) && *csv->at != ',')
		return strata_fail(err, -EBADMSG, "line %zu: text follows a closing quote",
				   csv->line);
	return unquote(csv, from, length, pairs, ret_field, err);
}

static int take_plain(struct csv *csv, struct csv_field *ret_field, struct strata_error *err)
{
	const char *from = csv->at;

	while (!at_line_end(csv->at, csv->end) && *csv->at != ',') {
		if (*csv->at == '"')
			return strata_fail(
				err, -EBADMSG,
				"line %zu: a quote inside a field that does not begin with one",
				csv->line);
		csv->at++;
	}
	*ret_field = (struct csv_field){ from, (size_t)(csv->at - from) };
	return 0;
}

/* The field at `at`, which goes to the comma or line end behind it. */
static int take_field(struct csv *csv, struct csv_field *ret_field, struct strata_error *err)
{
	size_t line = csv->line;
	int rc = csv->at < csv->end && *csv->at == '"' ? take_quoted(csv, ret_field, err)
						       : take_plain(csv, ret_field, err);

	if (rc)
		return rc;
	if (ret_field->length > STRATA_CSV_FIELD_BYTES_MAX)
		return strata_fail(err, -E2BIG, "line %zu has a field of more than %d bytes", line,
				   STRATA_CSV_FIELD_BYTES_MAX);
	if (memchr(ret_field->text, '\0', ret_field->length))
		return strata_fail(err, -EBADMSG, "line %zu has a NUL byte; this is not a text",
				   line);
	return 0;
}

/* The fields of one row, up to `room` of them; the count may be larger. */
static int take_row(struct csv *csv, struct csv_field *fields, size_t room, size_t *ret_count,
		    struct strata_error *err)
{
	size_t count = 0;

	csv->row_line = csv->line;
	for (;; csv->at++) { /* past the comma */
		struct csv_field field;
		int rc = take_field(csv, &field, err);

		if (rc)
			return rc;
		if (count < room)
			fields[count] = field;
		count++;
		if (at_line_end(csv->at, csv->end))
			break;
	}
	size_t bytes = line_end(csv->at, csv->end);

	csv->at += bytes;
	csv->line += bytes > 0;
	skip_empty_lines(csv);
	*ret_count = count;
	return 0;
}

/* ---- the table ---- */

/* Rows from here on: line ends outside quotes, those of empty lines left out. */
static size_t count_rows(const char *at, const char *end)
{
	size_t rows = 0;
	bool quoted = false, empty = true;

	while (at < end) {
		size_t bytes = quoted ? 0 : line_end(at, end);

		if (bytes > 0) {
			rows += !empty;
			empty = true;
			at += bytes;
		} else {
			quoted ^= *at++ == '"';
			empty = false;
		}
	}
	return rows + !empty;
}

static int read_header(struct csv *csv, struct strata_error *err)
{
	struct csv_field names[STRATA_CSV_COLUMNS_MAX];
	size_t count, bytes;
	int rc = take_row(csv, names, STRATA_CSV_COLUMNS_MAX, &count, err);

	if (rc)
		return rc;
	if (count > STRATA_CSV_COLUMNS_MAX)
		return strata_fail(err, -E2BIG, "line %zu has %zu columns; at most %d are read",
				   csv->row_line, count, STRATA_CSV_COLUMNS_MAX);
	bytes = count * sizeof(names[0]);
	csv->names = strata_arena_get(csv->arena, bytes);
	csv->fields = strata_arena_get(csv->arena, bytes);
	if (!csv->names || !csv->fields)
		return strata_fail_memory(err);
	memcpy(csv->names, names, bytes);
	csv->column_count = count;
	return 0;
}

int csv_init(struct csv *csv, const char *text, size_t length, struct strata_arena *arena,
	     struct strata_error *err)
{
	static const char mark[] = "\xEF\xBB\xBF";
	struct csv fresh = { .arena = arena, .at = text, .end = text + length, .line = 1 };

	if (length >= 3 && memcmp(text, mark, 3) == 0)
		fresh.at += 3;
	skip_empty_lines(&fresh);
	if (fresh.at == fresh.end)
		return strata_fail(err, -EBADMSG, "the table is empty; expected a header row");
	int rc = read_header(&fresh, err);

	if (rc)
		return rc;
	fresh.row_count = count_rows(fresh.at, fresh.end);
	if (fresh.row_count > STRATA_CSV_ROWS_MAX)
		return strata_fail(err, -E2BIG, "the table has %zu rows; at most %d are read",
				   fresh.row_count, STRATA_CSV_ROWS_MAX);
	*csv = fresh;
	return 0;
}

int csv_find_optional(const struct csv *csv, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < csv->column_count; i++)
		if (csv->names[i].length == length && memcmp(csv->names[i].text, name, length) == 0)
			return (int)i;
	return CSV_NONE;
}

int csv_find(const struct csv *csv, const char *name, int *ret_column, struct strata_error *err)
{
	int column = csv_find_optional(csv, name);
	char list[200], excerpt[TEXT_EXCERPT_BYTES];
	size_t used = 0;

	if (column != CSV_NONE) {
		*ret_column = column;
		return 0;
	}
	for (size_t i = 0; i < csv->column_count && used < sizeof(list); i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
			text_excerpt(csv->names[i].text, csv->names[i].length, excerpt));
	return strata_fail(err, -EBADMSG, "the table has no column \"%s\", only %s", name, list);
}

int csv_next(struct csv *csv, bool *ret_row, struct strata_error *err)
{
	size_t count;

	if (csv->at == csv->end) {
		*ret_row = false;
		return 0;
	}
	int rc = take_row(csv, csv->fields, csv->column_count, &count, err);

	if (rc)
		return rc;
	if (count != csv->column_count)
		return strata_fail(err, -EBADMSG, "line %zu has %zu fields; the header has %zu",
				   csv->row_line, count, csv->column_count);
	csv->rows_read++;
	assert(csv->rows_read <= csv->row_count); /* arrays were made for that many */
	*ret_row = true;
	return 0;
}

/* ---- fields by type ---- */

struct csv_field csv_field(const struct csv *csv, int column)
{
	return column == CSV_NONE ? (struct csv_field){ "", 0 } : csv->fields[column];
}

int csv_fail(const struct csv *csv, int column, const char *expected, struct strata_error *err)
{
	struct csv_field field = csv_field(csv, column);
	struct csv_field name = column == CSV_NONE ? field : csv->names[column];
	char text[TEXT_EXCERPT_BYTES], column_name[TEXT_EXCERPT_BYTES];

	return strata_fail(err, -EBADMSG, "line %zu, column \"%s\" is \"%s\"; expected %s",
			   csv->row_line, text_excerpt(name.text, name.length, column_name),
			   text_excerpt(field.text, field.length, text), expected);
}

int csv_text(const struct csv *csv, int column, const char **ret_text, struct strata_error *err)
{
	struct csv_field field = csv_field(csv, column);
	const char *text = strata_arena_text(csv->arena, field.text, field.length);

	if (!text)
		return strata_fail_memory(err);
	*ret_text = text;
	return 0;
}

int csv_int(const struct csv *csv, int column, int64_t min, int64_t max, int64_t *ret_value,
	    struct strata_error *err)
{
	struct csv_field field = csv_field(csv, column);
	char expected[80];

	if (strata_int_parse(field.text, field.length, min, max, ret_value, NULL) == 0)
		return 0;
	snprintf(expected, sizeof(expected), "a whole number from %" PRId64 " to %" PRId64, min,
		 max);
	return csv_fail(csv, column, expected, err);
}

int csv_int_or(const struct csv *csv, int column, int64_t min, int64_t max, int64_t empty,
	       int64_t *ret_value, struct strata_error *err)
{
	if (csv_field(csv, column).length > 0)
		return csv_int(csv, column, min, max, ret_value, err);
	*ret_value = empty;
	return 0;
}

int csv_seconds(const struct csv *csv, int column, int64_t max_ns, int64_t *ret_ns,
		struct strata_error *err)
{
	struct csv_field field = csv_field(csv, column);
	struct decimal decimal;
	struct scan scan;
	char expected[80];
	uint64_t ns;

	scan_init(&scan, field.text, field.length);
	if (scan_decimal(&scan, &decimal) && scan_ended(&scan) &&
	    decimal_scale(&decimal, STRATA_SECOND_NS, 1, (uint64_t)max_ns, &ns)) {
		*ret_ns = (int64_t)ns;
		return 0;
	}
	snprintf(expected, sizeof(expected), "seconds from 0 to %" PRId64,
		 max_ns / STRATA_SECOND_NS);
	return csv_fail(csv, column, expected, err);
}

void csv_add_field(struct buf *buf, const char *text)
{
	bool plain = !text[strcspn(text, ",\"\r\n")];

	if (plain) {
		buf_add(buf, text);
		return;
	}
	buf_add_char(buf, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_add_char(buf, '"');
		buf_add_char(buf, *text);
	}
	buf_add_char(buf, '"');
}
