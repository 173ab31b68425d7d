/* Values and cells in PostgreSQL's binary form, without a server. */
#include "store/postgres_wire.h"

#include "test.h"

#include <errno.h>
#include <float.h>
#include <string.h>

TEST(numbers_go_in_network_order)
{
	struct store_value values[] = {
		STORE_INT_OF(INT64_C(0x0102030405060708)),
		{ .type = STORE_REAL, .real = -2.0 },
		store_text_of("abc"),
		store_text_of(NULL),
	};
	struct postgres_values wire;

	postgres_values(values, 4, &wire);
	CHECK_INT(wire.lengths[0], 8);
	CHECK_BYTES(wire.bytes[0], "\1\2\3\4\5\6\7\10", 8);
	CHECK_BYTES(wire.bytes[1], "\xC0\0\0\0\0\0\0\0", 8);
	CHECK_INT(wire.lengths[2], 3);
	CHECK_BYTES(wire.bytes[2], "abc", 3);
	CHECK(!wire.bytes[3]);
	for (int i = 0; i < 4; i++)
		CHECK_INT(wire.formats[i], 1);
}

static PGresult *make_row(int columns)
{
	PGresult *row = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	PGresAttDesc names[4] = { { .name = (char[]){ "a" } },
				  { .name = (char[]){ "b" } },
				  { .name = (char[]){ "c" } },
				  { .name = (char[]){ "d" } } };

	CHECK(row && PQsetResultAttrs(row, columns, names));
	return row;
}

static void set_cell(PGresult *row, int column, const void *bytes, int length)
{
	char copy[64] = { 0 };

	if (bytes)
		memcpy(copy, bytes, (size_t)length);
	CHECK(PQsetvalue(row, 0, column, bytes ? copy : NULL, bytes ? length : -1));
}

TEST(cells_come_back)
{
	static const enum store_type types[] = { STORE_INT, STORE_REAL, STORE_TEXT, STORE_BYTES };
	struct strata_error err;
	struct store_value cells[4],
		sent[] = { STORE_INT_OF(INT64_MIN), { .type = STORE_REAL, .real = DBL_MIN } };
	struct postgres_values wire;
	PGresult *row = make_row(4);

	postgres_values(sent, 2, &wire);
	set_cell(row, 0, wire.bytes[0], 8);
	set_cell(row, 1, wire.bytes[1], 8);
	set_cell(row, 2, NULL, 0);
	set_cell(row, 3, "\0x", 2);
	CHECK_OK(postgres_cells(row, 0, types, 4, cells, &err));
	CHECK_INT(cells[0].number, INT64_MIN);
	CHECK(cells[1].real == DBL_MIN);
	CHECK(cells[2].null);
	CHECK_INT(cells[3].size_bytes, 2);
	CHECK_BYTES(cells[3].bytes, "\0x", 2);
	PQclear(row);
}

TEST(what_is_not_a_number_is_refused)
{
	static const enum store_type types[] = { STORE_INT, STORE_INT };
	struct strata_error err;
	struct store_value cells[2];
	PGresult *row = make_row(1);

	set_cell(row, 0, "1234", 4);
	CHECK_ERROR(postgres_cells(row, 0, types, 1, cells, &err), -EBADMSG,
		    "a number of 4 bytes as a; expected 8");
	CHECK_ERROR(postgres_cells(row, 0, types, 2, cells, &err), -EBADMSG,
		    "1 columns; expected 2");
	PQclear(row);
}

TEST(a_place_without_a_server_is_named)
{
	struct strata_error err;
	PGconn *conn = postgres_connect("postgresql://x@/y?host=/nowhere/at/all");

	CHECK(conn);
	CHECK_ERROR(postgres_fail_lost(conn, -ECONNREFUSED, &err), -ECONNREFUSED,
		    "/nowhere/at/all");
	CHECK(!strchr(err.text, '\n'));
	PQfinish(conn);
}
