/*
 * Tables of comma-separated values (RFC 4180): a header row that names the columns, then rows with
 * as many fields. Read a row at a time from a text that stays where it is; fields are looked up by
 * column and come as text, whole number or real, with errors that name the line and the column.
 *
 *	rc = csv_init(&csv, text, length, arena, err);
 *	rc = rc ? rc : csv_find(&csv, "job_id", &id, err);
 *	while (rc == 0 && (rc = csv_next(&csv, &row, err)) == 0 && row)
 *		rc = csv_int(&csv, id, 0, INT64_MAX, &jobs[count++].id, err);
 *
 * Fields may stand in quotes ("" is a quote inside them, line ends count as text); lines may end in
 * CRLF; empty lines are skipped, a byte-order mark at the start too. Everything that does not fit
 * that form is -EBADMSG, what is past the limits -E2BIG.
 */
#ifndef FORMATS_CSV_H
#define FORMATS_CSV_H

#include "core/buf.h"

#include <strata/error.h>
#include <strata/memory.h>

/* A field: text without its quotes, not NUL-terminated; borrowed from the table's text, or from the
 * arena when it had quotes inside. */
struct csv_field {
	const char *text;
	size_t length;
};

struct csv {
	struct strata_arena *arena; /* borrowed, as is the text */
	const char *at, *end;       /* what has not been read yet */
	size_t line;                /* number of the line at `at` */
	size_t row_line;            /* number of the line the current row began in */
	size_t row_count;           /* rows of the whole table, without the header */
	size_t rows_read;           /* of these */
	struct csv_field *names;    /* of the columns */
	struct csv_field *fields;   /* of the current row */
	size_t column_count;
};

enum { CSV_NONE = -1 }; /* no such column: what csv_find_optional gives, and all reads accept */

/* Reads the header and counts the rows. A text without a header row is an error. */
int csv_init(struct csv *csv, const char *text, size_t length, struct strata_arena *arena,
	     struct strata_error *err);

/* The column of this name; -EBADMSG lists the names there are. */
int csv_find(const struct csv *csv, const char *name, int *ret_column, struct strata_error *err);
/* The same, CSV_NONE when there is none. */
int csv_find_optional(const struct csv *csv, const char *name);

/* Goes to the next row; ret_row says whether there was one. */
int csv_next(struct csv *csv, bool *ret_row, struct strata_error *err);

/* A field of the current row. Of a column CSV_NONE it is empty. */
struct csv_field csv_field(const struct csv *csv, int column);
/* A copy of it in the arena, NUL behind it. */
int csv_text(const struct csv *csv, int column, const char **ret_text, struct strata_error *err);
/* A whole number from min to max. */
int csv_int(const struct csv *csv, int column, int64_t min, int64_t max, int64_t *ret_value,
	    struct strata_error *err);
/* The same; an empty field gives `empty`. */
int csv_int_or(const struct csv *csv, int column, int64_t min, int64_t max, int64_t empty,
	       int64_t *ret_value, struct strata_error *err);
/* A time or length of time written as seconds, with or without a fraction; in ns, 0 to max_ns. */
int csv_seconds(const struct csv *csv, int column, int64_t max_ns, int64_t *ret_ns,
		struct strata_error *err);

/* Appends a field; in quotes where it needs them. Commas and line ends are the caller's. */
void csv_add_field(struct buf *buf, const char *text);

/* Sets an error about a field: «line 7, column "cpu" is "x"; expected …». */
int csv_fail(const struct csv *csv, int column, const char *expected, struct strata_error *err);

#endif
