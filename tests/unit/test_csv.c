#include "test.h"

#include "formats/csv.h"
#include "random.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct csv csv;
static bool row;

static int open_text(const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	return csv_init(&csv, text, strlen(text), &arena, &err);
}

static int next(void)
{
	return csv_next(&csv, &row, &err);
}

static void check_field(int column, const char *want)
{
	struct csv_field field = csv_field(&csv, column);

	CHECK_INT(field.length, strlen(want));
	CHECK_BYTES(field.text, want, field.length);
}

TEST(rows_are_read_by_the_names_of_their_columns)
{
	int b, c;

	CHECK_OK(open_text("a,b,c\n1,two,3.5\n4,,\n"));
	CHECK_INT(csv.row_count, 2);
	CHECK_OK(csv_find(&csv, "b", &b, &err));
	CHECK_OK(csv_find(&csv, "c", &c, &err));
	CHECK_OK(next());
	CHECK(row);
	check_field(b, "two");
	check_field(c, "3.5");
	CHECK_OK(next());
	check_field(b, "");
	check_field(c, "");
	CHECK_OK(next());
	CHECK(!row);
	CHECK_OK(next());
	CHECK(!row);
	CHECK_INT(csv_find_optional(&csv, "d"), CSV_NONE);
	check_field(CSV_NONE, "");
	CHECK_ERROR(csv_find(&csv, "d", &c, &err), -EBADMSG,
		    "the table has no column \"d\", only a, b, c");
	CHECK_INT(c, 2);
}

TEST(quotes_hold_commas_quotes_and_lines)
{
	CHECK_OK(open_text("\"a\",\"b,\"\"x\"\"\"\r\n\r\n\"1\n2\",\"\"\r\n\"\"\"\",end"));
	CHECK_INT(csv_find_optional(&csv, "b,\"x\""), 1);
	CHECK_INT(csv.row_count, 2);
	CHECK_OK(next());
	check_field(0, "1\n2");
	check_field(1, "");
	CHECK_INT(csv.row_line, 3);
	CHECK_OK(next());
	check_field(0, "\"");
	check_field(1, "end");
	CHECK_INT(csv.row_line, 5);
	CHECK_OK(next());
	CHECK(!row);
}

TEST(empty_lines_marks_and_odd_line_ends)
{
	CHECK_OK(open_text("\xEF\xBB\xBF\n\r\na\n\n\n1\r\n\n2"));
	CHECK_INT(csv_find_optional(&csv, "a"), 0);
	CHECK_INT(csv.row_count, 2);
	CHECK_OK(next());
	check_field(0, "1");
	CHECK_INT(csv.row_line, 6);
	CHECK_OK(next());
	check_field(0, "2");
	CHECK_OK(open_text("a\n\r"));
	CHECK_INT(csv.row_count, 1);
	CHECK_OK(next());
	check_field(0, "\r");
	CHECK_OK(open_text("a,b"));
	CHECK_INT(csv.row_count, 0);
	CHECK_OK(next());
	CHECK(!row);
}

TEST(malformed_tables_are_refused_by_line)
{
	struct csv before = csv;

	CHECK_ERROR(open_text(""), -EBADMSG, "the table is empty");
	CHECK_ERROR(open_text("\n\r\n"), -EBADMSG, "the table is empty");
	CHECK_ERROR(open_text("a,\"b\nc\n"), -EBADMSG, "line 1: a quote is not closed");
	CHECK_BYTES(&csv, &before, sizeof(csv));
	CHECK_OK(open_text("a,b\n1,2\n1\n"));
	CHECK_OK(next());
	CHECK_ERROR(next(), -EBADMSG, "line 3 has 1 fields; the header has 2");
	CHECK_OK(open_text("a,b\n1,2,3\n"));
	CHECK_ERROR(next(), -EBADMSG, "line 2 has 3 fields");
	CHECK_OK(open_text("a,b\n1,\"2\"3\n"));
	CHECK_ERROR(next(), -EBADMSG, "line 2: text follows a closing quote");
	CHECK_OK(open_text("a,b\n1,2\"3\n"));
	CHECK_ERROR(next(), -EBADMSG, "line 2: a quote inside a field");
	CHECK_INT(csv_init(&csv, "a\n1\0002\n", 6, &arena, &err), 0);
	CHECK_ERROR(next(), -EBADMSG, "line 2 has a NUL byte");
}

TEST(fields_have_types)
{
	int64_t whole = 7;
	const char *text;

	CHECK_OK(open_text("i,r,t,n\n-12,1e-3,\"x\"\"y\",\n"));
	CHECK_OK(next());
	CHECK_OK(csv_int(&csv, 0, -12, 5, &whole, &err));
	CHECK_INT(whole, -12);
	CHECK_OK(csv_text(&csv, 2, &text, &err));
	CHECK_TEXT(text, "x\"y");
	CHECK_OK(csv_int_or(&csv, 3, 0, 1, 99, &whole, &err));
	CHECK_INT(whole, 99);
	CHECK_OK(csv_int_or(&csv, CSV_NONE, 0, 1, 98, &whole, &err));
	CHECK_INT(whole, 98);
	CHECK_ERROR(csv_int(&csv, 0, 0, 5, &whole, &err), -EBADMSG,
		    "line 2, column \"i\" is \"-12\"; expected a whole number from 0 to 5");
	CHECK_ERROR(csv_int(&csv, 1, 0, 5, &whole, &err), -EBADMSG, "column \"r\" is \"1e-3\"");
	CHECK_ERROR(csv_int(&csv, 3, 0, 5, &whole, &err), -EBADMSG, "column \"n\" is \"\"");
	CHECK_INT(whole, 98);
}

TEST(seconds_become_ns_without_loss)
{
	int64_t ns = 7;

	CHECK_OK(open_text("a,b,c,d,e\n0,12,0.0520,4.3146,9.000000001\n"));
	CHECK_OK(next());
	CHECK_OK(csv_seconds(&csv, 1, INT64_MAX, &ns, &err));
	CHECK_INT(ns, 12000000000);
	CHECK_OK(csv_seconds(&csv, 2, INT64_MAX, &ns, &err));
	CHECK_INT(ns, 52000000);
	CHECK_OK(csv_seconds(&csv, 3, INT64_MAX, &ns, &err));
	CHECK_INT(ns, 4314600000);
	CHECK_OK(csv_seconds(&csv, 4, 9000000001, &ns, &err));
	CHECK_INT(ns, 9000000001);
	CHECK_ERROR(csv_seconds(&csv, 4, 9000000000, &ns, &err), -EBADMSG, "seconds from 0 to 9");
	CHECK_OK(open_text("a\n-1\n1e3\n"));
	CHECK_OK(next());
	CHECK_ERROR(csv_seconds(&csv, 0, INT64_MAX, &ns, &err), -EBADMSG, "column \"a\" is \"-1\"");
	CHECK_OK(next());
	CHECK_ERROR(csv_seconds(&csv, 0, INT64_MAX, &ns, &err), -EBADMSG,
		    "column \"a\" is \"1e3\"");
}

/* A header of `count` columns. */
static char *wide_header(size_t count)
{
	char *text = malloc(count * 2);

	if (!text)
		abort();
	for (size_t i = 0; i < count; i++) {
		text[2 * i] = 'a';
		text[2 * i + 1] = ',';
	}
	text[2 * count - 1] = '\0';
	return text;
}

TEST(columns_and_fields_have_limits)
{
	char *text = wide_header(STRATA_CSV_COLUMNS_MAX + 1);

	CHECK_ERROR(open_text(text), -E2BIG, "line 1 has 257 columns; at most 256 are read");
	free(text);
	text = wide_header(STRATA_CSV_COLUMNS_MAX);
	CHECK_OK(open_text(text));
	CHECK_INT(csv.column_count, STRATA_CSV_COLUMNS_MAX);
	free(text);
	text = calloc(1, STRATA_CSV_FIELD_BYTES_MAX + 4);
	text[0] = 'a';
	text[1] = '\n';
	memset(text + 2, 'x', STRATA_CSV_FIELD_BYTES_MAX);
	CHECK_OK(open_text(text));
	CHECK_OK(next());
	text[STRATA_CSV_FIELD_BYTES_MAX + 2] = 'x';
	CHECK_OK(open_text(text));
	CHECK_ERROR(next(), -E2BIG, "line 2 has a field of more than 65536 bytes");
	free(text);
}

TEST(rows_have_a_limit)
{
	size_t bytes = 2 * ((size_t)STRATA_CSV_ROWS_MAX + 2);
	char *text = malloc(bytes + 1);

	CHECK(text);
	for (size_t i = 0; i < bytes; i += 2)
		memcpy(text + i, "1\n", 2);
	text[bytes] = '\0';
	CHECK_ERROR(open_text(text), -E2BIG,
		    "the table has 16777217 rows; at most 16777216 are read");
	text[bytes - 2] = '\0';
	CHECK_OK(open_text(text));
	CHECK_INT(csv.row_count, STRATA_CSV_ROWS_MAX);
	free(text);
}

/* Random fields, written with and without quotes, come back, and are counted right. */
TEST(random_tables_come_back)
{
	static const char letters[] = "ab\"\",\n\r1 ";
	uint64_t seed = 3;

	for (int round = 0; round < 3000; round++) {
		char text[4000] = "c0,c1,c2\n", want[5][3][16] = { 0 }, *at = text + strlen(text);
		size_t rows = random_below(&seed, 6);

		for (size_t i = 0; i < rows; i++)
			for (size_t k = 0; k < 3; k++) {
				size_t length = random_below(&seed, 7);
				bool quote = random_below(&seed, 2);

				for (size_t n = 0; n < length; n++) {
					char c = letters[random_below(&seed, sizeof(letters) - 1)];

					quote |= c == '"' || c == ',' || c == '\n' || c == '\r';
					want[i][k][n] = c;
				}
				at += sprintf(at, "%s", quote ? "\"" : "");
				for (size_t n = 0; n < length; n++)
					at += sprintf(at, "%s%c", want[i][k][n] == '"' ? "\"" : "",
						      want[i][k][n]);
				at += sprintf(at, "%s%s", quote ? "\"" : "", k < 2 ? "," : "\r\n");
			}
		CHECK_OK(open_text(text));
		CHECK_INT(csv.row_count, rows);
		for (size_t i = 0; i < rows; i++) {
			CHECK_OK(next());
			CHECK(row);
			for (int k = 0; k < 3; k++)
				check_field(k, want[i][k]);
		}
		CHECK_OK(next());
		CHECK(!row);
	}
}

TEST(fields_are_written_with_quotes_where_they_need_them)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	buf_add(&buf, "a,b,c,d\n");
	csv_add_field(&buf, "plain text");
	buf_add(&buf, ",");
	csv_add_field(&buf, "one, \"two\"");
	buf_add(&buf, ",");
	csv_add_field(&buf, "a\nb");
	buf_add(&buf, ",");
	csv_add_field(&buf, "");
	CHECK_TEXT(buf.text, "a,b,c,d\nplain text,\"one, \"\"two\"\"\",\"a\nb\",");
	CHECK_OK(open_text(buf.text));
	CHECK_OK(next());
	check_field(0, "plain text");
	check_field(1, "one, \"two\"");
	check_field(2, "a\nb");
	check_field(3, "");
	buf_fini(&buf);
}

static int read_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	static const char text[] = "a,b\n\"1\"\"\",2\n3,4\n";
	struct strata_arena own;
	struct csv table;
	const char *out;
	bool more = true;

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = csv_init(&table, text, sizeof(text) - 1, &own, ret_err);

	while (rc == 0 && (rc = csv_next(&table, &more, ret_err)) == 0 && more)
		rc = csv_text(&table, 0, &out, ret_err);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK_INT(test_every_allocation(read_again, NULL), 5);
}
